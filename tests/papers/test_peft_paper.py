"""PEFT beside its paper (Arabnejad, Barbosa 2014): the sample graph of its figure 1.

The paper gives the optimistic cost table and the makespans: PEFT 122, HEFT 133.
"""

from __future__ import annotations

import numpy as np
import pytest

from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.problem import Problem
from scicore.planners.base import validated
from scicore.planners.heft import Heft
from scicore.planners.peft import Peft, costs_ms, ranks_ms

COSTS = [
    [22, 21, 36],
    [22, 18, 18],
    [32, 27, 43],
    [7, 10, 4],
    [29, 27, 35],
    [26, 17, 24],
    [14, 25, 30],
    [29, 23, 36],
    [15, 21, 8],
    [13, 16, 33],
]
DATA = {
    (1, 2): 17,
    (1, 3): 31,
    (1, 4): 29,
    (1, 5): 13,
    (1, 6): 7,
    (2, 8): 3,
    (2, 9): 30,
    (3, 7): 16,
    (4, 8): 11,
    (4, 9): 7,
    (5, 9): 57,
    (6, 8): 5,
    (7, 10): 9,
    (8, 10): 42,
    (9, 10): 7,
}
TYPE = VmType("p", 1, 1024, 1.0, 0.0, bandwidth_mb_s=1.0)  # so a megabyte takes a second

TASK = Problem(
    activations=tuple(f"T{number}" for number in range(1, 11)),
    activities=("T",) * 10,
    edges=tuple((parent - 1, child - 1) for parent, child in DATA),
    fleet=Fleet(tuple(Vm(f"P{number}", TYPE) for number in (1, 2, 3)), "3xp"),
    runtime_s=np.array(COSTS, dtype=np.float64),
    edge_bytes=tuple(size * 1_000_000 for size in DATA.values()),
)


def test_the_optimistic_cost_table_is_the_published_one() -> None:
    table = costs_ms(validated(TASK)) / 1000
    assert table.tolist() == [
        [64, 68, 86],
        [42, 39, 42],
        [27, 41, 43],
        [42, 39, 50],
        [28, 37, 28],
        [42, 39, 44],
        [13, 16, 22],
        [13, 16, 33],
        [13, 16, 20],
        [0, 0, 0],
    ]


def test_the_ranks_are_means_of_the_rows() -> None:
    instance = validated(TASK)
    ranks = ranks_ms(instance, costs_ms(instance)) / 1000
    assert ranks[:4].round(1).tolist() == [72.7, 41.0, 37.0, 43.7]


def test_the_sample_graph_takes_122_with_peft_and_133_with_heft() -> None:
    assert Peft().plan(TASK, 0).makespan_s == pytest.approx(122)
    assert Heft().plan(TASK, 0).makespan_s == pytest.approx(133)


def test_each_goes_where_its_finish_plus_the_optimistic_cost_is_smallest() -> None:
    placed = {item.activation: (item.vm, item.start_s) for item in Peft().plan(TASK, 0).assignments}
    assert placed == {
        "T1": ("P1", 0),
        "T4": ("P1", 22),
        "T2": ("P1", 29),
        "T6": ("P2", 29),
        "T5": ("P3", 35),
        "T3": ("P1", 51),
        "T8": ("P2", 54),
        "T9": ("P3", 81),
        "T7": ("P1", 83),
        "T10": ("P2", 106),
    }
