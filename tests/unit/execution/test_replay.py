"""The event log is the run: fed again, it gives the same answers."""

from __future__ import annotations

import msgspec
import pytest

from scicore.execution.messages import (
    AttemptEnded,
    Event,
    RunStarted,
    StopRequested,
    Usage,
    VmJoined,
    VmLost,
    VmNoticed,
    WorkRequested,
)
from scicore.execution.replay import from_lines, replay, to_line
from scicore.model.activation import ActivationState, Cause, RunState
from scicore.model.workflow import Operator
from tests.unit.execution.building import (
    Stage,
    activity,
    fleet,
    plan,
    relation,
    workflow,
)

SOURCE = relation("source", "ID", "SITE")


def eventful_run() -> Stage:
    """A retry, a failure, a dropped tuple, a group, a lost VM: a bit of everything."""
    split = activity("split", Operator.SPLIT_MAP, SOURCE, "ID", "SITE")
    choose = activity("choose", Operator.FILTER, split, "ID", "SITE")
    total = activity("total", Operator.REDUCE, choose, "SITE", operand=("SITE",))
    rows = (("1", "north"), ("2", 'süd; "ost"\n'), ("3", "west"))
    spec = workflow(SOURCE, rows, split, choose, total, max_attempts=2)
    stage = Stage(spec, plan(fleet(1, 2), {"split.1": "vm-1", "split.2": "vm-2"}))
    stage.begin("vm-1", "vm-2")
    stage.fail("split.2", Cause.SIGNAL)
    stage.fail("split.2", Cause.BAD_OUTPUT)
    stage.finish("split.1", ("a", "north"), ("b", "north"))
    stage.finish("split.3", ("c", "west"))
    stage.lose("vm-1")
    while stage.in_state(ActivationState.RUNNING):
        name = stage.in_state(ActivationState.RUNNING)[0]
        row = ("north",) if name.startswith("total") else ("a", "north")
        stage.finish(name, *([] if name == "choose.3.1" else [row]))
    assert stage.execution.state is RunState.FAILED
    return stage


def test_the_same_events_give_the_same_answers() -> None:
    stage = eventful_run()
    assert replay(stage.workflow, stage.plan, stage.events) == stage.answers


def test_events_survive_the_log_file() -> None:
    stage = eventful_run()
    lines = [to_line(event) for event in stage.events]
    assert list(from_lines(lines)) == stage.events
    assert replay(stage.workflow, stage.plan, from_lines(lines)) == stage.answers


def test_a_half_told_run_gives_the_first_half_of_the_answers() -> None:
    stage = eventful_run()
    half = len(stage.events) // 2
    assert replay(stage.workflow, stage.plan, stage.events[:half]) == stage.answers[:half]


EVERY_KIND: list[Event] = [
    RunStarted(1700000000.123456),
    VmJoined(0.1 + 0.2, "vm-1", "host"),
    VmLost(1.0, "vm-1"),
    VmNoticed(1.0, "vm-1", "terminate at noon"),
    StopRequested(2.0),
    WorkRequested(3.0, "vm-1", ()),
    WorkRequested(
        4.0,
        "vm-1",
        (
            AttemptEnded(
                activation=7,
                number=2,
                cause=Cause.SIGNAL,
                started_at=1.5,
                ended_at=2.25,
                exit_code=-9,
                command="bin/work 'a b'",
                workspace="/w/7",
                stderr_tail="two\nlines\tand a \x1b",
                usage=Usage(0.1, 2**40, 3, 4),
                rows=(("ü", "", "; \u2028"), ()),
            ),
        ),
    ),
]


@pytest.mark.parametrize("event", EVERY_KIND, ids=lambda event: type(event).__name__)
def test_an_event_is_one_line_and_reads_back_as_it_was(event: Event) -> None:
    line = to_line(event)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert list(from_lines([line])) == [event]


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"Unheard","at":1.0}\n',
        b'{"type":"VmLost","at":1.0}\n',
        b'{"type":"VmLost","at":"now","vm":"vm-1"}\n',
    ],
)
def test_a_line_that_is_no_event_is_refused(line: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        list(from_lines([line]))
