"""What the core decides, event by event."""

from __future__ import annotations

import msgspec
import pytest

from scicore.execution.messages import (
    ActivationCreated,
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    FileFound,
    FileRecorded,
    RunEnded,
    Start,
    Stop,
    TupleGenerated,
    VmChanged,
)
from scicore.model.activation import Cause, RunState
from scicore.model.workflow import Operator
from tests.unit.execution.building import Stage, activity, attempt_ended, fleet, plan, workflow
from tests.unit.execution.small_runs import (
    BLOCKED,
    FAILED,
    FINISHED,
    READY,
    RUNNING,
    SOURCE,
    chain,
    on_one_vm,
    one_map,
)


def test_the_start_turns_the_datasets_tuples_into_ready_activations() -> None:
    stage = Stage(one_map("x"), plan(fleet(1), {"first.1": "vm-1"}))
    assert stage.begin() == []
    assert stage.facts() == [
        TupleGenerated(1, "source", (1,), ("x",), activation=None),
        ActivationCreated(
            at=0.0,
            id=1,
            activity="first",
            name="first.1",
            rows=(("x",),),
            state=READY,
            used=(1,),
            vm="vm-1",
            planned=True,
            blocked_by=None,
            position=0,
            planned_vm="vm-1",
        ),
    ]


def test_nothing_starts_before_a_vm_has_joined() -> None:
    stage = Stage(one_map("x"), plan(fleet(1)))
    assert stage.begin() == []
    assert stage.join("vm-1") == [Start("vm-1", 1, 1, "first", "first/1", (("x",),))]
    assert stage.facts_of_last_event() == [
        VmChanged(1.0, "vm-1", "joined", "host-of-vm-1"),
        AttemptStarted(1.0, 1, 1, "vm-1"),
    ]


def test_the_answer_to_a_finished_attempt_is_complete() -> None:
    stage = on_one_vm(chain("x"))
    stage.finish("first.1", ("y",))
    assert stage.answers[-1] == [
        AttemptEnded(1, 1, Cause.FINISHED, 0.0, 0.0, rows=(("y",),)),
        ActivationMoved(2.0, 1, FINISHED, "vm-1"),
        TupleGenerated(2, "first_out", (1,), ("y",), activation=1),
        ActivationCreated(
            at=2.0,
            id=2,
            activity="second",
            name="second.1",
            rows=(("y",),),
            state=READY,
            used=(2,),
            vm="vm-1",
            planned=False,
            blocked_by=None,
            moved_because="unforeseen",
        ),
        Start("vm-1", 2, 1, "second", "second/1", (("y",),)),
        AttemptStarted(2.0, 2, 1, "vm-1"),
    ]


def test_a_run_whose_activations_all_finish_is_finished_and_everybody_leaves() -> None:
    stage = Stage(one_map("x"), plan(fleet(1, 1), {"first.1": "vm-1"}))
    stage.begin("vm-1", "vm-2")
    assert stage.finish("first.1", ("y",)) == [Stop("vm-1"), Stop("vm-2")]
    assert stage.facts()[-3:] == [
        VmChanged(3.0, "vm-1", "left", ""),
        VmChanged(3.0, "vm-2", "left", ""),
        RunEnded(3.0, RunState.FINISHED),
    ]
    assert stage.execution.state is RunState.FINISHED


def test_an_empty_dataset_ends_the_run_at_once() -> None:
    stage = Stage(chain(), plan(fleet(1)))
    assert stage.begin() == []
    assert stage.facts() == [RunEnded(0.0, RunState.FINISHED)]


def test_a_vm_that_joins_after_the_end_is_told_to_leave() -> None:
    stage = Stage(chain(), plan(fleet(1)))
    stage.begin()
    assert stage.join("vm-1") == [Stop("vm-1")]
    assert stage.facts_of_last_event() == []


def test_several_results_in_one_request_are_taken_one_after_the_other() -> None:
    stage = on_one_vm(chain("x", "y"), slots=2)
    both = (
        attempt_ended(stage.order("first.2"), rows=(("b",),)),
        attempt_ended(stage.order("first.1"), rows=(("a",),)),
    )
    assert stage.report("vm-1", *both) == [
        Start("vm-1", 3, 1, "second", "second/2", (("b",),)),
        Start("vm-1", 4, 1, "second", "second/1", (("a",),)),
    ]


