"""What a failure blocks: all that hangs on its tuple or its group, and nothing else."""

from __future__ import annotations

from scicore.execution.messages import ActivationCreated, Stop
from scicore.model.workflow import Activity, Workflow
from tests.unit.execution.building import Stage, activity, fleet, plan, workflow
from tests.unit.execution.flows import (
    BLOCKED,
    FILTER,
    MAP,
    REDUCE,
    SOURCE,
    SPLIT_MAP,
    begun,
    blocked,
    sites,
    used_rows,
)


def test_a_failure_blocks_the_whole_chain_behind_its_tuple() -> None:
    first = activity("first", MAP, SOURCE, "ID")
    second = activity("second", MAP, first, "ID")
    third = activity("third", FILTER, second, "ID")
    stage = begun(sites("north", "south"), first, second, third)
    assert stage.fail("first.1") == []
    assert blocked(stage) == {"second.1": "first.1", "third.1": "first.1"}
    assert stage.started(stage.finish("first.2", ("b",))) == ["second.2"]


def test_a_blocked_activation_uses_no_tuple_and_waits_for_no_vm() -> None:
    first = activity("first", MAP, SOURCE, "ID")
    second = activity("second", MAP, first, "ID")
    stage = begun(sites("north"), first, second)
    stage.fail("first.1")
    fact: ActivationCreated = stage.created()["second.1"]
    assert (fact.state, fact.used, fact.vm, fact.blocked_by) == (BLOCKED, (), None, 1)


def test_behind_a_failed_split_map_one_activation_stands_for_all_that_cannot_be_counted() -> None:
    split = activity("split", SPLIT_MAP, SOURCE, "ID")
    second = activity("second", MAP, split, "ID")
    third = activity("third", MAP, second, "ID")
    stage = begun(sites("north", "south"), split, second, third)
    stage.finish("split.2", ("a",), ("b",))
    stage.fail("split.1")
    assert blocked(stage) == {"second.1": "split.1", "third.1": "split.1"}


def test_a_failure_behind_a_split_map_blocks_only_what_hangs_on_its_tuple() -> None:
    split = activity("split", SPLIT_MAP, SOURCE, "ID")
    second = activity("second", MAP, split, "ID")
    third = activity("third", MAP, second, "ID")
    stage = begun(sites("north"), split, second, third)
    stage.finish("split.1", ("a",), ("b",))
    stage.fail("second.1.1")
    assert blocked(stage) == {"third.1.1": "second.1.1"}
    assert stage.started(stage.finish("second.1.2", ("b",))) == ["third.1.2"]


def with_groups(*fields: str) -> tuple[Activity, Activity, Activity]:
    """work → total by SITE → print; `fields` are those that work hands on."""
    work = activity("work", MAP, SOURCE, *fields)
    total = activity("total", REDUCE, work, "SITE", operand=("SITE",))
    return work, total, activity("print", MAP, total, "SITE")


def test_a_failure_blocks_only_the_group_that_its_operand_was_carried_to() -> None:
    stage = begun(sites("south", "north", "south"), *with_groups("ID", "SITE"))
    stage.fail("work.1")
    stage.finish("work.2", ("2", "north"))
    assert stage.started(stage.finish("work.3", ("3", "south"))) == ["total.1"]
    assert blocked(stage) == {"total.2": "work.1", "print.2": "work.1"}
    assert used_rows(stage, "total.2") == [("3", "south")]
    assert stage.started(stage.finish("total.1", ("north",))) == ["print.1"]


def test_a_group_that_lost_all_its_tuples_is_blocked_all_the_same() -> None:
    stage = begun(sites("north", "south"), *with_groups("ID", "SITE"))
    stage.finish("work.2", ("2", "south"))
    assert stage.started(stage.fail("work.1")) == ["total.2"]
    assert blocked(stage) == {"total.1": "work.1", "print.1": "work.1"}


def test_a_failure_whose_operand_is_not_carried_blocks_every_group() -> None:
    shape = activity("shape", MAP, SOURCE, "ID")  # it drops SITE, and adds KIND
    kind = activity("kind", MAP, shape, "ID", "KIND")
    total = activity("total", REDUCE, kind, "KIND", operand=("KIND",))
    stage = begun(sites("north", "north", "south"), shape, kind, total)
    for line in (1, 2, 3):
        stage.finish(f"shape.{line}", (str(line),))
    stage.finish("kind.1", ("1", "round"))
    stage.finish("kind.2", ("2", "square"))
    assert stage.fail("kind.3") == [Stop("vm-1")]
    assert blocked(stage) == {"total.1": "kind.3", "total.2": "kind.3"}


