"""Dynamic: whoever has room takes the oldest."""

from __future__ import annotations

from dataclasses import replace

from scicore.model.activation import Cause, Dispatch, RunState
from scicore.model.workflow import Operator, Workflow
from tests.unit.execution.building import Stage, activity, fleet, plan, relation, workflow

ID = relation("ids", "ID")
WORK = activity("work", Operator.MAP, ID, "ID")


def asking(*cpus: str) -> Workflow:
    """Activation n asks for so many slots."""
    wide = replace(WORK, cpus="%=ID%")
    return workflow(ID, tuple((each,) for each in cpus), wide)


def dynamic(spec: Workflow, *slots: int, **assignments: str) -> Stage:
    named = {name.replace("_", "."): vm for name, vm in assignments.items()}
    return Stage(spec, plan(fleet(*slots), named), Dispatch.DYNAMIC)


def test_no_plan_is_needed() -> None:
    stage = dynamic(asking("1", "1", "1"), 1, 1)
    assert stage.started(stage.begin("vm-1")) == ["work.1"]
    assert stage.created()["work.1"].vm is None  # nobody's until somebody takes it
    assert stage.started(stage.join("vm-2")) == ["work.2"]
    assert stage.started(stage.finish("work.2", ("x",))) == ["work.3"]
    assert stage.order("work.3").vm == "vm-2"


def test_of_several_idle_vms_the_plan_prefers_one() -> None:
    after = activity("after", Operator.MAP, WORK, "ID")
    spec = workflow(ID, (("a",),), WORK, after)
    stage = dynamic(spec, 1, 2, 3, work_1="vm-1", after_9="vm-2", after_8="vm-2", after_7="vm-3")
    stage.begin("vm-1", "vm-2", "vm-3")
    stage.finish("work.1", ("x",))
    assert stage.order("after.1").vm == "vm-2"


def test_the_books_say_that_the_plan_was_not_followed() -> None:
    stage = dynamic(asking("1", "1"), 1, 1, work_1="vm-2", work_2="vm-2")
    stage.begin("vm-1", "vm-2")
    ran = {entry.activation.name: entry for entry in stage.execution.ledger.entries()}
    assert (ran["work.1"].vm, ran["work.1"].moved_because) == ("vm-1", "dynamic")
    assert (ran["work.2"].vm, ran["work.2"].moved_because) == ("vm-2", "")
    assert stage.created()["work.1"].planned_vm == "vm-2"


def test_one_that_needs_a_large_vm_does_not_hold_up_the_small_ones() -> None:
    stage = dynamic(asking("3", "3", "1", "1"), 3, 1)
    assert stage.started(stage.begin("vm-1", "vm-2")) == ["work.1", "work.3"]


def test_small_ones_cannot_starve_one_that_needs_a_large_vm() -> None:
    stage = dynamic(asking("1", "1", "3", "1", "1", "1"), 3, 1)
    stage.begin("vm-2")
    stage.join("vm-1")
    assert stage.order("work.1").vm == "vm-2"
    assert stage.order("work.2").vm == "vm-1"
    assert stage.started(stage.finish("work.1", ("x",))) == ["work.4"]  # vm-1 is kept for work.3
    assert stage.started(stage.finish("work.2", ("x",))) == ["work.3"]


def test_another_attempt_comes_before_what_got_ready_later() -> None:
    stage = dynamic(replace(asking("1", "1", "1"), max_attempts=2), 1)
    stage.begin("vm-1")
    assert stage.started(stage.fail("work.1")) == ["work.1"]


def test_what_failed_on_a_doubtful_vm_waits_for_another_and_holds_nobody_up() -> None:
    spec = replace(asking("1", "1", "1"), max_attempts=2, reliability=0.9)
    stage = dynamic(spec, 1, 1)
    stage.begin("vm-1", "vm-2")
    assert stage.started(stage.fail("work.1")) == ["work.3"]  # vm-1 is free
    stage.finish("work.3", ("x",))
    assert stage.started(stage.finish("work.2", ("x",))) == ["work.1"]
    assert stage.order("work.1").vm == "vm-2"


def test_the_only_vm_left_gets_also_what_failed_there() -> None:
    spec = replace(asking("1", "1"), max_attempts=2, reliability=0.9)
    stage = dynamic(spec, 1, 1)
    stage.begin("vm-1", "vm-2")
    stage.fail("work.1")
    assert stage.started(stage.lose("vm-2")) == ["work.1"]


def test_a_lost_vms_work_goes_to_whoever_is_free() -> None:
    stage = dynamic(asking("1", "1"), 1, 1)
    stage.begin("vm-1", "vm-2")
    stage.lose("vm-1")
    assert stage.started(stage.finish("work.2", ("x",))) == ["work.1"]
    stage.finish("work.1", ("x",))
    assert stage.execution.state is RunState.FINISHED


def test_a_missing_program_is_looked_for_elsewhere() -> None:
    stage = dynamic(replace(asking("1"), max_attempts=5), 1, 1)
    stage.begin("vm-1", "vm-2")
    stage.fail("work.1", Cause.NO_PROGRAM)
    assert stage.order("work.1").vm == "vm-2"
    stage.fail("work.1", Cause.NO_PROGRAM)
    assert stage.execution.state is RunState.FAILED
