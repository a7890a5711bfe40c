"""What every planner promises, whatever its algorithm."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.errors import UsageError
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.plan import Plan
from scicore.model.problem import Problem
from scicore.planners import DEFAULT, PLANNERS, planner
from scicore.planners.base import Planner
from scicore.planners.bounds import area_s, critical_path_s, fastest_runtimes_s, lower_bound_s

every_planner = pytest.mark.parametrize("algorithm", PLANNERS.values(), ids=PLANNERS.keys())


def fleet(*slots: int) -> Fleet:
    vms = (
        Vm(f"vm-{number}", VmType(f"type{count}", count, 1024, 1.0, 0.1 * count))
        for number, count in enumerate(slots)
    )
    return Fleet(tuple(vms), text=",".join(f"1xtype{count}" for count in slots))


def problem(
    vms: Fleet, runtime_s: list[list[float]], edges: tuple[tuple[int, int], ...] = ()
) -> Problem:
    count = len(runtime_s)
    return Problem(
        tuple(f"a.{index}" for index in range(count)),
        ("a",) * count,
        edges,
        vms,
        np.array(runtime_s, dtype=np.float64).reshape(count, len(vms.vms)),
    )


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any small DAG, its activations in any order, on any small fleet."""
    vms = fleet(*draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)))
    count = draw(st.integers(0, 12))
    order = draw(st.permutations(range(count)))
    pairs = st.tuples(st.integers(0, 11), st.integers(0, 11))
    edges = tuple(
        (order[a], order[b]) for a, b in draw(st.lists(pairs, max_size=20)) if a < b < count
    )
    durations = st.one_of(st.integers(0, 5).map(float), st.floats(0, 1000))
    row = st.lists(durations, min_size=len(vms.vms), max_size=len(vms.vms))
    return problem(vms, draw(st.lists(row, min_size=count, max_size=count)), edges)


# -- promises -----------------------------------------------------------------------------------


