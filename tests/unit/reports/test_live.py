"""The screen of a run, drawn from moments that are made up."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from rich.console import Console

from scicore.model.activation import ActivationState as State
from scicore.model.activation import RunState
from scicore.provenance.moment import Moment, PlanClock, VmMoment
from scicore.provenance.reader import ActivityProgress, RunSummary
from scicore.reports.how_far import clock_words, left_s, plain_line, run_left_s
from scicore.reports.live import screen

CLOCK = PlanClock(10.0, {"fit": 8, "sum": 2}, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])


def moment(
    counts: Mapping[str, Mapping[State, int]],
    *,
    elapsed_s: float = 5.0,
    state: RunState = RunState.RUNNING,
    rates_per_s: Mapping[str, float] | None = None,
    vms: tuple[VmMoment, ...] = (VmMoment("local-1", "local", 4, "joined", 3),),
    attended: bool = True,
) -> Moment:
    summary = RunSummary(
        run_id=7,
        workflow="stars",
        state=state,
        reason="",
        plan_id=3,
        algorithm="heft",
        fleet="1xlocal:4",
        directory="/runs/7",
        started_at=datetime(2026, 3, 1, tzinfo=UTC),
        ended_at=None,
        makespan_s=elapsed_s,
        predicted_makespan_s=10.0,
        attempts=4,
        activities=tuple(ActivityProgress(tag, each) for tag, each in counts.items()),
    )
    return Moment(summary, vms, rates_per_s or {}, CLOCK, attended)


HALF: Mapping[str, Mapping[State, int]] = {
    "fit": {State.FINISHED: 3, State.FAILED: 1, State.RUNNING: 3, State.READY: 1},
    "sum": {},
}


def drawn(seen: Moment, width: int = 100, height: int = 40) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(screen(seen, width, height))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    return str(text)


def row(text: str, activity: str) -> list[str]:
    [line] = [line for line in text.splitlines() if line.startswith(activity)]
    return re.sub("[━─]+", "|", line).split()


def test_an_activity_is_a_bar_with_its_counts_rate_and_eta() -> None:
    text = drawn(moment(HALF, rates_per_s={"fit": 2.0}))
    assert row(text, "fit") == ["fit", "|", "4/8", "1", "3", "1", "2.0/s", "2.0", "s"]
    assert row(text, "sum") == ["sum", "|", "0/2", "·", "·", "·"]


def test_what_the_plan_expects_counts_before_it_exists_but_not_when_all_is_over() -> None:
    going = moment({"fit": {State.FINISHED: 1}, "sum": {}})
    assert row(drawn(going), "fit")[2] == "1/8"
    over = moment({"fit": {State.FINISHED: 1}, "sum": {}}, state=RunState.FINISHED)
    assert row(drawn(over), "fit")[2] == "1/1"


def test_slots_are_squares_and_lost_vms_are_named() -> None:
    vms = (
        VmMoment("local-1", "local", 4, "joined", 3),
        VmMoment("local-2", "local", 1, "lost", 0),
    )
    assert "local-1 ■■■□ 3/4   local-2 lost" in drawn(moment(HALF, vms=vms))


def test_many_vms_are_counted_by_type() -> None:
    vms = tuple(
        VmMoment(f"t2.micro-{n}", "t2.micro", 1, "lost" if n == 1 else "joined", n % 2)
        for n in range(1, 41)
    )
    text = drawn(moment(HALF, vms=vms))
    assert "39 × t2.micro  19/39, 1 lost" in text
    assert "t2.micro-7" not in text


@pytest.mark.parametrize(
    ("elapsed_s", "done", "words"),
    [
        (4.5, 4, "as planned"),
        (8.0, 4, "3.0 s behind the plan"),
        (2.0, 4, "2.0 s ahead of the plan"),
    ],
)
def test_the_clock_compares_what_has_ended_with_what_should_have(
    elapsed_s: float, done: int, words: str
) -> None:
    seen = moment({"fit": {State.FINISHED: done}, "sum": {}}, elapsed_s=elapsed_s)
    assert clock_words(seen) == words


def test_more_activations_than_planned_do_not_make_a_run_seem_early() -> None:
    """Forty instead of ten: twenty are half of the work, so it is at second 5 of the plan."""
    seen = moment({"fit": {State.FINISHED: 20, State.READY: 18}, "sum": {}}, elapsed_s=5.5)
    assert seen.done == 5
    assert clock_words(seen) == "as planned"


def test_the_rest_is_told_by_the_pace_so_far() -> None:
    assert CLOCK.left_s(10.0, 5) == 10.0  # half of the plan took 10 s
    assert CLOCK.left_s(1.0, 0) is None
    slow = moment(HALF, elapsed_s=8.0, rates_per_s={"fit": 0.1})
    assert left_s(slow, slow.summary.activities[0]) == pytest.approx(40.0)
    assert run_left_s(slow) == pytest.approx(40.0)
    assert run_left_s(replace(slow, rates_per_s={})) == pytest.approx(12.0)


def test_a_run_without_a_master_and_a_paused_one_say_what_to_do() -> None:
    assert "no master is at work on it; scicumulus resume 7" in drawn(moment(HALF, attended=False))
    assert "scicumulus resume 7" in drawn(moment(HALF, state=RunState.PAUSED))


def test_on_a_small_terminal_what_is_at_work_is_shown_first() -> None:
    counts: dict[str, Mapping[State, int]] = {f"a{n}": {State.FINISHED: 1} for n in range(30)}
    counts["busy"] = {State.RUNNING: 1}
    text = drawn(moment(counts), width=60, height=12)
    assert "busy" in text
    assert "… and " in text
    assert len(text.splitlines()) <= 12


def test_a_plain_line_changes_only_when_something_happens() -> None:
    seen = moment(HALF)
    line = "run 7 running: fit 4/8 (1 failed), sum 0/2; 3 of 4 slots busy"
    assert plain_line(seen) == line
    later = replace(seen, summary=replace(seen.summary, makespan_s=99.0))
    assert plain_line(later) == line
