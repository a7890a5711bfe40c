"""How tuples become activations, and what a failure keeps from becoming one."""

from __future__ import annotations

from dataclasses import replace

from scicore.execution.dispatch import MASTER
from scicore.execution.messages import ActivationCreated, Condition, Start, Stop, TupleGenerated
from scicore.model.activation import ActivationState, RunState
from scicore.model.workflow import Activity, Operator, Row, Source, Workflow
from tests.unit.execution.building import (
    Stage,
    activity,
    fleet,
    plan,
    relation,
    workflow,
)

BLOCKED = ActivationState.BLOCKED
MAP, SPLIT_MAP, FILTER, REDUCE = (
    Operator.MAP,
    Operator.SPLIT_MAP,
    Operator.FILTER,
    Operator.REDUCE,
)

SOURCE = relation("source", "ID", "SITE")


def sites(*values: str) -> tuple[Row, ...]:
    """Tuples with these sites, numbered from 1."""
    return tuple((str(line), site) for line, site in enumerate(values, start=1))


def begun(rows: tuple[Row, ...], *activities: Activity, slots: int = 9) -> Stage:
    """A stage with one VM that is wide enough for everything, on which the run has begun."""
    stage = Stage(workflow(SOURCE, rows, *activities), plan(fleet(slots)))
    stage.begin("vm-1")
    return stage


def blocked(stage: Stage) -> dict[str, str]:
    """Name of each blocked activation → name of the failed one that it waits for in vain."""
    names = {fact.id: fact.name for fact in stage.created().values()}
    return {
        fact.name: names[fact.blocked_by]
        for fact in stage.created().values()
        if fact.blocked_by is not None
    }


def used_rows(stage: Stage, name: str) -> list[Row]:
    rows = {fact.id: fact.row for fact in stage.facts() if isinstance(fact, TupleGenerated)}
    return [rows[id] for id in stage.created()[name].used]


# --- one tuple in -------------------------------------------------------------------------------


def test_a_map_chain_flows_tuple_by_tuple_without_a_barrier() -> None:
    first = activity("first", MAP, SOURCE, "ID")
    second = activity("second", MAP, first, "ID")
    stage = begun(sites("north", "south"), first, second)
    assert stage.finish("first.2", ("b",)) == [
        Start("vm-1", 3, 1, "second", "second/2", (("b",),)),
    ]
    assert stage.finish("second.2", ("b",)) == []  # at its end while first.1 still runs
    assert stage.finish("first.1", ("a",)) == [
        Start("vm-1", 4, 1, "second", "second/1", (("a",),)),
    ]
    assert stage.finish("second.1", ("a",)) == [Stop("vm-1")]


def test_every_consumer_of_a_relation_gets_each_of_its_tuples() -> None:
    first = activity("first", MAP, SOURCE, "ID")
    left = activity("left", MAP, first, "ID")
    right = activity("right", MAP, first, "ID")
    stage = begun(sites("north"), first, left, right)
    assert stage.finish("first.1", ("a",)) == [
        Start("vm-1", 2, 1, "left", "left/1", (("a",),)),
        Start("vm-1", 3, 1, "right", "right/1", (("a",),)),
    ]


def test_the_tuples_of_a_split_map_are_numbered_below_their_origin() -> None:
    split = activity("split", SPLIT_MAP, SOURCE, "ID")
    again = activity("again", SPLIT_MAP, split, "ID")
    last = activity("last", MAP, again, "ID")
    stage = begun(sites("north", "south"), split, again, last)
    assert stage.finish("split.2", ("a",), ("b",)) == [
        Start("vm-1", 3, 1, "again", "again/2.1", (("a",),)),
        Start("vm-1", 4, 1, "again", "again/2.2", (("b",),)),
    ]
    assert stage.started(stage.finish("again.2.2", ("c",), ("d",))) == ["last.2.2.1", "last.2.2.2"]


