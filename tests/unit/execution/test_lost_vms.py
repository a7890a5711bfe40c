"""VMs that are lost, and come back, while a run goes on."""

from __future__ import annotations

from scicore.execution.messages import (
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    RunEnded,
    Start,
    Stop,
    VmChanged,
)
from scicore.model.activation import Cause, RunState
from tests.unit.execution.building import Stage, attempt_ended, fleet, plan
from tests.unit.execution.small_runs import READY, chain, on_one_vm, one_map


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
