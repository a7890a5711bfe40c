"""What every planner promises, whatever its algorithm."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.errors import UsageError
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.front import front_of
from scicore.model.problem import Problem, Transfer
from scicore.planners import DEFAULT, PLANNERS, planner
from scicore.planners.base import Budget, Planner, Progress
from tests.contract.plan_promises import assert_every_promise_is_kept

QUICK = {  # for many problems
    "exact": {"effort": "0.05"},
    "reassign-plus": {"episodes": "60"},
    "ga": {"population": "6", "generations": "4"},
    "mdp": {"solvers": "population=6 generations=4"},
    "reassign-pareto": {"episodes": "120"},
    "dqn": {"episodes": "3", "batch": "4"},
    "nsga2": {"population": "6", "generations": "3"},
    "mopso": {"particles": "6", "cycles": "3"},
    "gtbga": {"weights": "3"},
}
every_planner = pytest.mark.parametrize("name", PLANNERS)


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


TYPES = st.builds(
    VmType,
    name=st.sampled_from(["small", "large"]),
    slots=st.integers(1, 3),
    memory_mb=st.sampled_from([0, 100, 250]),
    speed=st.just(1.0),
    price_usd_per_hour=st.floats(0, 2),
    boot_s=st.sampled_from([0.0, 0.5, 30.0]),
    bandwidth_mb_s=st.sampled_from([0.3, 20.0, 125.0]),
)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any small DAG, its activations in any order, on any small fleet that has room for it."""
    roomy = VmType("roomy", 3, 250, 1.0, 0.5)
    types = [*draw(st.lists(TYPES, max_size=3)), roomy]
    vms = Fleet(tuple(Vm(f"vm-{number}", kind) for number, kind in enumerate(types)), "drawn")
    count = draw(st.integers(0, 12))
    order = draw(st.permutations(range(count)))
    pairs = st.tuples(st.integers(0, 11), st.integers(0, 11))
    edges = tuple(
        (order[a], order[b]) for a, b in draw(st.lists(pairs, max_size=20)) if a < b < count
    )
    durations = st.one_of(st.integers(0, 5).map(float), st.floats(0, 1000))
    row = st.lists(durations, min_size=len(types), max_size=len(types))
    some = draw(st.booleans())
    return dataclasses.replace(
        problem(vms, draw(st.lists(row, min_size=count, max_size=count)), edges),
        activities=tuple(draw(st.sampled_from("ab")) for _ in range(count)),
        edge_bytes=tuple(draw(st.integers(0, 10**8)) for _ in edges) if some else (),
        cpus=tuple(draw(st.integers(1, 3)) for _ in range(count)) if some else (),
        memory_mb=tuple(draw(st.sampled_from([0, 50, 250])) for _ in range(count)) if some else (),
        transfer=draw(st.sampled_from(Transfer)),
        boot=draw(st.booleans()),
    )


# -- promises -----------------------------------------------------------------------------------


