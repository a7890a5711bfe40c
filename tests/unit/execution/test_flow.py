"""How tuples become activations, and what a failure keeps from becoming one."""

from __future__ import annotations

from dataclasses import replace

from scicore.execution.dispatch import MASTER
from scicore.execution.messages import Condition, Start, Stop
from scicore.model.activation import ActivationState, RunState
from scicore.model.workflow import Activity, Operator, Row, Source
from tests.unit.execution.building import Stage, activity, fleet, plan, relation, workflow
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
