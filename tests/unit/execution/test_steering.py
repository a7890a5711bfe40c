"""Users who stop, pause or cancel a run, or a part of it, while it goes on."""

from __future__ import annotations

from scicore.execution.messages import (
    Cancel,
    Condition,
    RunEnded,
    RunMoved,
    SteeringHandled,
    Stop,
    StopRequested,
)
from scicore.model.activation import Cause, RunState
from tests.unit.execution.building import Stage, fleet, plan
from tests.unit.execution.small_runs import (
    BLOCKED,
    CANCELLED,
    FAILED,
    FINISHED,
    READY,
    RUNNING,
    chain,
    on_one_vm,
    one_map,
)


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