def test_a_split_map_may_give_nothing() -> None:
    split = activity("split", SPLIT_MAP, SOURCE, "ID")
    last = activity("last", MAP, split, "ID")
    stage = begun(sites("north"), split, last)
    assert stage.finish("split.1") == [Stop("vm-1")]
    assert stage.execution.state is RunState.FINISHED


def test_a_filter_that_drops_its_tuple_feeds_nothing_and_fails_nothing() -> None:
    choose = activity("choose", FILTER, SOURCE, "ID", "SITE")
    last = activity("last", MAP, choose, "ID")
    stage = begun(sites("north", "south"), choose, last)
    assert stage.finish("choose.1") == []
    assert stage.started(stage.finish("choose.2", ("2", "south"))) == ["last.2"]
    assert stage.finish("last.2", ("2",)) == [Stop("vm-1")]
    assert stage.execution.state is RunState.FINISHED


# --- many tuples in -----------------------------------------------------------------------------


def test_a_reduce_waits_for_all_and_takes_groups_sorted_with_tuples_by_path() -> None:
    work = activity("work", MAP, SOURCE, "ID", "SITE")
    total = activity("total", REDUCE, work, "SITE", operand=("SITE",))
    stage = begun(sites("south", "north", "south"), work, total)
    assert stage.finish("work.3", ("3", "south")) == []
    assert stage.finish("work.2", ("2", "north")) == []
    assert stage.finish("work.1", ("1", "south")) == [
        Start("vm-1", 4, 1, "total", "total/1", (("2", "north"),)),
        Start("vm-1", 5, 1, "total", "total/2", (("1", "south"), ("3", "south"))),
    ]


def test_the_tuples_of_a_group_are_ordered_by_number_not_by_spelling() -> None:
    work = activity("work", MAP, SOURCE, "ID", "SITE")
    total = activity("total", REDUCE, work, "SITE", operand=("SITE",))
    stage = begun(sites(*["north"] * 11), work, total, slots=11)
    for number in range(11, 0, -1):
        stage.finish(f"work.{number}", (str(number), "north"))
    assert used_rows(stage, "total.1") == [(str(number), "north") for number in range(1, 12)]


def test_a_reduce_without_an_operand_takes_everything_at_once() -> None:
    total = activity("total", REDUCE, SOURCE, "ID")
    stage = begun(sites("south", "north"), total)
    assert stage.started([stage.order("total.1")]) == ["total.1"]
    assert used_rows(stage, "total.1") == [("1", "south"), ("2", "north")]


def test_an_operands_name_matches_whatever_its_case() -> None:
    total = activity("total", REDUCE, SOURCE, "Site", operand=("site",))
    stage = begun(sites("south", "north"), total)
    assert list(stage.created()) == ["total.1", "total.2"]


def test_a_reduce_whose_input_dropped_out_has_no_activation() -> None:
    choose = activity("choose", FILTER, SOURCE, "ID", "SITE")
    total = activity("total", REDUCE, choose, "SITE", operand=("SITE",))
    stage = begun(sites("north"), choose, total)
    assert stage.finish("choose.1") == [Stop("vm-1")]
    assert list(stage.created()) == ["choose.1"]


def test_a_reduce_of_a_reduce_waits_for_the_groups_before_it() -> None:
    by_site = activity("by_site", REDUCE, SOURCE, "SITE", operand=("SITE",))
    overall = activity("overall", REDUCE, by_site, "SITE")
    stage = begun(sites("south", "north"), by_site, overall)
    assert stage.finish("by_site.2", ("south",)) == []
    assert stage.started(stage.finish("by_site.1", ("north",))) == ["overall.1"]
    assert used_rows(stage, "overall.1") == [("north",), ("south",)]


# --- queries ------------------------------------------------------------------------------------


def joined(first: Activity, other: Activity) -> Activity:
    query = activity("join", Operator.MR_QUERY, first, "ID")
    return replace(query, also_reads=(Source(other.output, other.tag),))


