"""Why an activation does not run, in every situation that a run knows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from scicore.provenance.relatives import Relative
from scicore.provenance.story import AttemptStory, Foreseen, Queue, Story
from scicore.reports.explanation import explain

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def parent(name: str, state: str, ended_s: float | None = None) -> Relative:
    return Relative(1, name, state, None if ended_s is None else at(ended_s))


WAITING = Story(
    run_id=4,
    run_state="running",
    run_started_at=BEGIN,
    run_directory="/runs/4",
    dispatch="adaptive",
    plan_id=9,
    algorithm="heft",
    activation_id=5,
    name="fit.2",
    activity="fit",
    state="ready",
    vm="vm-1",
    moved_because="",
    created_at=at(1),
    ended_at=None,
    foreseen=Foreseen(2, 8, "vm-1", 1.0, 3.0, "activity", 6),
    blocked_by=None,
    parents=(parent("split.1", "finished", 4),),
    children=(),
    attempts=(),
    queue=Queue("joined", 2, ("fit.1", "fit.3"), 2, 1, None, None),
    attended=True,
)


def told(story: Story, because: str = "") -> str:
    return "\n".join(explain(story, because))


def test_a_slot_is_waited_for_behind_others() -> None:
    words = told(WAITING, "finishes at 3.00 s there")
    assert "plan 9 (heft) has it as 2 of 8, on vm-1, from 1.00 s to 3.00 s" in words
    assert "expected to take 2.00 s (known from activity, 6 samples)" in words
    assert "vm-1 was chosen because it finishes at 3.00 s there" in words
    assert "it was ready at 4.00 s, when split.1 finished" in words
    assert "waits for vm-1 (slots: 2, 2 running: fit.1, fit.3)" in words
    assert "1 ready activation go before it there" not in words
    assert "1 ready activation goes before it there" in words


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"run_state": "paused"}, "the run is paused: scicumulus resume 4 lets it go on"),
        ({"run_state": "prepared"}, "the run is prepared, but was not started"),
        ({"attended": False}, "no master is at work on the run: scicumulus resume 4 starts one"),
        ({"run_state": "stopped"}, "it did not run: the run is stopped"),
        ({"state": "cancelled"}, "it was cancelled: scicumulus query steering_log says by whom"),
        (
            {"queue": Queue("lost", 2, (), 0, 0, None, None)},
            "waits for vm-1 (slots: 2, 0 running); that VM is lost",
        ),
        (
            {"dispatch": "strict", "queue": Queue("joined", 2, (), 0, 0, None, None)},
            "dispatch is strict: the VM waits for what the plan has before it",
        ),
        ({"queue": None}, "it is ready, and waits for a VM"),
        ({"foreseen": None}, "plan 9 (heft) did not foresee it"),
        (
            {"state": "locked", "parents": (parent("a", "running"), parent("b", "finished", 1))},
            "it waits for 1 of 2: a (running)",
        ),
        (
            {"state": "expected", "parents": tuple(parent(f"a.{n}", "expected") for n in range(9))},
            "it waits for 9 of 9: a.0 (not there yet), a.1 (not there yet), a.2 (not there yet), "
            "a.3 (not there yet) and 5 more",
        ),
        (
            {"state": "expected", "parents": (parent("a", "failed", 1),)},
            "it cannot run as planned: a (failed)",
        ),
        (
            {"state": "blocked", "blocked_by": parent("a.7", "failed", 1)},
            "why that failed: scicumulus explain a.7 --run 4",
        ),
    ],
)
def test_every_reason_not_to_run_is_told(change: dict[str, object], reason: str) -> None:
    assert reason in told(replace(WAITING, **change))  # type: ignore[arg-type]


def attempt(number: int, vm: str, start_s: float, end_s: float | None, cause: str) -> AttemptStory:
    return AttemptStory(
        number, vm, "node7", 0, number > 1, at(start_s), None if end_s is None else at(end_s),
        cause, 0, "fit 2", "/w", "", 1.0, 1,
    )  # fmt: skip


def test_what_moved_and_was_doubled_tells_the_whole_story() -> None:
    story = replace(
        WAITING,
        state="finished",
        vm="vm-2",
        moved_because="straggler",
        attempts=(
            attempt(1, "vm-1", 4.01, 9.0, "cancelled"),
            attempt(2, "vm-2", 7.0, 8.5, "finished"),
        ),
        children=(parent("sum.1", "running"),),
    )
    words = told(story)
    assert "it ran on vm-2 (node7) instead of vm-1: a second attempt was started beside" in words
    assert "attempt 1 started at 4.01 s on vm-1, took 4.99 s and did not finish: " in words
    assert "attempt 2, as a double of a slow one, started at 7.00 s on vm-2" in words
    assert "a slot was free: it started at once" in words
    assert "that is 3.01 s after its planned start" in words
    assert "1 activation used what it made: sum.1" in words
