"""Strict: the plan to the letter, and never a deadlock."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from scicore.model.activation import ActivationState, Dispatch, RunState
from scicore.model.workflow import Operator, Workflow
from tests.unit.execution.building import Stage, activity, fleet, plan, relation, workflow
from tests.unit.execution.virtual import Runtime, fleet_of, heft_plan, play

SOURCE = relation("source", "ID", "SITE")
FIRST = activity("first", Operator.MAP, SOURCE, "ID", "SITE")
SECOND = activity("second", Operator.MAP, FIRST, "ID", "SITE")
THIRD = activity("third", Operator.MAP, SECOND, "ID", "SITE")
TOTAL = activity("total", Operator.REDUCE, THIRD, "SITE", operand=("SITE",))

ID = relation("ids", "ID")
WORK = activity("work", Operator.MAP, ID, "ID")
AFTER = activity("after", Operator.MAP, WORK, "ID")


def strict(spec: Workflow, slots: tuple[int, ...], **assignments: str) -> Stage:
    """Assignments as first_1="vm-1", in the order of the plan."""
    named = {name.replace("_", "."): vm for name, vm in assignments.items()}
    return Stage(spec, plan(fleet(*slots), named), Dispatch.STRICT)


def tuples(*ids: str, after: bool = False) -> Workflow:
    return workflow(ID, tuple((id,) for id in ids), WORK, *([AFTER] if after else []))


# --- the plan is what happens -------------------------------------------------------------------


def test_a_thousand_activations_on_two_vm_sizes_run_where_and_when_the_plan_says() -> None:
    """Activation by activation: position, VM, start and finish."""
    rows = tuple((str(line), "everywhere") for line in range(333))
    spec = workflow(SOURCE, rows, FIRST, SECOND, THIRD, TOTAL)
    vms = fleet_of((8, 1, 1.0), (2, 8, 1.25))
    runtime = made_up_runtimes({vm.id: vm.type.speed for vm in vms.vms})
    followed, expected = heft_plan(spec, vms, runtime)
    assert len(expected.names) == 1000
    assert {assignment.vm.partition("-")[0] for assignment in followed.assignments} == {
        "1x1",
        "8x1.25",
    }
    played = play(
        spec,
        followed,
        runtime,
        Dispatch.STRICT,
        output=lambda tag, given: ((given[0][1],),) if tag == "total" else given[:1],
    )
    created, starts, ends = played.created(), played.starts(), played.ends()
    happened = [
        (
            created[name].position,
            name,
            created[name].planned_vm,
            starts[name].vm,
            starts[name].at,
            ends[name].ended_at,
        )
        for name in expected.names
    ]
    planned = [
        (position, each.activation, each.vm, each.vm, each.start_s, each.finish_s)
        for position, each in enumerate(followed.assignments)
    ]
    assert sorted(happened) == planned
    assert played.reasons() == {}
    assert played.makespan_ms == round(followed.makespan_s * 1000)


def made_up_runtimes(speeds: dict[str, float]) -> Runtime:
    def runtime(name: str, vm: str) -> int:
        return max(1, round(Random(name).uniform(500, 20_000) / speeds[vm]))

    return runtime


# --- waiting ------------------------------------------------------------------------------------


def test_a_vm_waits_for_its_next_one_although_a_later_one_is_ready() -> None:
    spec = tuples("a", "b", after=True)
    stage = strict(spec, (1, 1), work_1="vm-2", after_1="vm-1", work_2="vm-1", after_2="vm-2")
    assert stage.started(stage.begin("vm-1", "vm-2")) == ["work.1"]
    assert stage.started(stage.finish("work.1", ("x",))) == ["after.1"]
    assert stage.started(stage.finish("after.1", ("x",))) == ["work.2"]


def test_the_same_plan_is_a_preference_only_when_adaptive() -> None:
    spec = tuples("a", "b", after=True)
    order = {"work.1": "vm-2", "after.1": "vm-1", "work.2": "vm-1", "after.2": "vm-2"}
    stage = Stage(spec, plan(fleet(1, 1), order), Dispatch.ADAPTIVE)
    assert stage.started(stage.begin("vm-1", "vm-2")) == ["work.2", "work.1"]


def test_a_free_slot_waits_for_an_activation_that_needs_more_of_them() -> None:
    spec = replace(
        workflow(ID, (("1",), ("2",), ("1",)), WORK), activities=(replace(WORK, cpus="%=ID%"),)
    )
    stage = strict(spec, (2,), work_1="vm-1", work_2="vm-1", work_3="vm-1")
    assert stage.started(stage.begin("vm-1")) == ["work.1"]
    assert stage.started(stage.finish("work.1", ("x",))) == ["work.2"]


def test_a_retry_keeps_its_place_in_the_order() -> None:
    spec = replace(tuples("a", "b", "c"), max_attempts=2)
    stage = strict(spec, (2,), work_1="vm-1", work_2="vm-1", work_3="vm-1")
    stage.begin("vm-1")
    assert stage.started(stage.fail("work.1")) == ["work.1"]
    assert stage.started(stage.finish("work.2", ("x",))) == ["work.3"]


def test_what_no_plan_foresaw_comes_after_what_it_did() -> None:
    stage = strict(tuples("a", "b", "c"), (1,), work_3="vm-1", work_2="vm-1")
    assert stage.started(stage.begin("vm-1")) == ["work.3"]
    assert stage.started(stage.finish("work.3", ("x",))) == ["work.2"]
    assert stage.started(stage.finish("work.2", ("x",))) == ["work.1"]
    assert stage.created()["work.1"].moved_because == "unforeseen"


def test_a_vm_that_waits_for_a_planned_one_does_the_unforeseen_meanwhile() -> None:
    cut = activity("cut", Operator.SPLIT_MAP, ID, "ID")
    use = activity("use", Operator.MAP, cut, "ID")
    total = activity("total", Operator.REDUCE, use, "ID")
    spec = workflow(ID, (("a",),), cut, use, total)
    stage = strict(spec, (1, 1), cut_1="vm-1", use_1_1="vm-2", total_1="vm-1")
    stage.begin("vm-1", "vm-2")
    stage.finish("cut.1", ("x",), ("y",), ("z",))
    assert {stage.order(name).vm for name in ("use.1.1", "use.1.2")} == {"vm-1", "vm-2"}
    stage.finish("use.1.1", ("x",))
    while running := stage.in_state(ActivationState.RUNNING):
        stage.finish(running[0], ("x",))
    assert stage.order("total.1").vm == "vm-1"
    assert stage.execution.state is RunState.FINISHED


def test_idle_vms_take_nobody_elses_work() -> None:
    stage = strict(tuples("a", "b"), (1, 1), work_1="vm-1", work_2="vm-1")
    assert stage.started(stage.begin("vm-1", "vm-2")) == ["work.1"]
    assert stage.tick(10_000.0) == []


# --- what cannot come is not waited for ---------------------------------------------------------


def test_a_planned_activation_that_was_filtered_out_is_not_waited_for() -> None:
    choose = activity("choose", Operator.FILTER, ID, "ID")
    use = activity("use", Operator.MAP, choose, "ID")
    spec = workflow(ID, (("a",), ("b",)), choose, use)
    stage = strict(spec, (1, 1), choose_1="vm-2", choose_2="vm-2", use_1="vm-1", use_2="vm-1")
    stage.begin("vm-1", "vm-2")
    assert stage.started(stage.finish("choose.1")) == ["choose.2"]
    assert stage.started(stage.finish("choose.2", ("b",))) == ["use.2"]  # use.1 will never be


def test_a_planned_activation_that_may_still_come_is_waited_for() -> None:
    choose = activity("choose", Operator.FILTER, ID, "ID")
    use = activity("use", Operator.MAP, choose, "ID")
    spec = workflow(ID, (("a",), ("b",)), choose, use)
    stage = strict(spec, (1, 2), choose_1="vm-2", choose_2="vm-2", use_1="vm-1", use_2="vm-1")
    stage.begin("vm-1", "vm-2")
    assert stage.finish("choose.2", ("b",)) == []  # use.1 comes first
    assert stage.started(stage.finish("choose.1")) == ["use.2"]


def test_what_is_blocked_or_cancelled_is_not_waited_for() -> None:
    spec = tuples("a", "b", after=True)
    order = {"work_1": "vm-2", "work_2": "vm-2", "after_1": "vm-1", "after_2": "vm-1"}
    stage = strict(spec, (1, 2), **order)
    stage.begin("vm-1", "vm-2")
    stage.finish("work.2", ("x",))
    assert stage.started(stage.fail("work.1")) == ["after.2"]
    assert stage.states()["after.1"] is ActivationState.BLOCKED


def test_a_circle_in_a_plan_is_broken_by_the_first_of_it() -> None:
    """Both VMs wait for something that comes after what they make the other wait for."""
    spec = tuples("a", "b", after=True)
    stage = strict(spec, (1, 1), after_1="vm-1", after_2="vm-2", work_2="vm-1", work_1="vm-2")
    stage.begin("vm-1")
    assert stage.in_state(ActivationState.RUNNING) == []  # vm-2 may bring it about yet
    assert stage.started(stage.join("vm-2")) == ["work.2"]
    assert stage.started(stage.finish("work.2", ("x",))) == ["after.2"]
    assert stage.started(stage.finish("after.2", ("x",))) == ["work.1"]
    assert stage.started(stage.finish("work.1", ("x",))) == ["after.1"]
    stage.finish("after.1", ("x",))
    assert stage.execution.state is RunState.FINISHED


@pytest.mark.parametrize("seed", range(20))
def test_any_plan_at_all_comes_to_its_end(seed: int) -> None:
    random = Random(seed)
    rows = tuple((str(line), f"site{line % 3}") for line in range(12))
    spec = workflow(SOURCE, rows, FIRST, SECOND, THIRD, TOTAL)
    vms = fleet_of((2, 1, 1.0), (1, 2, 1.0))
    sane, _ = heft_plan(spec, vms, lambda name, vm: 1000)
    ids = [vm.id for vm in vms.vms]
    mad = [replace(each, vm=random.choice(ids)) for each in sane.assignments]
    random.shuffle(mad)
    absurd = replace(sane, assignments=tuple(mad[: random.randint(0, len(mad))]))
    played = play(spec, absurd, lambda name, vm: 1000, Dispatch.STRICT, output=_total)
    assert len(played.ends()) == 39


def _total(tag: str, given: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    return ((given[0][1],),) if tag == "total" else given[:1]