def test_a_query_waits_for_all_its_relations_and_runs_on_the_master() -> None:
    left = activity("left", MAP, SOURCE, "ID")
    right = activity("right", MAP, SOURCE, "ID")
    stage = begun(sites("north"), left, right, joined(left, right))
    assert stage.finish("right.1", ("r",)) == []
    assert stage.finish("left.1", ("l",)) == [
        Start(MASTER, 3, 1, "join", "join/1", (("l",), ("r",))),
    ]


def test_the_tuples_of_a_query_are_numbered() -> None:
    query = activity("query", Operator.SR_QUERY, SOURCE, "ID")
    last = activity("last", MAP, query, "ID")
    stage = begun(sites("north", "south"), query, last)
    assert stage.started(stage.finish("query.1", ("a",), ("b",))) == ["last.1.1", "last.1.2"]


def test_a_query_runs_over_an_empty_relation_too() -> None:
    query = activity("query", Operator.SR_QUERY, SOURCE, "ID")
    stage = begun((), query)
    assert stage.order("query.1") == Start(MASTER, 1, 1, "query", "query/1", ())
    assert stage.finish("query.1") == [Stop("vm-1")]


def test_a_failure_in_one_of_its_relations_blocks_a_query() -> None:
    left = activity("left", MAP, SOURCE, "ID")
    right = activity("right", MAP, SOURCE, "ID")
    stage = begun(sites("north"), left, right, joined(left, right))
    stage.finish("left.1", ("l",))
    assert stage.fail("right.1") == [Stop("vm-1")]
    assert blocked(stage) == {"join.1": "right.1"}


# --- edges that the data names ------------------------------------------------------------------

JOBS = relation("jobs", "NAME", "PARENTS")


def trace(*rows: Row) -> Stage:
    """A begun run whose activations name their parents."""
    job = replace(activity("job", MAP, JOBS, "NAME"), id_field="NAME", parents_field="PARENTS")
    stage = Stage(workflow(JOBS, rows, job), plan(fleet(9)))
    stage.begin("vm-1")
    return stage


def test_an_activation_is_locked_until_every_parent_that_it_names_has_finished() -> None:
    stage = trace(("a", ""), ("b", ""), ("c", "a b"), ("d", "c"))
    assert stage.in_state(ActivationState.RUNNING) == ["job.1", "job.2"]
    assert stage.in_state(ActivationState.LOCKED) == ["job.3", "job.4"]
    assert stage.finish("job.2", ("b",)) == []
    assert stage.started(stage.finish("job.1", ("a",))) == ["job.3"]
    assert stage.started(stage.finish("job.3", ("c",))) == ["job.4"]
    assert stage.finish("job.4", ("d",)) == [Stop("vm-1")]


def test_a_failure_blocks_everything_below_it_and_nothing_beside_it() -> None:
    stage = trace(("a", ""), ("b", ""), ("c", "a b"), ("d", "c"), ("e", "b"))
    stage.fail("job.1")
    assert stage.in_state(BLOCKED) == ["job.3", "job.4"]
    assert stage.started(stage.finish("job.2", ("b",))) == ["job.5"]
    assert stage.finish("job.5", ("e",)) == [Stop("vm-1")]
    assert stage.execution.state is RunState.FAILED


def test_cancelling_a_parent_cancels_everything_below_it() -> None:
    stage = trace(("a", ""), ("b", "a"), ("c", "b"), ("d", ""))
    stage.steer("cancel", "job", Condition("NAME", "=", "b"))
    assert stage.in_state(ActivationState.CANCELLED) == ["job.2", "job.3"]
    stage.finish("job.1", ("a",))
    assert stage.finish("job.4", ("d",)) == [Stop("vm-1")]
    assert stage.execution.state is RunState.FINISHED


# --- what a failure blocks ----------------------------------------------------------------------


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