def test_the_files_of_a_result_are_recorded_with_the_tuples_that_name_them() -> None:
    split = activity("split", Operator.SPLIT_MAP, SOURCE, "PART")
    stage = on_one_vm(workflow(SOURCE, (("x",),), split))
    done = attempt_ended(stage.order("split.1"), rows=(("/w/a",), ("/w/b",)))
    found = FileFound(row=1, field="PART", path="/w/b", size_bytes=7, sha256="00ff")
    stage.report("vm-1", msgspec.structs.replace(done, files=(found,)))
    recorded = [fact for fact in stage.facts() if isinstance(fact, FileRecorded)]
    assert recorded == [FileRecorded(3, "PART", "/w/b", 7, "00ff")]


def test_a_failed_attempt_is_tried_again_in_a_workspace_of_its_own() -> None:
    stage = on_one_vm(one_map("x", max_attempts=2))
    assert stage.fail("first.1") == [
        Start("vm-1", 1, 2, "first", "first/1-attempt-2", (("x",),)),
    ]
    assert stage.facts_of_last_event() == [
        AttemptEnded(1, 1, Cause.EXIT_CODE, 0.0, 0.0),
        ActivationMoved(2.0, 1, READY, "vm-1", moved_because="unforeseen"),
        AttemptStarted(2.0, 1, 2, "vm-1"),
    ]


def test_an_activation_that_fails_at_first_may_still_finish() -> None:
    stage = on_one_vm(one_map("x", max_attempts=3))
    stage.fail("first.1")
    stage.fail("first.1")
    assert stage.finish("first.1", ("y",)) == [Stop("vm-1")]
    assert stage.execution.state is RunState.FINISHED


@pytest.mark.parametrize(
    "cause", [Cause.EXIT_CODE, Cause.SIGNAL, Cause.NOT_STARTED, Cause.BAD_OUTPUT]
)
def test_an_activation_has_failed_when_its_attempts_are_used_up(cause: Cause) -> None:
    stage = on_one_vm(one_map("x", max_attempts=3))
    assert stage.started(stage.fail("first.1", cause)) == ["first.1"]
    assert stage.started(stage.fail("first.1", cause)) == ["first.1"]
    assert stage.fail("first.1", cause) == [Stop("vm-1")]
    assert stage.states() == {"first.1": FAILED}
    assert stage.facts()[-1] == RunEnded(4.0, RunState.FAILED)


@pytest.mark.parametrize("cause", [Cause.CANCELLED, Cause.LOST_VM])
def test_what_is_not_the_programs_fault_does_not_count_as_a_failure(cause: Cause) -> None:
    stage = on_one_vm(one_map("x", max_attempts=1))
    assert stage.started(stage.fail("first.1", cause)) == ["first.1"]


def test_the_rest_still_runs_when_one_activation_has_failed() -> None:
    stage = on_one_vm(chain("x", "y"))
    assert stage.started(stage.fail("first.1")) == ["first.2"]
    assert stage.started(stage.finish("first.2", ("b",))) == ["second.2"]
    assert stage.finish("second.2", ("b",)) == [Stop("vm-1")]
    assert stage.states() == {
        "first.1": FAILED,
        "first.2": FINISHED,
        "second.1": BLOCKED,
        "second.2": FINISHED,
    }
    assert stage.execution.state is RunState.FAILED


def test_a_late_result_of_a_superseded_attempt_is_ignored() -> None:
    stage = on_one_vm(one_map("x", max_attempts=2))
    superseded = stage.order("first.1")
    stage.fail("first.1")
    assert stage.report("vm-1", attempt_ended(superseded, rows=(("late",),))) == []
    assert stage.facts_of_last_event() == []
    assert stage.states() == {"first.1": RUNNING}
    stage.finish("first.1", ("right",))
    tuples = [fact.row for fact in stage.facts() if isinstance(fact, TupleGenerated)]
    assert tuples == [("x",), ("right",)]


def test_a_result_that_arrives_twice_counts_once() -> None:
    stage = on_one_vm(one_map("x", "y"))
    order = stage.order("first.1")
    stage.finish("first.1", ("a",))
    assert stage.report("vm-1", attempt_ended(order, rows=(("a",),))) == []
    assert stage.facts_of_last_event() == []
