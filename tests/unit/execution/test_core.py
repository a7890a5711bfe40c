"""What the core decides, event by event."""

from __future__ import annotations

import msgspec
import pytest

from scicore.execution.messages import (
    ActivationCreated,
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    Cancel,
    Condition,
    FileFound,
    FileRecorded,
    RunEnded,
    RunMoved,
    Start,
    SteeringHandled,
    Stop,
    StopRequested,
    TupleGenerated,
    VmChanged,
)
from scicore.model.activation import ActivationState, Cause, RunState, activation_key
from scicore.model.workflow import Operator, Workflow
from tests.unit.execution.building import (
    Stage,
    activity,
    attempt_ended,
    fleet,
    plan,
    relation,
    workflow,
)

FINISHED, READY, RUNNING = (
    ActivationState.FINISHED,
    ActivationState.READY,
    ActivationState.RUNNING,
)
FAILED, BLOCKED, CANCELLED = (
    ActivationState.FAILED,
    ActivationState.BLOCKED,
    ActivationState.CANCELLED,
)

SOURCE = relation("source", "ID")
FIRST = activity("first", Operator.MAP, SOURCE, "ID")
SECOND = activity("second", Operator.MAP, FIRST, "ID")


def one_map(*ids: str, max_attempts: int = 1) -> Workflow:
    return workflow(SOURCE, tuple((id,) for id in ids), FIRST, max_attempts=max_attempts)


def chain(*ids: str) -> Workflow:
    return workflow(SOURCE, tuple((id,) for id in ids), FIRST, SECOND)


def on_one_vm(spec: Workflow, slots: int = 1) -> Stage:
    """A stage with one VM, on which the run has begun."""
    stage = Stage(spec, plan(fleet(slots)))
    stage.begin("vm-1")
    return stage


# --- from the start to the end -----------------------------------------------------------------


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
            key=activation_key("first", "bin/first", [("x",)]),
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
            key=activation_key("second", "bin/second", [("y",)]),
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


# --- failure ------------------------------------------------------------------------------------


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


# --- fencing ------------------------------------------------------------------------------------


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


def test_a_lost_vms_late_result_is_ignored_while_its_work_waits_elsewhere() -> None:
    stage = Stage(one_map("x"), plan(fleet(1, 1), {"first.1": "vm-1"}))
    stage.begin("vm-1")
    order = stage.order("first.1")
    assert stage.lose("vm-1") == []  # vm-2 has not joined yet
    assert stage.report("vm-1", attempt_ended(order, rows=(("late",),))) == []
    assert stage.states() == {"first.1": READY}
    assert stage.join("vm-2") == [
        Start("vm-2", 1, 2, "first", "first/1-attempt-2", (("x",),)),
    ]


# --- loss ---------------------------------------------------------------------------------------


def test_a_lost_vm_gives_its_work_back_running_and_waiting_alike() -> None:
    stage = Stage(one_map("x", "y"), plan(fleet(1, 2), {"first.1": "vm-1", "first.2": "vm-1"}))
    stage.begin("vm-1", "vm-2")
    assert stage.lose("vm-1") == [
        Start("vm-2", 1, 2, "first", "first/1-attempt-2", (("x",),)),
        Start("vm-2", 2, 1, "first", "first/2", (("y",),)),
    ]
    assert stage.facts_of_last_event() == [
        VmChanged(3.0, "vm-1", "lost", ""),
        AttemptEnded(1, 1, Cause.LOST_VM, started_at=1.0, ended_at=3.0),
        ActivationMoved(3.0, 1, READY, "vm-2", moved_because="lost vm"),
        ActivationMoved(3.0, 2, READY, "vm-2", moved_because="lost vm"),
        AttemptStarted(3.0, 1, 2, "vm-2"),
        AttemptStarted(3.0, 2, 1, "vm-2"),
    ]


def test_losing_a_vm_is_not_the_activations_failure() -> None:
    stage = Stage(one_map("x", max_attempts=1), plan(fleet(1, 1, 1), {"first.1": "vm-1"}))
    stage.begin("vm-1", "vm-2", "vm-3")
    assert stage.started(stage.lose("vm-1")) == ["first.1"]
    assert stage.started(stage.lose(stage.order("first.1").vm)) == ["first.1"]
    stage.finish("first.1", ("y",))
    assert stage.execution.state is RunState.FINISHED


def test_a_run_whose_vms_are_all_lost_is_interrupted() -> None:
    stage = Stage(one_map("x", "y"), plan(fleet(1, 1), {"first.1": "vm-1", "first.2": "vm-2"}))
    stage.begin("vm-1", "vm-2")
    assert stage.lose("vm-1") == []
    assert stage.lose("vm-2") == []
    assert stage.facts()[-1] == RunEnded(4.0, RunState.INTERRUPTED)
    assert stage.states() == {"first.1": READY, "first.2": READY}
    lost = [fact.activation for fact in stage.facts() if isinstance(fact, AttemptEnded)]
    assert lost == [1, 2]  # nothing stays running in the books


