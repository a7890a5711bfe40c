"""Lower bounds: by hand, and never above what the exact planner or any plan reaches."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.problem import Problem, Transfer
from scicore.planners.base import makespan_of, validated
from scicore.planners.bounds import bounds_below, bounds_of, lower_bound_ms, weights_ms
from scicore.planners.exact import Exact, ExactParameters
from scicore.planners.heft import schedule


def problem(
    slots: tuple[int, ...], runtime_s: list[list[float]], edges: tuple[tuple[int, int], ...] = ()
) -> Problem:
    vms = tuple(
        Vm(f"vm-{n}", VmType(f"t{n}", count, 0, 1.0, 0.0, bandwidth_mb_s=1.0))
        for n, count in enumerate(slots)
    )
    count = len(runtime_s)
    return Problem(
        tuple(f"a.{index}" for index in range(count)),
        ("a",) * count,
        edges,
        Fleet(vms, "made"),
        np.array(runtime_s, dtype=np.float64).reshape(count, len(vms)),
    )


def bound_s(task: Problem) -> float:
    return bounds_of(validated(task)).makespan_ms / 1000


def test_a_path_takes_each_activation_at_its_fastest() -> None:
    task = problem((1, 1), [[9.0, 1.0], [2.0, 9.0]], edges=((0, 1),))
    assert bound_s(task) == 3


def test_area_counts_slots_rather_than_vms() -> None:
    assert bound_s(problem((1, 3), [[2.0, 2.0]] * 8)) == 4


def test_area_knows_that_slow_vms_do_less() -> None:
    """Speeds 1 and 3: in 10 s they do 10 and 30 of the 40."""
    task = problem((1, 1), [[4.0, 4.0 / 3]] * 10)
    assert weights_ms(validated(task)).sum() / 1000 == pytest.approx(10, abs=0.01)
    assert bound_s(task) == pytest.approx(10, abs=0.01)


def test_area_counts_between_what_comes_before_and_what_comes_after() -> None:
    """1 s, then 8 × 2 s on 4 slots, then 3 s."""
    edges = tuple((0, n) for n in range(1, 9)) + tuple((n, 9) for n in range(1, 9))
    task = problem((4,), [[1.0]] + [[2.0]] * 8 + [[3.0]], edges)
    assert bound_s(task) == 8


def test_boot_and_transfer_count_where_they_cannot_be_avoided() -> None:
    task = problem((1, 1), [[1.0, 50.0], [50.0, 1.0]], edges=((0, 1),))
    assert bound_s(dataclasses.replace(task, edge_bytes=(5_000_000,))) == 7
    booting = dataclasses.replace(task.fleet.vms[0].type, boot_s=2.0)
    fleet = Fleet((Vm("vm-0", booting), Vm("vm-1", booting)), "made")
    assert bound_s(dataclasses.replace(task, fleet=fleet)) == 4
    assert bound_s(dataclasses.replace(task, fleet=fleet, boot=False)) == 2


def test_what_would_be_too_late_on_slow_vms_must_share_the_fast_one() -> None:
    """Three of 8 s, or 1 s on the only fast VM: by area 2.4 s, by bisection 3 s."""
    task = problem((1, 1, 1), [[8.0, 8.0, 1.0]] * 3)
    instance = validated(task)
    assert bounds_of(instance).makespan_ms == 2400
    assert bounds_below(instance, 8000).makespan_ms == pytest.approx(3000, abs=10)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    slots = tuple(draw(st.lists(st.integers(1, 2), min_size=1, max_size=3)))
    count = draw(st.integers(1, 6))
    pairs = draw(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=10))
    edges = tuple((a, b) for a, b in pairs if a < b < count)
    times = st.integers(1, 20).map(float)
    rows = [[draw(times) for _ in slots] for _ in range(count)]
    return dataclasses.replace(
        problem(slots, rows, edges),
        edge_bytes=tuple(draw(st.integers(0, 10)) * 1_000_000 for _ in edges),
        transfer=draw(st.sampled_from(Transfer)),
    )


@given(problems())
@settings(max_examples=25, deadline=None)
def test_no_bound_is_above_the_optimum(task: Problem) -> None:
    plan = Exact(ExactParameters(effort=2.0)).plan(task, 0)
    instance = validated(task)
    heft_ms = makespan_of(instance, *schedule(instance))
    assert lower_bound_ms(instance, heft_ms) <= round(plan.makespan_s * 1000) <= heft_ms
    assert plan.gap == pytest.approx(0), "so small a problem is solved"


def test_heads_and_tails_hold_in_a_real_schedule() -> None:
    random = np.random.default_rng(3)
    edges = tuple((int(random.integers(0, n)), n) for n in range(1, 40))
    task = problem((2, 1), random.uniform(1, 9, (40, 2)).tolist(), edges)
    instance = validated(task)
    bounds = bounds_of(instance)
    plan = Exact(ExactParameters(effort=0.1)).plan(task, 0)
    for item in plan.assignments:
        index = task.activations.index(item.activation)
        assert bounds.head_ms[index] <= round(item.start_s * 1000)
        assert item.finish_s * 1000 + bounds.tail_ms[index] <= plan.makespan_s * 1000 + 1e-6
