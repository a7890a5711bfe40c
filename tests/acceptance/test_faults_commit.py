"""The master dies before, during and after a batch is committed: it is recorded exactly once."""

from __future__ import annotations

import pytest

from tests.acceptance.console import Console, eventually
from tests.acceptance.faults import Disturbed


@pytest.fixture
def run(console: Console) -> Disturbed:
    assert console.url  # so that the server is up
    console.extra |= {"PACE": "0.2"}
    return Disturbed(console, width=8)


def test_before_anything_of_the_batch_is_written(run: Disturbed) -> None:
    run.start()
    run.begun(3)
    with run.locked("SELECT FROM run WHERE run_id = %(run)s FOR UPDATE"):
        eventually(lambda: run.backend_waits("transactionid"), "a batch that waits")
        run.kill(run.ranks()[0])
        run.begun(4)  # nobody is there to be told, and programs still end and begin
    run.finished()
    run.nothing_was_lost()


def test_in_the_middle_of_the_batch(run: Disturbed) -> None:
    run.start()
    run.begun(3)
    with run.locked(
        "LOCK TABLE attempt IN EXCLUSIVE MODE"
    ):  # tuples and activations are written before it
        eventually(lambda: run.backend_waits("relation"), "a batch that waits")
        run.kill(run.ranks()[0])
        eventually(lambda: not run.backend_waits("relation"), "the end of its session")
    run.finished()
    run.nothing_was_lost()


def test_committed_but_the_master_dies_before_it_is_told(run: Disturbed) -> None:
    """A commit that waits for a standby that does not exist: it is on disk, and nobody knows."""
    run.start()
    run.begun(3)
    run.setting("synchronous_standby_names", "nobody")
    try:
        eventually(lambda: run.backend_waits("SyncRep"), "a commit that waits")
        run.kill(run.ranks()[0])
    finally:
        run.setting("synchronous_standby_names", "")
    run.finished()
    run.nothing_was_lost()
