"""NSGA-II's own rules: fronts, crowding, and children that are schedules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.mixes import generated
from scicore.model.front import dominates
from scicore.planners.nsga2 import Nsga2, Nsga2Parameters, crowding_of, sorted_into_fronts


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=30))
@settings(max_examples=100, deadline=None)
def test_a_point_is_one_front_behind_the_last_that_beats_it(points: list[tuple[int, int]]) -> None:
    ranks, _ = sorted_into_fronts(np.array(points, dtype=np.float64))
    for index, point in enumerate(points):
        better = [ranks[other] for other, each in enumerate(points) if dominates(each, point)]
        assert ranks[index] == max(better, default=-1) + 1


def test_crowding_is_the_distance_of_the_neighbours_and_the_ends_are_free() -> None:
    points = np.array([[0.0, 10.0], [1.0, 8.0], [4.0, 2.0], [10.0, 0.0]])
    assert crowding_of(points).tolist() == [
        np.inf,
        pytest.approx(0.4 + 0.8),
        pytest.approx(0.9 + 0.8),
        np.inf,
    ]


def test_generations_make_the_front_better_at_both_ends() -> None:
    task = generated(138).problem
    short, long = (
        Nsga2(Nsga2Parameters(generations=generations, population=40)).front(task, 0)
        for generations in (1, 60)
    )
    assert long.plans[0].makespan_s < 0.8 * short.plans[0].makespan_s
    assert long.plans[-1].cost_usd < 0.8 * short.plans[-1].cost_usd