@every_planner
@given(task=problems(), seed=st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_a_plan_keeps_every_promise(algorithm: Planner, task: Problem, seed: int) -> None:
    plan = algorithm.plan(task, seed)
    assert_every_activation_is_assigned_once(plan, task)
    assert_times_follow_from_the_runtimes(plan, task)
    assert_no_child_starts_before_its_parents_finish(plan, task)
    assert_no_vm_is_over_committed(plan)
    assert_objectives_follow_from_the_assignments(plan, task)
    assert algorithm.plan(task, seed) == plan, "same seed, other plan"


def assert_every_activation_is_assigned_once(plan: Plan, task: Problem) -> None:
    assert Counter(item.activation for item in plan.assignments) == Counter(task.activations)
    activity_of = dict(zip(task.activations, task.activities, strict=True))
    assert all(item.activity == activity_of[item.activation] for item in plan.assignments)
    assert {item.vm for item in plan.assignments} <= {vm.id for vm in task.fleet.vms}


def assert_times_follow_from_the_runtimes(plan: Plan, task: Problem) -> None:
    column = {vm.id: number for number, vm in enumerate(task.fleet.vms)}
    row = {name: number for number, name in enumerate(task.activations)}
    for item in plan.assignments:
        assert item.start_s >= 0
        runtime_s = task.runtime_s[row[item.activation], column[item.vm]]
        assert item.finish_s == item.start_s + runtime_s


def assert_no_child_starts_before_its_parents_finish(plan: Plan, task: Problem) -> None:
    assigned = {item.activation: item for item in plan.assignments}
    place = {item.activation: number for number, item in enumerate(plan.assignments)}
    for edge in task.edges:
        parent, child = (task.activations[index] for index in edge)
        assert assigned[child].start_s >= assigned[parent].finish_s
        assert place[parent] < place[child]
    starts_s = [item.start_s for item in plan.assignments]
    assert starts_s == sorted(starts_s)


def assert_no_vm_is_over_committed(plan: Plan) -> None:
    for vm in plan.fleet.vms:
        changes: list[tuple[float, int]] = []
        for item in plan.assignments:
            if item.vm == vm.id and item.finish_s > item.start_s:
                changes += [(item.start_s, 1), (item.finish_s, -1)]
        running = 0
        for _, change in sorted(changes):  # at the same instant, what ends goes first
            running += change
            assert running <= vm.type.slots


def assert_objectives_follow_from_the_assignments(plan: Plan, task: Problem) -> None:
    assert plan.makespan_s == max((item.finish_s for item in plan.assignments), default=0)
    assert plan.lower_bound_s <= plan.makespan_s
    assert plan.lower_bound_s == pytest.approx(lower_bound_s(task), rel=1e-9)
    released_s = {vm.id: 0.0 for vm in plan.fleet.vms}
    for item in plan.assignments:
        released_s[item.vm] = max(released_s[item.vm], item.finish_s)
    costs_usd = [vm.type.cost_usd(released_s[vm.id]) for vm in plan.fleet.vms]
    assert plan.cost_usd == pytest.approx(sum(costs_usd))


@every_planner
def test_a_plan_says_who_made_it_with_which_seed_for_which_fleet(algorithm: Planner) -> None:
    plan = algorithm.plan(problem(fleet(1), [[1.0]]), 7)
    assert (plan.algorithm, plan.seed, plan.fleet) == (algorithm.name, 7, fleet(1))


# -- edges --------------------------------------------------------------------------------------


@every_planner
def test_no_activations_make_an_empty_plan(algorithm: Planner) -> None:
    plan = algorithm.plan(problem(fleet(1, 2), []), 0)
    assert plan.assignments == ()
    assert (plan.makespan_s, plan.cost_usd, plan.lower_bound_s, plan.gap) == (0, 0, 0, 0)


@every_planner
def test_one_slot_runs_everything_one_after_the_other(algorithm: Planner) -> None:
    plan = algorithm.plan(problem(fleet(1), [[2.0], [3.0], [0.0]], edges=((1, 0),)), 0)
    assert plan.makespan_s == 5 == plan.lower_bound_s


@every_planner
def test_an_edge_given_twice_is_one_edge(algorithm: Planner) -> None:
    twice = problem(fleet(1, 1), [[2.0, 2.0], [3.0, 3.0]], edges=((0, 1), (0, 1)))
    assert algorithm.plan(twice, 0).makespan_s == 5


# -- refusals -----------------------------------------------------------------------------------

SOUND = problem(fleet(1, 2), [[1.0, 2.0], [3.0, 4.0]], edges=((0, 1),))


def with_runtime(runtime_s: float) -> Problem:
    matrix = SOUND.runtime_s.copy()
    matrix[1, 0] = runtime_s
    return dataclasses.replace(SOUND, runtime_s=matrix)


@every_planner
@pytest.mark.parametrize(
    ("task", "message"),
    [
        (dataclasses.replace(SOUND, edges=((0, 1), (1, 0))), r"cycle: a\.0 → a\.1 → a\.0"),
        (dataclasses.replace(SOUND, edges=((1, 1),)), r"cycle: a\.1 → a\.1"),
        (dataclasses.replace(SOUND, edges=((0, 2),)), "edge"),
        (dataclasses.replace(SOUND, edges=((-1, 0),)), "edge"),
        (dataclasses.replace(SOUND, activations=("a", "a")), "same name"),
        (dataclasses.replace(SOUND, activities=("a",)), "activity tags"),
        (dataclasses.replace(SOUND, runtime_s=SOUND.runtime_s.T[:1]), "matrix"),
        (with_runtime(math.nan), r"a\.1 on VM vm-0: found a runtime of nan"),
        (with_runtime(math.inf), "found a runtime of inf"),
        (with_runtime(-1.0), r"found a runtime of -1\.0"),
        (problem(fleet(), []), "no VM"),
        (problem(fleet(), [[], []]), "no VM"),
        (problem(fleet(1, 0), [[1.0, 1.0]]), "found 0 slots"),
    ],
)
def test_what_cannot_be_planned_is_refused(algorithm: Planner, task: Problem, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        algorithm.plan(task, 0)


# -- the table ----------------------------------------------------------------------------------


def test_the_table_has_every_planner_under_its_own_name() -> None:
    assert all(name == algorithm.name for name, algorithm in PLANNERS.items())
    assert DEFAULT in PLANNERS


@every_planner
def test_a_planner_is_found_by_its_name_and_tells_its_paper(algorithm: Planner) -> None:
    assert planner(algorithm.name) is algorithm
    sections = [line.strip() for line in (type(algorithm).__doc__ or "").splitlines()]
    assert {"Paper", "Idea", "Symbols", "Differences"} <= set(sections)


def test_an_unknown_planner_is_answered_with_a_guess_and_the_known_names() -> None:
    with pytest.raises(UsageError, match=r"'heff' is not known; did you mean 'heft'\?") as caught:
        planner("heff")
    assert "fcfs, heft" in caught.value.hint


def test_a_name_like_no_other_gets_the_known_names_without_a_guess() -> None:
    with pytest.raises(UsageError) as caught:
        planner("zzzzzz")
    assert "did you mean" not in caught.value.message
    assert all(name in caught.value.hint for name in PLANNERS)


# -- known examples -----------------------------------------------------------------------------


def test_on_a_fork_join_heft_is_not_worse_than_fcfs() -> None:
    """A fork of three, the second one long, on a slow and a fast VM: FCFS gives the long one to
    the slow VM because that happens to be free first."""
    runtime_s = [[2.0, 1.0], [2.0, 1.0], [8.0, 4.0], [2.0, 1.0], [2.0, 1.0]]
    edges = ((0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4))
    task = problem(fleet(1, 1), runtime_s, edges)
    makespans_s = {name: algorithm.plan(task, 0).makespan_s for name, algorithm in PLANNERS.items()}
    assert makespans_s["fcfs"] == 11
    assert makespans_s["heft"] == 6 == lower_bound_s(task)


def test_fcfs_serves_in_order_of_readiness_and_takes_the_slot_that_is_free_earliest() -> None:
    runtime_s = [[3.0, 3.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    task = problem(fleet(1, 1), runtime_s, edges=((0, 2), (1, 3)))
    served = [
        (item.activation, item.vm, item.start_s)
        for item in PLANNERS["fcfs"].plan(task, 0).assignments
    ]
    assert served == [
        ("a.0", "vm-0", 0),
        ("a.1", "vm-1", 0),
        ("a.4", "vm-1", 1),  # ready since 0, before a.3
        ("a.3", "vm-1", 2),
        ("a.2", "vm-0", 3),  # both are free at 3
    ]


# -- bounds -------------------------------------------------------------------------------------


def test_the_critical_path_takes_each_activation_at_its_fastest() -> None:
    runtime_s = [[9.0, 1.0], [2.0, 9.0], [9.0, 4.0]]
    task = problem(fleet(1, 1), runtime_s, edges=((0, 1),))
    assert critical_path_s(task, fastest_runtimes_s(task)) == 4
    assert area_s(task, fastest_runtimes_s(task)) == 3.5
    assert lower_bound_s(task) == 4


def test_the_area_bound_counts_slots_rather_than_vms() -> None:
    task = problem(fleet(1, 3), [[2.0, 2.0]] * 8)
    assert lower_bound_s(task) == 4