def test_an_interrupted_run_stays_interrupted_whatever_comes_late() -> None:
    stage = on_one_vm(chain("x"))
    order = stage.order("first.1")
    stage.lose("vm-1")
    assert stage.report("vm-1", attempt_ended(order, rows=(("late",),))) == []
    assert stage.join("vm-1") == [Stop("vm-1")]
    assert stage.execution.state is RunState.INTERRUPTED


def test_losing_a_vm_that_was_told_to_leave_does_not_undo_the_end() -> None:
    stage = on_one_vm(one_map("x"))
    stage.finish("first.1", ("y",))
    assert stage.lose("vm-1") == []
    assert stage.facts_of_last_event() == []
    assert stage.execution.state is RunState.FINISHED


def test_a_lost_vm_that_comes_back_works_again_and_is_told_to_leave_in_the_end() -> None:
    stage = Stage(chain("x"), plan(fleet(1, 1), {"first.1": "vm-1", "second.1": "vm-1"}))
    stage.begin("vm-1")
    stage.lose("vm-1")
    assert stage.join("vm-1") == []  # its work waits for vm-2 now
    assert stage.join("vm-2") == [Start("vm-2", 1, 2, "first", "first/1-attempt-2", (("x",),))]
    assert stage.finish("first.1", ("y",)) == [
        Start("vm-1", 2, 1, "second", "second/1", (("y",),)),
    ]
    assert stage.finish("second.1", ("z",)) == [Stop("vm-1"), Stop("vm-2")]


def test_a_run_goes_on_as_long_as_one_vm_is_back() -> None:
    stage = Stage(one_map("x"), plan(fleet(1, 1), {"first.1": "vm-1"}))
    stage.begin("vm-1", "vm-2")
    stage.lose("vm-2")
    stage.join("vm-2")
    assert stage.lose("vm-1") == [Start("vm-2", 1, 2, "first", "first/1-attempt-2", (("x",),))]


# --- stop ---------------------------------------------------------------------------------------


def test_a_stop_cancels_what_runs_and_starts_nothing_more() -> None:
    stage = on_one_vm(one_map("x", "y", "z"), slots=2)
    assert stage.stop() == [Cancel("vm-1", 1, 1), Cancel("vm-1", 2, 1)]
    assert stage.fail("first.1", Cause.CANCELLED) == []
    assert stage.fail("first.2", Cause.CANCELLED) == [Stop("vm-1")]
    assert stage.facts()[-1] == RunEnded(4.0, RunState.STOPPED)
    assert stage.states() == {"first.1": READY, "first.2": READY, "first.3": READY}


def test_a_stop_keeps_the_results_that_come_in() -> None:
    stage = on_one_vm(chain("x", "y"), slots=2)
    stage.stop()
    assert stage.finish("first.1", ("a",)) == []
    assert stage.fail("first.2", Cause.CANCELLED) == [Stop("vm-1")]
    assert stage.states() == {"first.1": FINISHED, "first.2": READY, "second.1": READY}
    assert stage.execution.state is RunState.STOPPED


def test_a_stop_keeps_the_failures_that_come_in() -> None:
    stage = on_one_vm(chain("x"))
    stage.stop()
    assert stage.fail("first.1") == [Stop("vm-1")]
    assert stage.states() == {"first.1": FAILED, "second.1": BLOCKED}
    assert stage.execution.state is RunState.STOPPED


def test_a_stop_while_nothing_runs_ends_the_run_at_once() -> None:
    stage = Stage(one_map("x"), plan(fleet(1)))
    stage.begin()
    assert stage.stop() == []
    assert stage.execution.state is RunState.STOPPED
    assert stage.join("vm-1") == [Stop("vm-1")]


def test_a_second_stop_says_nothing_new() -> None:
    stage = on_one_vm(one_map("x"))
    stage.stop()
    assert stage.stop() == []
    assert stage.facts_of_last_event() == []


def test_a_stop_after_the_end_changes_nothing() -> None:
    stage = on_one_vm(one_map("x"))
    stage.finish("first.1", ("y",))
    assert stage.feed(StopRequested(9.0)) == []
    assert stage.execution.state is RunState.FINISHED


def test_a_vm_lost_while_stopping_does_not_hold_up_the_end() -> None:
    stage = Stage(one_map("x", "y"), plan(fleet(1, 1), {"first.1": "vm-1", "first.2": "vm-2"}))
    stage.begin("vm-1", "vm-2")
    stage.stop()
    assert stage.fail("first.1", Cause.CANCELLED) == []
    assert stage.lose("vm-2") == [Stop("vm-1")]
    assert stage.execution.state is RunState.STOPPED