def test_an_operand_that_was_dropped_on_the_way_is_not_carried() -> None:
    work = activity("work", MAP, SOURCE, "ID", "SITE")
    drop = activity("drop", MAP, work, "ID")
    regain = activity("regain", MAP, drop, "ID", "SITE")
    total = activity("total", REDUCE, regain, "SITE", operand=("SITE",))
    stage = begun(sites("north", "south"), work, drop, regain, total)
    stage.fail("work.1")
    stage.finish("work.2", ("2", "south"))
    stage.finish("drop.2", ("2",))
    assert stage.finish("regain.2", ("2", "south")) == [Stop("vm-1")]
    assert blocked(stage) == {"drop.1": "work.1", "regain.1": "work.1", "total.1": "work.1"}


def test_a_carried_operand_is_followed_through_a_split_map() -> None:
    split = activity("split", SPLIT_MAP, SOURCE, "ID", "SITE")
    work = activity("work", MAP, split, "ID", "SITE")
    total = activity("total", REDUCE, work, "SITE", operand=("SITE",))
    stage = begun(sites("north", "south"), split, work, total)
    stage.fail("split.1")
    stage.finish("split.2", ("2", "south"), ("3", "south"))
    stage.finish("work.2.1", ("2", "south"))
    assert stage.started(stage.finish("work.2.2", ("3", "south"))) == ["total.2"]
    assert blocked(stage) == {"work.1": "split.1", "total.1": "split.1"}


def test_a_reduce_whose_only_inputs_failed_has_one_blocked_activation() -> None:
    work = activity("work", MAP, SOURCE, "ID")
    kind = activity("kind", MAP, work, "KIND")
    total = activity("total", REDUCE, kind, "KIND", operand=("KIND",))
    stage = begun(sites("north", "south"), work, kind, total)
    stage.fail("work.1")
    assert stage.fail("work.2") == [Stop("vm-1")]
    assert blocked(stage) == {"kind.1": "work.1", "kind.2": "work.2", "total.1": "work.1"}


def test_a_failure_blocks_a_reduce_without_an_operand() -> None:
    work = activity("work", MAP, SOURCE, "ID")
    total = activity("total", REDUCE, work, "ID")
    stage = begun(sites("north", "south"), work, total)
    stage.finish("work.1", ("1",))
    assert stage.fail("work.2") == [Stop("vm-1")]
    assert blocked(stage) == {"total.1": "work.2"}


def nested() -> Workflow:
    by_site = activity("by_site", REDUCE, SOURCE, "SITE", operand=("SITE",))
    again = activity("again", REDUCE, by_site, "SITE", operand=("SITE",))
    overall = activity("overall", REDUCE, again, "SITE")
    return workflow(SOURCE, sites("north", "south"), by_site, again, overall)


def test_a_failed_group_blocks_its_group_in_the_next_reduce_and_all_of_the_last() -> None:
    stage = Stage(nested(), plan(fleet(9)))
    stage.begin("vm-1")
    stage.fail("by_site.1")
    assert stage.started(stage.finish("by_site.2", ("south",))) == ["again.2"]
    assert stage.finish("again.2", ("south",)) == [Stop("vm-1")]
    assert blocked(stage) == {"again.1": "by_site.1", "overall.1": "by_site.1"}
    assert used_rows(stage, "overall.1") == [("south",)]


def test_a_failed_group_carries_on_its_operand_and_nothing_else() -> None:
    by_site = activity("by_site", REDUCE, SOURCE, "SITE", "ID", operand=("SITE",))
    by_id = activity("by_id", REDUCE, by_site, "ID", operand=("ID",))
    stage = begun(sites("north", "south"), by_site, by_id)
    stage.fail("by_site.1")
    assert stage.finish("by_site.2", ("south", "7")) == [Stop("vm-1")]
    assert blocked(stage) == {"by_id.1": "by_site.1"}


def test_a_blocked_group_blocks_the_reduce_behind_it() -> None:
    work = activity("work", MAP, SOURCE, "ID", "SITE")
    by_site = activity("by_site", REDUCE, work, "SITE", operand=("SITE",))
    overall = activity("overall", REDUCE, by_site, "SITE")
    stage = begun(sites("north"), work, by_site, overall)
    assert stage.fail("work.1") == [Stop("vm-1")]
    assert blocked(stage) == {"by_site.1": "work.1", "overall.1": "work.1"}


def test_two_branches_fail_independently() -> None:
    first = activity("first", MAP, SOURCE, "ID", "SITE")
    left = activity("left", MAP, first, "ID")
    right = activity("right", REDUCE, first, "SITE", operand=("SITE",))
    stage = begun(sites("north", "south"), first, left, right)
    stage.fail("first.1")
    stage.finish("first.2", ("2", "south"))
    stage.finish("left.2", ("2",))
    assert stage.finish("right.2", ("south",)) == [Stop("vm-1")]
    assert blocked(stage) == {"left.1": "first.1", "right.1": "first.1"}