@every_planner
@given(task=problems(), seed=st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_a_plan_keeps_every_promise(name: str, task: Problem, seed: int) -> None:
    made = planner(name, QUICK.get(name))
    plan = made.plan(task, seed)
    assert_every_promise_is_kept(plan, task)
    assert made.plan(task, seed) == plan, "same seed, other plan"


@every_planner
@given(task=problems())
@settings(max_examples=8, deadline=None)
def test_a_front_is_made_of_such_plans_none_of_which_beats_another(
    name: str, task: Problem
) -> None:
    made = planner(name, QUICK.get(name))
    front = made.front(task, 0)
    assert front.points == front_of(front.plans).points
    for plan in front:
        assert (plan.algorithm, plan.fleet) == (name, task.fleet)
        assert_every_promise_is_kept(plan, task)
    assert made.front(task, 0) == front, "same seed, other front"


@every_planner
def test_a_plan_says_who_made_it_with_which_seed_for_which_fleet(name: str) -> None:
    plan = planner(name).plan(problem(fleet(1), [[1.0]]), 7)
    assert (plan.algorithm, plan.seed, plan.fleet) == (name, 7, fleet(1))
    assert set(plan.parameters) == {
        field.name for field in dataclasses.fields(PLANNERS[name].settable)
    }


@every_planner
def test_what_was_learned_can_be_stored_as_json_and_used_again(name: str) -> None:
    task = problem(fleet(1, 2), [[3.0, 2.0], [2.0, 2.0], [4.0, 1.0]] * 4, edges=((0, 1), (3, 2)))
    first = planner(name, QUICK.get(name)).plan(task, 0)
    stored = None if first.policy is None else json.loads(json.dumps(first.policy))
    assert stored == first.policy
    again = planner(name, QUICK.get(name)).plan(task, 0, policy=stored)
    assert Counter(item.activation for item in again.assignments) == Counter(task.activations)


@every_planner
def test_a_planner_ends_when_its_budget_does(name: str) -> None:
    """The clock jumps a second whenever it is looked at."""
    ticks = iter(range(1_000_000))
    told: list[Progress] = []
    task = problem(fleet(1, 2), [[3.0, 2.0], [2.0, 2.0], [4.0, 1.0]] * 10)
    budget = Budget(0.5, lambda: float(next(ticks)))
    plan = planner(name).plan(task, 0, budget, told.append)
    assert len(plan.assignments) == 30
    assert next(ticks) < 100


# -- edges --------------------------------------------------------------------------------------


@every_planner
def test_no_activations_make_an_empty_plan(name: str) -> None:
    plan = planner(name).plan(problem(fleet(1, 2), []), 0)
    assert plan.assignments == ()
    assert (plan.makespan_s, plan.cost_usd, plan.lower_bound_s, plan.gap) == (0, 0, 0, 0)


@every_planner
def test_one_slot_runs_everything_one_after_the_other(name: str) -> None:
    plan = planner(name).plan(problem(fleet(1), [[2.0], [3.0], [0.0]], edges=((1, 0),)), 0)
    assert plan.makespan_s == 5 == plan.lower_bound_s


@every_planner
def test_an_edge_given_twice_is_one_edge(name: str) -> None:
    twice = problem(fleet(1, 1), [[2.0, 2.0], [3.0, 3.0]], edges=((0, 1), (0, 1)))
    assert planner(name).plan(twice, 0).makespan_s == 5


@every_planner
def test_an_activation_goes_where_it_fits(name: str) -> None:
    wide = dataclasses.replace(problem(fleet(1, 2), [[1.0, 9.0]]), cpus=(2,))
    heavy = dataclasses.replace(
        problem(Fleet((Vm("s", VmType("s", 1, 512, 1, 0)), *fleet(1).vms), ""), [[1.0, 9.0]]),
        memory_mb=(800,),
    )
    for task in (wide, heavy):
        (assignment,) = planner(name).plan(task, 0).assignments
        assert assignment.vm == task.fleet.vms[1].id


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
        (dataclasses.replace(SOUND, cpus=(1,)), "cpus: found 1 values, expected 2"),
        (dataclasses.replace(SOUND, cpus=(0, 1)), "cpus: found 0, expected 1"),
        (dataclasses.replace(SOUND, cpus=(1, 3)), r"a\.1 asks for 3 cpus, but fits no VM"),
        (dataclasses.replace(SOUND, memory_mb=(0, 2000)), r"a\.1 asks for 1 cpus and 2000 MB"),
        (dataclasses.replace(SOUND, edge_bytes=(-1,)), "edge_bytes: found -1"),
    ],
)
def test_what_cannot_be_planned_is_refused(name: str, task: Problem, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        planner(name).plan(task, 0)


# -- the table ----------------------------------------------------------------------------------


def test_the_table_has_every_planner_under_its_own_name() -> None:
    assert all(name == kind.name for name, kind in PLANNERS.items())
    assert DEFAULT in PLANNERS


@every_planner
def test_a_planner_is_found_by_its_name_and_tells_its_paper(name: str) -> None:
    made: Planner[Any] = planner(name)
    assert type(made) is PLANNERS[name]
    sections = [line.strip() for line in (type(made).__doc__ or "").splitlines()]
    assert {"Paper", "Idea", "Symbols", "Differences"} <= set(sections)


@every_planner
def test_every_parameter_is_documented_and_can_be_set_by_its_name(name: str) -> None:
    for field in dataclasses.fields(PLANNERS[name].settable):
        assert field.metadata["limits"].help
        made = planner(name, {field.name: str(field.default)})
        assert getattr(made.parameters, field.name) == field.default


@every_planner
def test_an_unknown_parameter_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(UsageError, match=f"algorithm {name} has no parameter 'speling'"):
        planner(name, {"speling": "1"})


def test_an_unknown_planner_is_answered_with_a_guess_and_the_known_names() -> None:
    with pytest.raises(UsageError, match=r"'heff' is not known; did you mean 'heft'\?") as caught:
        planner("heff")
    assert all(name in caught.value.hint for name in PLANNERS)


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
    assert planner("fcfs").plan(task, 0).makespan_s == 11
    assert planner("heft").plan(task, 0).makespan_s == 6


def test_fcfs_serves_in_order_of_readiness_and_takes_the_slot_that_is_free_earliest() -> None:
    runtime_s = [[3.0, 3.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    task = problem(fleet(1, 1), runtime_s, edges=((0, 2), (1, 3)))
    served = [
        (item.activation, item.vm, item.start_s)
        for item in planner("fcfs").plan(task, 0).assignments
    ]
    assert served == [
        ("a.0", "vm-0", 0),
        ("a.1", "vm-1", 0),
        ("a.4", "vm-1", 1),  # ready since 0, before a.3
        ("a.3", "vm-1", 2),
        ("a.2", "vm-0", 3),  # both are free at 3
    ]
