"""Which VM gets what, and when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scicore.execution.dispatch import Dispatcher
from scicore.execution.messages import Start
from scicore.model.activation import Dispatch
from scicore.model.workflow import Operator, Workflow
from tests.unit.execution.building import (
    Stage,
    activity,
    fleet,
    plan,
    relation,
    workflow,
)

SOURCE = relation("source", "ID")
WORK = activity("work", Operator.MAP, SOURCE, "ID")


def tuples(count: int) -> Workflow:
    return workflow(SOURCE, tuple((f"t{line}",) for line in range(1, count + 1)), WORK)


# --- in a run -----------------------------------------------------------------------------------


def test_a_vm_gets_only_what_is_assigned_to_it() -> None:
    stage = Stage(tuples(3), plan(fleet(2, 2), {"work.1": "vm-2", "work.2": "vm-1"}))
    stage.begin()
    assert stage.join("vm-1") == [
        Start("vm-1", 2, 1, "work", "work/2", (("t2",),)),
        Start("vm-1", 3, 1, "work", "work/3", (("t3",),)),  # unforeseen: both were as idle
    ]
    assert stage.join("vm-2") == [Start("vm-2", 1, 1, "work", "work/1", (("t1",),))]


def test_an_idle_vm_waits_for_its_own_work_and_takes_nobody_elses() -> None:
    everything = {f"work.{line}": "vm-1" for line in (1, 2, 3)}
    stage = Stage(tuples(3), plan(fleet(1, 1), everything))
    stage.begin()
    assert stage.join("vm-2") == []
    assert stage.started(stage.join("vm-1")) == ["work.1"]


def test_a_vm_never_gets_more_than_its_slots() -> None:
    stage = Stage(tuples(5), plan(fleet(2)))
    assert stage.started(stage.begin("vm-1")) == ["work.1", "work.2"]
    assert stage.started(stage.finish("work.2", ("x",))) == ["work.3"]
    assert stage.report("vm-1") == []  # asking again, with nothing ended, brings nothing


def test_each_vm_keeps_to_the_order_of_the_plan() -> None:
    order = {"work.3": "vm-1", "work.2": "vm-2", "work.1": "vm-1", "work.4": "vm-2"}
    stage = Stage(tuples(4), plan(fleet(1, 1), order))
    assert stage.started(stage.begin("vm-1", "vm-2")) == ["work.3", "work.2"]
    assert stage.started(stage.finish("work.2", ("x",))) == ["work.4"]
    assert stage.started(stage.finish("work.3", ("x",))) == ["work.1"]


def test_what_the_plan_foresaw_goes_before_what_it_did_not() -> None:
    stage = Stage(tuples(3), plan(fleet(1), {"work.3": "vm-1"}))
    assert stage.started(stage.begin("vm-1")) == ["work.3"]
    assert stage.started(stage.finish("work.3", ("x",))) == ["work.1"]
    assert stage.started(stage.finish("work.1", ("x",))) == ["work.2"]


def test_the_books_say_what_was_planned() -> None:
    stage = Stage(tuples(2), plan(fleet(1), {"work.2": "vm-1"}))
    stage.begin()
    assert {name: fact.planned for name, fact in stage.created().items()} == {
        "work.1": False,
        "work.2": True,
    }


def test_a_retry_goes_to_the_same_vm_before_what_comes_later_in_the_plan() -> None:
    spec = workflow(SOURCE, (("a",), ("b",)), WORK, max_attempts=2)
    stage = Stage(spec, plan(fleet(1, 1), {"work.1": "vm-1", "work.2": "vm-1"}))
    stage.begin("vm-1", "vm-2")
    assert stage.fail("work.1") == [Start("vm-1", 1, 2, "work", "work/1-attempt-2", (("a",),))]


def test_a_lost_vms_work_keeps_its_place_in_the_plan() -> None:
    order = {"work.1": "vm-1", "work.2": "vm-2", "work.3": "vm-1", "work.4": "vm-2"}
    stage = Stage(tuples(4), plan(fleet(1, 1), order))
    stage.begin("vm-1", "vm-2")
    assert stage.lose("vm-1") == []
    assert stage.started(stage.finish("work.2", ("x",))) == ["work.1"]
    assert stage.started(stage.finish("work.1", ("x",))) == ["work.3"]
    assert stage.started(stage.finish("work.3", ("x",))) == ["work.4"]


def test_work_made_later_for_a_vm_that_is_lost_by_then_goes_elsewhere() -> None:
    after = activity("after", Operator.MAP, WORK, "ID")
    spec = workflow(SOURCE, (("a",),), WORK, after)
    stage = Stage(spec, plan(fleet(1, 1), {"work.1": "vm-2", "after.1": "vm-1"}))
    stage.begin("vm-1", "vm-2")
    stage.lose("vm-1")
    assert stage.finish("work.1", ("b",)) == [Start("vm-2", 2, 1, "after", "after/1", (("b",),))]
    assert stage.created()["after.1"].planned


# --- more than one slot -------------------------------------------------------------------------


def wide(count: int, cpus: str) -> Workflow:
    spec = tuples(count)
    return replace(spec, activities=(replace(WORK, cpus=cpus),))


def test_an_activation_takes_the_slots_that_it_asks_for() -> None:
    stage = Stage(wide(3, "2"), plan(fleet(5)))
    assert stage.started(stage.begin("vm-1")) == ["work.1", "work.2"]
    assert stage.started(stage.finish("work.1", ("x",))) == ["work.3"]


def test_how_many_slots_may_depend_on_the_tuple() -> None:
    spec = replace(
        workflow(SOURCE, (("3",), ("1",), ("1",)), WORK),
        activities=(replace(WORK, cpus="%=ID%"),),
    )
    stage = Stage(spec, plan(fleet(4)))
    assert stage.started(stage.begin("vm-1")) == ["work.1", "work.2"]
    assert stage.started(stage.finish("work.2", ("x",))) == ["work.3"]


def test_an_activation_that_its_planned_vm_is_too_small_for_goes_to_one_that_fits() -> None:
    stage = Stage(wide(1, "2"), plan(fleet(1, 2), {"work.1": "vm-1"}))
    stage.begin()
    assert stage.created()["work.1"].vm == "vm-2"


def test_an_activation_that_asks_for_too_much_gets_a_whole_vm() -> None:
    stage = Stage(wide(2, "64"), plan(fleet(1, 3)))
    assert stage.started(stage.begin("vm-1", "vm-2")) == ["work.1"]
    assert stage.order("work.1").vm == "vm-2"


def test_when_the_only_vm_that_was_large_enough_is_lost_the_largest_left_must_do() -> None:
    stage = Stage(wide(1, "4"), plan(fleet(1, 4)))
    stage.begin("vm-1", "vm-2")
    assert stage.lose("vm-2") == [
        Start("vm-1", 1, 2, "work", "work/1-attempt-2", (("t1",),), cpus=4)
    ]


def hungry(count: int, memory_mb: str) -> Workflow:
    return replace(tuples(count), activities=(replace(WORK, memory_mb=memory_mb),))


@pytest.mark.parametrize("dispatch", Dispatch)
def test_a_vm_is_never_short_of_memory(dispatch: Dispatch) -> None:
    stage = Stage(hungry(4, "500"), plan(fleet(4)), dispatch)  # VMs here have 1024 MB
    assert stage.started(stage.begin("vm-1")) == ["work.1", "work.2"]
    assert stage.started(stage.finish("work.1", ("x",))) == ["work.3"]


def test_memory_that_nobody_knows_of_holds_nobody_up() -> None:
    vms = fleet(4)
    unknown = replace(vms.vms[0], type=replace(vms.vms[0].type, memory_mb=0))
    stage = Stage(hungry(4, "500"), plan(replace(vms, vms=(unknown,))))
    assert len(stage.begin("vm-1")) == 4


@pytest.mark.parametrize("dispatch", Dispatch)
def test_an_activation_goes_where_there_is_enough_memory(dispatch: Dispatch) -> None:
    vms = fleet(1, 1)
    small = replace(vms.vms[0], type=replace(vms.vms[0].type, memory_mb=400))
    spec = hungry(1, "500")
    made = plan(replace(vms, vms=(small, vms.vms[1])), {"work.1": "vm-1"})
    stage = Stage(spec, made, dispatch)
    stage.begin("vm-1", "vm-2")
    assert stage.order("work.1").vm == "vm-2"
    if dispatch is not Dispatch.DYNAMIC:
        assert stage.created()["work.1"].moved_because == "does not fit"


def test_an_activation_that_asks_for_more_memory_than_there_is_gets_a_whole_vm() -> None:
    """The run was refused unless this only turned out while it ran."""
    stage = Stage(hungry(2, "5000"), plan(fleet(2)))
    assert stage.started(stage.begin("vm-1")) == ["work.1"]


# --- the dispatcher alone -----------------------------------------------------------------------


def put(dispatcher: Dispatcher, id: int, name: str) -> str | None:
    return dispatcher.put(dispatcher.work(id, name, name.partition(".")[0]))[0]


def started(dispatcher: Dispatcher) -> list[tuple[int, str]]:
    return [(work.id, vm) for work, vm, _ in dispatcher.starts(0.0)]


def test_the_unforeseen_goes_where_the_least_waits_per_slot() -> None:
    dispatcher = Dispatcher(plan(fleet(1, 3)))
    assert [put(dispatcher, id, f"new.{id}") for id in range(1, 9)] == [
        "vm-1",  # 0/1 against 0/3: the first of equals
        "vm-2",  # 1/1 against 0/3
        "vm-2",  # 1/1 against 1/3
        "vm-2",  # 1/1 against 2/3
        "vm-1",  # 1/1 against 3/3
        "vm-2",  # 2/1 against 3/3
        "vm-2",
        "vm-2",
    ]


def test_the_unforeseen_follows_the_share_that_the_plan_gave_its_activity() -> None:
    shares = {f"known.{id}": "vm-1" if id % 4 else "vm-2" for id in range(1, 9)}
    dispatcher = Dispatcher(plan(fleet(1, 2), shares))
    placed = [put(dispatcher, id, f"known.{id}") for id in range(9, 21)]
    assert placed.count("vm-1") == 9  # three quarters, whatever waits there


def test_what_runs_counts_as_load_until_it_is_released() -> None:
    dispatcher = Dispatcher(plan(fleet(1, 1), {"planned.1": "vm-1"}))
    dispatcher.join("vm-1")
    work = dispatcher.work(1, "planned.1", "planned")
    dispatcher.put(work)
    assert started(dispatcher) == [(1, "vm-1")]
    assert put(dispatcher, 2, "new.2") == "vm-2"
    dispatcher.release("vm-1", work)
    assert put(dispatcher, 3, "new.3") == "vm-1"


def test_a_lost_vm_hands_over_what_waited_in_plan_order_and_what_ran() -> None:
    dispatcher = Dispatcher(plan(fleet(1), {"c": "vm-1", "a": "vm-1", "b": "vm-1"}))
    dispatcher.join("vm-1")
    put(dispatcher, 7, "c")
    assert started(dispatcher) == [(7, "vm-1")]
    put(dispatcher, 8, "b")
    put(dispatcher, 9, "a")
    waiting, running = dispatcher.lose("vm-1")
    assert [work.id for work in waiting] == [9, 8]
    assert [work.id for work in running] == [7]
    assert dispatcher.present() == ()
    assert not dispatcher.anyone_left


def test_a_vm_that_has_not_joined_is_given_work_but_takes_none() -> None:
    dispatcher = Dispatcher(plan(fleet(1)))
    assert put(dispatcher, 1, "a") == "vm-1"
    assert started(dispatcher) == []
    assert dispatcher.present() == ()
    assert dispatcher.anyone_left


def test_with_nobody_left_work_waits_for_a_vm_to_come_back() -> None:
    dispatcher = Dispatcher(plan(fleet(1)))
    dispatcher.join("vm-1")
    dispatcher.lose("vm-1")
    assert put(dispatcher, 1, "a") == "vm-1"
    assert started(dispatcher) == []
    dispatcher.join("vm-1")
    assert started(dispatcher) == [(1, "vm-1")]


def test_what_is_withdrawn_is_neither_taken_nor_handed_over() -> None:
    dispatcher = Dispatcher(plan(fleet(1)))
    works = [dispatcher.work(id, f"new.{id}", "new") for id in (1, 2, 3)]
    for work in works:
        dispatcher.put(work)
    dispatcher.withdraw(works[0])
    dispatcher.withdraw(works[2])
    assert dispatcher.waiting()["vm-1"] == {2}
    dispatcher.join("vm-1")
    assert started(dispatcher) == [(2, "vm-1")]
    waiting, running = dispatcher.lose("vm-1")
    assert waiting == []
    assert running == [works[1]]
