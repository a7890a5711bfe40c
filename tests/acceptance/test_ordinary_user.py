"""Nothing here needs root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.console import PATIENCE_S, SCICUMULUS, Console, Said
from tests.acceptance.workflows import Step, write_workflow


def closed_to_others(path: Path) -> Path | None:
    """The first directory on the way, links followed, that others may not pass."""
    places = [path.absolute(), path.resolve()]
    parents = [parent for place in places for parent in reversed(place.parents)]
    return next((parent for parent in parents if not parent.stat().st_mode & 0o001), None)


@pytest.fixture
def place() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="scicumulus-tests-", dir="/tmp"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def test_an_ordinary_user_runs_a_workflow_with_a_server_of_their_own(place: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user; every other test has shown it already")
    closed = closed_to_others(Path(sys.executable))
    if closed is not None:
        pytest.skip(f"the user nobody cannot pass through {closed} to this Python")
    nobody = pwd.getpwnam("nobody")
    spec = write_workflow(place / "wf", [Step("a"), Step("b", after="a")], [("1",), ("2",)])
    for path in (place, *place.rglob("*")):
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    environment = Console(place, place).environment | {"HOME": str(place), "USER": "nobody"}
    environment.pop("SCICUMULUS_HOME")  # where the server goes by itself is the question

    def type_in(*words: str | Path) -> Said:
        done = subprocess.run(
            [SCICUMULUS, *words],
            check=False,
            cwd=place,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE_S,
            user=nobody.pw_uid,
            group=nobody.pw_gid,
            extra_groups=[],
        )
        return Said(done.returncode, done.stdout, done.stderr)

    try:
        said = type_in("run", spec, "--fleet", "2xlocal", "--json")
        assert said.code == 0, said
        assert said.document["finished"] == 4
        data = place / ".local/state/scicumulus/postgres/data"
        assert data.stat().st_uid == nobody.pw_uid
        assert {path.stat().st_uid for path in place.rglob("*")} == {nobody.pw_uid}
    finally:
        assert type_in("db", "stop").code == 0
