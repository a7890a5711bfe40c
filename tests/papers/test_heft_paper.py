"""HEFT beside its paper (Topcuoglu, Hariri, Wu 2002): the ten-task example of figures 2 to 4."""

from __future__ import annotations

import numpy as np
import pytest

from scicore.kernel.earliest_finish import inserted
from scicore.kernel.instance import Instance
from scicore.kernel.jit import compiled
from scicore.kernel.ranking import mean_ms_per_byte, mean_runtimes_ms, upward_ranks
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.problem import BYTES_PER_MB, Problem
from scicore.planners.base import no_bias, validated
from scicore.planners.heft import Heft, ranks_ms

PROCESSOR = VmType("p", 1, 0, speed=1.0, price_usd_per_hour=0.0, bandwidth_mb_s=1.0)

# Task → (computation cost on the three processors, communication cost to each child)
EXAMPLE: dict[int, tuple[tuple[int, int, int], dict[int, int]]] = {
    1: ((14, 16, 9), {2: 18, 3: 12, 4: 9, 5: 11, 6: 14}),
    2: ((13, 19, 18), {8: 19, 9: 16}),
    3: ((11, 13, 19), {7: 23}),
    4: ((13, 8, 17), {8: 27, 9: 23}),
    5: ((12, 13, 10), {9: 13}),
    6: ((13, 16, 9), {8: 15}),
    7: ((7, 15, 11), {10: 17}),
    8: ((5, 11, 14), {10: 11}),
    9: ((18, 12, 20), {10: 13}),
    10: ((21, 7, 16), {}),
}
RANKS = [108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667]  # table of the paper
MAKESPAN_S = 80


def example() -> Problem:
    links = [(task, *link) for task, (_, to) in EXAMPLE.items() for link in to.items()]
    return Problem(
        activations=tuple(f"n{task}" for task in EXAMPLE),
        activities=("n",) * len(EXAMPLE),
        edges=tuple((parent - 1, child - 1) for parent, child, _ in links),
        fleet=Fleet(tuple(Vm(f"p-{number}", PROCESSOR) for number in (1, 2, 3)), "3xp"),
        runtime_s=np.array([costs for costs, _ in EXAMPLE.values()], dtype=np.float64),
        edge_bytes=tuple(cost * BYTES_PER_MB for _, _, cost in links),
    )


def test_the_upward_ranks_are_the_published_ones() -> None:
    assert ranks_ms(validated(example())) / 1000 == pytest.approx(RANKS, abs=0.001)


def test_the_makespan_is_the_published_one() -> None:
    assert Heft().plan(example(), 0).makespan_s == MAKESPAN_S


def test_the_schedule_is_the_published_one() -> None:
    """Figure 3a: who runs where, in which order."""
    plan = Heft().plan(example(), 0)
    lanes = {
        vm.id: [item.activation for item in plan.assignments if item.vm == vm.id]
        for vm in plan.fleet.vms
    }
    assert lanes == {
        "p-1": ["n2", "n8"],
        "p-2": ["n4", "n6", "n9", "n10"],
        "p-3": ["n1", "n3", "n5", "n7"],
    }


def test_the_compiled_functions_agree_with_the_published_numbers() -> None:
    instance: Instance = validated(example())
    ranks = compiled(upward_ranks)(instance, mean_runtimes_ms(instance), mean_ms_per_byte(instance))
    assert ranks / 1000 == pytest.approx(RANKS, abs=0.001)
    order = np.argsort(-ranks, kind="stable")
    times = [np.zeros(len(order), dtype=np.int64) for _ in range(3)]
    makespan_ms = compiled(inserted)(instance, order, *no_bias(instance), *times)
    assert makespan_ms == MAKESPAN_S * 1000
