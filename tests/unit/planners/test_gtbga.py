"""The game of a stage: nobody wants to move when it is over."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.mixes import generated
from scicore.kernel.instance import NEVER
from scicore.planners.base import validated
from scicore.planners.gtbga import Gtbga, equilibrium, stages


@given(
    lengths=st.lists(st.lists(st.integers(1, 50), min_size=3, max_size=3), min_size=1, max_size=8),
    weight=st.sampled_from([0.0, 0.3, 1.0]),
)
@settings(max_examples=80, deadline=None)
def test_at_the_end_of_a_game_none_would_rather_have_another_vm(
    lengths: list[list[int]], weight: float
) -> None:
    length_ms, price = np.array(lengths), np.array([1.0, 2.0, 4.0])
    slots, done_ms = np.array([1, 2, 1]), np.array([0.0, 5.0, 0.0])
    chosen = equilibrium(length_ms, done_ms, slots, price, weight, 1000)
    load_ms, usd = length_ms / slots, length_ms * price
    scale_ms = (done_ms + load_ms.sum(axis=0)).max()
    for player, vm in enumerate(chosen):
        total_ms = done_ms.copy()
        np.add.at(total_ms, chosen, load_ms[np.arange(len(chosen)), chosen])
        total_ms[vm] -= load_ms[player, vm]
        wants = (1 - weight) * (total_ms + load_ms[player]) / scale_ms
        wants += weight * usd[player] / usd[player].max()
        assert wants[vm] <= wants.min() + 1e-9


def test_for_money_alone_each_takes_the_cheapest_vm_that_it_fits() -> None:
    lengths = np.array([[10, 10], [10, 10], [NEVER, 10]])
    ones = np.ones(2, dtype=np.int64)
    chosen = equilibrium(lengths, np.zeros(2), ones, np.array([1.0, 2.0]), 1.0, 10)
    assert chosen.tolist() == [0, 0, 1]


def test_for_time_alone_equal_players_share_equal_vms_fairly() -> None:
    ones = np.ones(4, dtype=np.int64)
    lengths = np.full((12, 4), 7)
    chosen = equilibrium(lengths, np.zeros(4), ones, np.ones(4), 0.0, 10)
    assert np.bincount(chosen).tolist() == [3, 3, 3, 3]


def test_a_stage_has_the_activations_of_all_workflows_at_one_depth() -> None:
    task = generated(138).problem
    instance = validated(task)
    found = stages(instance)
    assert sum(len(stage) for stage in found) == 138
    depth = {int(one): number for number, stage in enumerate(found) for one in stage}
    assert all(depth[parent] < depth[child] for parent, child in task.edges)
    first = {task.activities[one].partition("/")[0] for one in found[0]}
    assert len(first) == 5


def test_it_is_cheaper_for_money_than_for_time() -> None:
    front = Gtbga().front(generated(138).problem, 0)
    assert len(front) > 1
    assert front.plans[-1].cost_usd == pytest.approx(0.1154, abs=0.001)  # all on t3.medium