# --- steering -----------------------------------------------------------------------------------


def outcomes(stage: Stage) -> list[str]:
    return [fact.outcome for fact in stage.facts() if isinstance(fact, SteeringHandled)]


def test_a_paused_run_starts_nothing_new_until_it_is_resumed() -> None:
    stage = on_one_vm(chain("x", "y"))
    assert stage.steer("pause") == []
    assert stage.facts_of_last_event() == [
        RunMoved(2.0, RunState.PAUSED),
        SteeringHandled(2.0, 2, "paused: nothing new is started"),
    ]
    assert stage.finish("first.1", ("a",)) == []
    assert stage.started(stage.steer("resume")) == ["first.2"]
    assert stage.execution.state is RunState.RUNNING


def test_pausing_twice_moves_the_run_once() -> None:
    stage = on_one_vm(one_map("x"))
    stage.steer("pause")
    stage.steer("pause")
    assert [fact for fact in stage.facts() if isinstance(fact, RunMoved)] == [
        RunMoved(2.0, RunState.PAUSED)
    ]


def test_a_paused_run_ends_when_its_last_activation_does() -> None:
    stage = on_one_vm(one_map("x"))
    stage.steer("pause")
    assert stage.finish("first.1", ("y",)) == [Stop("vm-1")]
    assert stage.execution.state is RunState.FINISHED


def test_a_paused_run_can_be_stopped() -> None:
    stage = on_one_vm(one_map("x"))
    stage.steer("pause")
    assert stage.steer("cancel") == [Cancel("vm-1", 1, 1)]
    assert stage.fail("first.1", Cause.CANCELLED) == [Stop("vm-1")]
    assert stage.execution.state is RunState.STOPPED


def test_cancelling_ends_what_runs_and_withdraws_what_waits() -> None:
    stage = on_one_vm(one_map("x", "y", "z"))
    assert stage.steer("cancel", "first", Condition("ID", "!=", "z")) == [Cancel("vm-1", 1, 1)]
    assert outcomes(stage) == ["2 activations cancelled so far"]
    assert stage.states() == {"first.1": RUNNING, "first.2": CANCELLED, "first.3": READY}
    assert stage.started(stage.fail("first.1", Cause.CANCELLED)) == ["first.3"]
    stage.finish("first.3", ("c",))
    assert stage.states() == {"first.1": CANCELLED, "first.2": CANCELLED, "first.3": FINISHED}
    assert stage.execution.state is RunState.FINISHED


def test_a_cancelled_activation_that_finishes_all_the_same_counts() -> None:
    stage = on_one_vm(one_map("x"))
    stage.steer("cancel", "first")
    stage.finish("first.1", ("a",))
    assert stage.states() == {"first.1": FINISHED}


def test_a_cancelled_activation_is_not_tried_again() -> None:
    stage = on_one_vm(one_map("x", max_attempts=3))
    stage.steer("cancel", "first")
    assert stage.fail("first.1") == [Stop("vm-1")]
    assert stage.states() == {"first.1": CANCELLED}


def test_a_cancelled_activation_on_a_lost_vm_is_not_run_elsewhere() -> None:
    stage = Stage(one_map("x"), plan(fleet(1, 1), {"first.1": "vm-1"}))
    stage.begin("vm-1", "vm-2")
    stage.steer("cancel", "first")
    assert stage.lose("vm-1") == [Stop("vm-2")]
    assert stage.states() == {"first.1": CANCELLED}


def test_a_cancellation_holds_for_what_appears_later() -> None:
    stage = on_one_vm(chain("x", "y"))
    stage.steer("cancel", "second", Condition("ID", "=", "a"))
    stage.finish("first.1", ("a",))
    assert stage.states() == {"first.1": FINISHED, "first.2": RUNNING, "second.1": CANCELLED}
    assert stage.started(stage.finish("first.2", ("b",))) == ["second.2"]


def test_what_a_cancelled_activation_would_have_fed_does_not_exist() -> None:
    stage = on_one_vm(chain("x"))
    stage.steer("cancel", "first")
    stage.fail("first.1", Cause.CANCELLED)
    assert stage.states() == {"first.1": CANCELLED}
    assert stage.execution.state is RunState.FINISHED


def test_steering_a_run_that_is_over_says_so() -> None:
    stage = on_one_vm(one_map("x"))
    stage.finish("first.1", ("y",))
    for action in ("pause", "resume", "cancel"):
        assert stage.steer(action) == []
    assert outcomes(stage) == ["the run was over already"] * 3
    assert stage.execution.state is RunState.FINISHED


def test_an_unknown_wish_is_answered_not_obeyed() -> None:
    stage = on_one_vm(one_map("x"))
    assert stage.steer("explode") == []
    assert outcomes(stage) == ["unknown action 'explode'"]
