"""The activations expected before a run."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.algebra.forecast import Forecast, forecast
from scicore.algebra.request import Request
from scicore.model.workflow import (
    Activity,
    Dataset,
    Operator,
    Relation,
    Row,
    Workflow,
)
from tests.unit.execution.building import activity, relation


def workflow(dataset: Dataset, *activities: Activity) -> Workflow:
    return Workflow("w", activities, (dataset,), directory="/w", experiment_directory="/w/exp")


def named_edges(expected: Forecast) -> list[tuple[str, str]]:
    return [(expected.names[parent], expected.names[child]) for parent, child in expected.edges]


SOURCE = relation("source", "ID", "SITE")


def sites(*values: str) -> Dataset:
    return Dataset(SOURCE, tuple((str(line), value) for line, value in enumerate(values)))


def test_a_workflow_without_activities_expects_no_activations() -> None:
    assert forecast(workflow(sites("a"))) == Forecast((), (), (), ())


def test_a_dataset_without_tuples_expects_no_activations_of_any_operator() -> None:
    one = activity("one", Operator.MAP, SOURCE, "ID")
    two = activity("two", Operator.REDUCE, one, "ID", operand=("ID",))
    assert forecast(workflow(sites(), one, two)) == Forecast((), (), (), ())


def test_map_and_filter_keep_the_path_of_their_tuple() -> None:
    one = activity("one", Operator.MAP, SOURCE, "ID")
    two = activity("two", Operator.FILTER, one, "ID")
    expected = forecast(workflow(sites("a", "b"), one, two))
    assert expected.names == ("one.1", "one.2", "two.1", "two.2")
    assert expected.activities == ("one", "one", "two", "two")
    assert expected.edges == ((0, 2), (1, 3))


def test_each_output_tuple_of_a_split_map_adds_its_number_to_the_path() -> None:
    one = activity("one", Operator.SPLIT_MAP, SOURCE, "PART")
    two = activity("two", Operator.SPLIT_MAP, one, "PIECE")
    three = activity("three", Operator.MAP, two, "X")
    expected = forecast(workflow(sites("a"), one, two, three), {"one": 2})
    assert expected.names == ("one.1", "two.1.1", "two.1.2", "three.1.1.1", "three.1.2.1")
    assert named_edges(expected) == [
        ("one.1", "two.1.1"),
        ("one.1", "two.1.2"),
        ("two.1.1", "three.1.1.1"),
        ("two.1.2", "three.1.2.1"),
    ]


def test_a_split_map_may_be_expected_to_give_nothing() -> None:
    one = activity("one", Operator.SPLIT_MAP, SOURCE, "PART")
    two = activity("two", Operator.MAP, one, "X")
    assert forecast(workflow(sites("a"), one, two), {"one": 0}).names == ("one.1",)


def test_fan_out_concerns_only_the_activity_it_names_and_only_a_split_map() -> None:
    one = activity("one", Operator.MAP, SOURCE, "ID")
    two = activity("two", Operator.MAP, one, "ID")
    assert forecast(workflow(sites("a"), one, two), {"one": 3}).names == ("one.1", "two.1")


def test_two_consumers_of_one_relation_both_get_every_tuple() -> None:
    one = activity("one", Operator.MAP, SOURCE, "ID")
    left = activity("left", Operator.MAP, one, "L")
    right = activity("right", Operator.MAP, one, "R")
    expected = forecast(workflow(sites("a"), one, left, right))
    assert named_edges(expected) == [("one.1", "left.1"), ("one.1", "right.1")]


def test_reduce_ranks_its_groups_by_their_operand_values_as_strings() -> None:
    one = activity("one", Operator.MAP, SOURCE, "SITE")
    group = activity("group", Operator.REDUCE, one, "SITE", operand=("SITE",))
    expected = forecast(workflow(sites("9", "10", "1"), one, group))
    assert named_edges(expected) == [
        ("one.3", "group.1"),  # 1
        ("one.2", "group.2"),  # 10
        ("one.1", "group.3"),  # 9
    ]


def test_the_tuple_of_a_group_has_the_groups_rank_as_its_path() -> None:
    group = activity("group", Operator.REDUCE, SOURCE, "SITE", operand=("SITE",))
    after = activity("after", Operator.MAP, group, "SITE")
    expected = forecast(workflow(sites("b", "a", "b"), group, after))
    assert named_edges(expected) == [("group.1", "after.1"), ("group.2", "after.2")]


def test_reduce_depends_on_every_producer_of_its_group_and_on_no_other() -> None:
    one = activity("one", Operator.MAP, SOURCE, "SITE")
    group = activity("group", Operator.REDUCE, one, "SITE", operand=("SITE",))
    expected = forecast(workflow(sites("b", "a", "b"), one, group))
    assert expected.names[3:] == ("group.1", "group.2")
    assert named_edges(expected) == [
        ("one.2", "group.1"),
        ("one.1", "group.2"),
        ("one.3", "group.2"),
    ]


def test_a_producer_of_several_tuples_of_a_group_is_one_parent() -> None:
    one = activity("one", Operator.SPLIT_MAP, SOURCE, "SITE")
    group = activity("group", Operator.REDUCE, one, "SITE", operand=("SITE",))
    expected = forecast(workflow(sites("a"), one, group), {"one": 3})
    assert named_edges(expected) == [("one.1", "group.1")]


def test_reduce_without_an_operand_is_one_group() -> None:
    group = activity("group", Operator.REDUCE, SOURCE, "X")
    assert forecast(workflow(sites("a", "b"), group)).names == ("group.1",)


def test_reduce_by_two_fields_groups_by_the_pair() -> None:
    source = relation("pairs", "A", "B")
    rows: tuple[Row, ...] = (("1", "23"), ("12", "3"), ("1", "23"))
    group = activity("group", Operator.REDUCE, source, "A", operand=("A", "B"))
    assert forecast(workflow(Dataset(source, rows), group)).names == ("group.1", "group.2")


def test_operand_values_are_carried_through_same_named_fields_whatever_their_case() -> None:
    one = activity("one", Operator.MAP, SOURCE, "Site")
    two = activity("two", Operator.FILTER, one, "site")
    group = activity("group", Operator.REDUCE, two, "X", operand=("sITE",))
    expected = forecast(workflow(sites("a", "b", "a"), one, two, group))
    assert expected.names[-2:] == ("group.1", "group.2")


def test_an_operand_that_only_the_program_knows_makes_one_group() -> None:
    one = activity("one", Operator.MAP, SOURCE, "COMPUTED")
    group = activity("group", Operator.REDUCE, one, "X", operand=("COMPUTED",))
    expected = forecast(workflow(sites("a", "b"), one, group))
    assert expected.names == ("one.1", "one.2", "group.1")
    assert expected.edges == ((0, 2), (1, 2))


def test_one_unknown_field_of_two_in_an_operand_makes_one_group() -> None:
    one = activity("one", Operator.MAP, SOURCE, "SITE", "COMPUTED")
    group = activity("group", Operator.REDUCE, one, "X", operand=("SITE", "COMPUTED"))
    assert forecast(workflow(sites("a", "b"), one, group)).names[2:] == ("group.1",)


def test_a_value_does_not_return_once_a_relation_between_has_dropped_its_field() -> None:
    one = activity("one", Operator.MAP, SOURCE, "ID")
    two = activity("two", Operator.MAP, one, "SITE")
    group = activity("group", Operator.REDUCE, two, "X", operand=("SITE",))
    assert forecast(workflow(sites("a", "b"), one, two, group)).names[4:] == ("group.1",)


def test_a_group_hands_on_only_the_values_that_its_tuples_agree_upon() -> None:
    group = activity("group", Operator.REDUCE, SOURCE, "ID", "SITE", operand=("SITE",))
    by_site = activity("by_site", Operator.REDUCE, group, "X", operand=("SITE",))
    by_id = activity("by_id", Operator.REDUCE, group, "X", operand=("ID",))
    expected = forecast(workflow(sites("a", "b", "a"), group, by_site, by_id))
    assert expected.names[2:] == ("by_site.1", "by_site.2", "by_id.1")


@given(
    values=st.lists(st.sampled_from(["a", "b", "c"]), max_size=8),
    operators=st.lists(st.sampled_from(list(Operator)), min_size=1, max_size=5),
    fan_out=st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_names_are_unique_and_parents_stand_before_their_children(
    values: list[str], operators: list[Operator], fan_out: int
) -> None:
    activities: list[Activity] = []
    source: Activity | Relation = SOURCE
    for number, operator in enumerate(operators):
        operand = ("SITE",) if operator is Operator.REDUCE else ()
        source = activity(f"a{number}", operator, source, "SITE", operand=operand)
        activities.append(source)
    fan_outs = {item.tag: fan_out for item in activities}
    expected = forecast(workflow(sites(*values), *activities), fan_outs)
    assert len(set(expected.names)) == len(expected.names) == len(expected.activities)
    assert len(set(expected.edges)) == len(expected.edges)
    assert all(parent < child for parent, child in expected.edges)


def test_a_hundred_thousand_activations_are_forecast_in_seconds() -> None:
    one = activity("one", Operator.MAP, SOURCE, "SITE")
    two = activity("two", Operator.MAP, one, "SITE")
    group = activity("group", Operator.REDUCE, two, "SITE", operand=("SITE",))
    data = sites(*(str(number % 100) for number in range(50_000)))
    began_s = time.process_time()
    expected = forecast(workflow(data, one, two, group))
    assert time.process_time() - began_s < 10
    assert len(expected.names) == 100_100
    assert len(expected.edges) == 100_000


def test_a_query_takes_no_vm_but_passes_on_who_waits_for_whom() -> None:
    one = activity("one", Operator.MAP, SOURCE, "ID")
    ask = activity("ask", Operator.SR_QUERY, one, "ID")
    two = activity("two", Operator.MAP, ask, "ID")
    expected = forecast(workflow(sites("a", "b"), one, ask, two), {"ask": 2})
    assert expected.names == ("one.1", "one.2", "two.1.1", "two.1.2")
    assert named_edges(expected) == [
        ("one.1", "two.1.1"),
        ("one.2", "two.1.1"),
        ("one.1", "two.1.2"),
        ("one.2", "two.1.2"),
    ]


def test_explicit_edges_and_needs_come_from_the_tuples() -> None:
    tasks = relation("tasks", "ID", "PARENTS", "RUNTIME", "CPUS")
    task = Activity(
        "task",
        Operator.MAP,
        "run",
        input=tasks,
        output=relation("done"),
        id_field="ID",
        parents_field="PARENTS",
        runtime_s="%=RUNTIME%",
        cpus="%=CPUS%",
    )
    rows = (("last", "first first", "2.5", "2"), ("first", "", "nonsense", "0.5"))
    expected = forecast(workflow(Dataset(tasks, rows), task))
    assert named_edges(expected) == [("task.2", "task.1")]
    assert expected.requests == (Request(2, 0, 2.5), Request(1, 0, None))
