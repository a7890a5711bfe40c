"""ReASSIGN+: never worse than HEFT, learns, and remembers what it has learned."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.kernel.arena import arena_of
from scicore.kernel.jit import compiled
from scicore.kernel.search import DRAWS, FINISH, START, explore
from scicore.model.cloud import Fleet, Vm, VmType, parse_fleet
from scicore.model.problem import Problem
from scicore.planners import planner
from scicore.planners.base import Budget, Progress, makespan_of, validated
from scicore.planners.bounds import bounds_of
from scicore.planners.heft import Heft, schedule
from scicore.planners.policy import World, remembered
from scicore.planners.reassign_plus import ReassignPlus, ReassignPlusParameters, _placed
from scicore.planners.refinement import Best, new_track, snapshots_every

SLOW = VmType("slow", 1, 0, 1.0, 0.1, bandwidth_mb_s=10.0)
FAST = VmType("fast", 2, 0, 4.0, 0.5, bandwidth_mb_s=50.0)
CATALOG = {"slow": SLOW, "fast": FAST}
FEW = ReassignPlus(ReassignPlusParameters(episodes=3000))


def workflow(
    count: int, seed: int, fleet: str = "3xslow,1xfast", data: bool = False, wide: bool = False
) -> Problem:
    """Any edges to the dozen before; a third of the activities are much longer than the others."""
    random = np.random.default_rng(seed)
    edges = tuple(
        (int(parent), child)
        for child in range(1, count)
        for parent in {int(random.integers(max(0, child - 12), child)) for _ in "12"}
    )
    vms = parse_fleet(fleet, CATALOG)
    work_s = random.lognormal(1, 0.7, count) * np.where(np.arange(count) % 3, 1, 6)
    speeds = np.array([vm.type.speed for vm in vms.vms])
    return Problem(
        tuple(f"a{n % 3}.{n}" for n in range(count)),
        tuple(f"a{n % 3}" for n in range(count)),
        edges,
        vms,
        work_s[:, None] / speeds,
        edge_bytes=tuple(int(size) for size in random.integers(0, 10**8, len(edges)) * data),
        cpus=tuple(1 + n % 2 for n in range(count)) if wide else (),
    )


@pytest.mark.parametrize("data", [False, True])
def test_it_is_better_than_heft_where_there_is_room(data: bool) -> None:
    better = 0
    for seed in range(5):
        task = workflow(40, seed, data=data)
        ours, heft = FEW.plan(task, 0), Heft().plan(task, 0)
        assert ours.lower_bound_s <= ours.makespan_s <= heft.makespan_s
        better += ours.makespan_s < heft.makespan_s
    assert better >= 3


@pytest.mark.parametrize("episodes", [1, 7, 100])
def test_it_is_never_worse_than_heft_however_little_it_learns(episodes: int) -> None:
    little = ReassignPlus(ReassignPlusParameters(episodes=episodes))
    for seed in range(5):
        task = workflow(20, seed, data=bool(seed % 2))
        assert little.plan(task, seed).makespan_s <= Heft().plan(task, 0).makespan_s


def test_a_longer_learning_does_not_forget() -> None:
    told: list[Progress] = []
    plan = FEW.plan(workflow(40, 1), 0, progress=told.append)
    makespans_s = [each.makespan_s for each in told]
    assert makespans_s == sorted(makespans_s, reverse=True)
    assert makespans_s[-1] == plan.makespan_s
    assert told[-1].episodes >= 3000
    assert all(each.lower_bound_s == plan.lower_bound_s for each in told)


def test_a_spent_budget_gives_hefts_plan_at_once() -> None:
    task = workflow(40, 1)
    budget = Budget(0.0, lambda: 0.0)
    assert FEW.plan(task, 0, budget).makespan_s <= Heft().plan(task, 0).makespan_s


def test_the_search_plays_what_the_strict_rule_gives() -> None:
    """With and without data, with wide activations: the plan keeps what the search promised."""
    for number, (data, wide) in enumerate([(False, False), (True, False), (False, True)]):
        fleet = "2xfast,2xslow" if not wide else "3xfast"
        task = workflow(30, number, fleet, data, wide)
        instance = validated(task)
        bounds = bounds_of(instance)
        arena = arena_of(instance, bounds.tail_ms)
        order, vm_of = schedule(instance)
        track, makespan_ms = new_track(arena, order, instance.vm_type[vm_of])
        best = Best(track.order.copy(), track.class_of.copy(), makespan_ms)
        draws = np.random.default_rng(0).random((400, DRAWS))
        every = snapshots_every(30)
        result = explore(
            arena, track, best.order, best.class_of, makespan_ms, makespan_ms, every, 500.0,
            draws, 0,
        )  # fmt: skip
        again, replayed_ms = new_track(arena, track.order, track.class_of)
        assert replayed_ms == result[0], "taking moves back left something behind"
        assert (again.schedule == track.schedule).all()
        assert (again.schedule[:, START] <= again.schedule[:, FINISH]).all()
        best = best._replace(makespan_ms=result[1])
        assert makespan_of(instance, *_placed(instance, arena, best)) <= result[1]


def test_compiled_search_does_what_the_plain_one_does() -> None:
    instance = validated(workflow(30, 5, data=True))
    arena = arena_of(instance, bounds_of(instance).tail_ms)
    order, vm_of = schedule(instance)
    draws = np.random.default_rng(0).random((300, DRAWS))
    results = []
    for function in (explore, compiled(explore)):
        track, makespan_ms = new_track(arena, order, instance.vm_type[vm_of])
        result = function(
            arena, track, order.copy(), instance.vm_type[vm_of], makespan_ms, makespan_ms,
            snapshots_every(30), 500.0, draws, 0,
        )  # fmt: skip
        results.append((tuple(result), track.order.tolist(), track.class_of.tolist()))
    assert results[0] == results[1]


# -- memory -------------------------------------------------------------------------------------


def relearned_s(task: Problem, policy: object) -> float:
    stored = json.loads(json.dumps(policy))
    one = ReassignPlus(ReassignPlusParameters(episodes=1, policy_part=0.0))
    return one.plan(task, 1, policy=stored).makespan_s


def test_what_was_learned_is_there_at_the_first_episode_of_the_next_learning() -> None:
    task = workflow(40, 2)
    first = FEW.plan(task, 0)
    assert relearned_s(task, first.policy) <= relearned_s(task, None)


@given(st.integers(0, 1000), st.sampled_from(["2xslow,2xfast", "5xfast", "4xslow"]))
@settings(max_examples=10, deadline=None)
def test_a_policy_of_another_fleet_or_size_does_no_harm(seed: int, fleet: str) -> None:
    policy = FEW.plan(workflow(20, seed), 0).policy
    for task in (workflow(20, seed, fleet), workflow(26, seed)):
        assert relearned_s(task, policy) <= Heft().plan(task, 0).makespan_s


def test_with_more_input_what_is_new_goes_with_the_others_of_its_activity() -> None:
    task = workflow(9, 1)
    instance = validated(task)
    world = World(task, instance, arena_of(instance, bounds_of(instance).tail_ms))
    ranks = np.zeros(9)
    stored = {name: float(n) for n, name in enumerate(task.activations[:6])}  # a0.0, a1.1, a2.2, …
    _, mind = remembered(world, ranks, 1000, {"bias": {}, "priority": stored})
    assert mind.priority.tolist() == [0, 1, 2, 3, 4, 5, 1.5, 2.5, 3.5]
    only_one = {"bias": {}, "priority": {task.activations[0]: 1.0}}
    assert len(remembered(world, ranks, 1000, only_one)) == 1  # it says too little


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"bias": 3},
        {"bias": {"a0": "x"}, "priority": []},
        {"bias": {"a0": {"slow": None, "fast": "1"}}, "priority": {"a0.0": 1}},
        {"bias": {"a0": {"slow": 1e300}}, "priority": {"a0.0": float("nan")}},
    ],
)
def test_a_policy_that_makes_no_sense_is_passed_over(odd: dict[str, object]) -> None:
    task = workflow(20, 1)
    assert FEW.plan(task, 0, policy=odd).makespan_s <= Heft().plan(task, 0).makespan_s


def test_vms_of_one_type_with_other_runtimes_are_told_apart() -> None:
    """A matrix may know that one of two equal VMs is slow."""
    fleet = Fleet((Vm("x", SLOW), Vm("y", SLOW)), "2xslow")
    task = replace(workflow(12, 0, "2xslow"), fleet=fleet)
    task = replace(task, runtime_s=task.runtime_s * np.array([1.0, 50.0]))
    plan = FEW.plan(task, 0)
    assert plan.makespan_s <= Heft().plan(task, 0).makespan_s


def test_q_learning_is_another_name_of_it() -> None:
    assert isinstance(planner("q-learning"), ReassignPlus)
