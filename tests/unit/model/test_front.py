"""Fronts: which plans are worth showing, what a set of them is worth, which one the user means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scicore.errors import UsageError
from scicore.model.cloud import Fleet
from scicore.model.front import (
    Point,
    dominates,
    front_of,
    hypervolume,
    non_dominated,
    point_of,
)
from scicore.model.objective import Goal, Objective
from scicore.model.plan import Plan

WHOLE = st.integers(0, 12).map(float)  # so that ties are frequent, and areas exact
POINTS = st.lists(st.tuples(WHOLE, WHOLE), max_size=15)


def plan(makespan_s: float, cost_usd: float) -> Plan:
    return Plan("heft", 0, Fleet((), ""), (), makespan_s, cost_usd, 0.0)


THREE = front_of([plan(10, 9), plan(40, 2), plan(20, 4), plan(20, 5), plan(41, 2)])


# --- which are on the front -----------------------------------------------------------------------


@given(POINTS)
def test_what_is_kept_is_beaten_by_none_and_what_is_left_out_is_beaten_or_equal(
    points: list[Point],
) -> None:
    kept = [points[index] for index in non_dominated(points)]
    assert not any(dominates(one, other) for one in kept for other in kept)
    assert len(set(kept)) == len(kept)
    assert all(any(one == point or dominates(one, point) for one in kept) for point in points)


@given(POINTS)
def test_a_front_gets_slower_and_cheaper(points: list[Point]) -> None:
    kept = [points[index] for index in non_dominated(points)]
    assert kept == sorted(kept)
    assert [cost for _, cost in kept] == sorted((cost for _, cost in kept), reverse=True)


# --- hypervolume ----------------------------------------------------------------------------------


@given(POINTS)
def test_the_hypervolume_is_the_number_of_unit_squares_that_are_dominated(
    points: list[Point],
) -> None:
    squares = sum(
        any(first <= x and second <= y for first, second in points)
        for x in range(10)
        for y in range(10)
    )
    assert hypervolume(points, (10.0, 10.0)) == squares


@given(POINTS, st.tuples(WHOLE, WHOLE))
def test_another_point_never_takes_hypervolume_away(points: list[Point], other: Point) -> None:
    reference = (13.0, 13.0)
    before = hypervolume(points, reference)
    after = hypervolume([*points, other], reference)
    beaten = any(one == other or dominates(one, other) for one in points)
    assert after == before if beaten else after > before


# --- what the user means --------------------------------------------------------------------------


def test_beaten_and_equal_plans_are_left_out() -> None:
    assert THREE.points == [(10, 9), (20, 4), (40, 2)]
    assert THREE.hypervolume((50, 10)) == 40 + 30 * 5 + 10 * 2


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        (Objective(Goal.MAKESPAN), (10, 9)),
        (Objective(Goal.COST), (40, 2)),
        (Objective(Goal.BALANCED), (20, 4)),
        (Objective(Goal.PARETO), (20, 4)),
        (Objective(Goal.MAKESPAN, max_cost_usd=5), (20, 4)),
        (Objective(Goal.COST, deadline_s=20), (20, 4)),
        (Objective(Goal.PARETO, max_cost_usd=2), (40, 2)),
        (Objective(Goal.PARETO, deadline_s=15), (10, 9)),
        (Objective(Goal.BALANCED, deadline_s=15), (10, 9)),
        (Objective(Goal.COST, deadline_s=5), (10, 9)),  # nothing is so fast; this comes closest
        (Objective(Goal.MAKESPAN, deadline_s=10, max_cost_usd=3), (20, 4)),  # 100% and 33% over
    ],
)
def test_the_users_words_pick_a_plan(objective: Objective, expected: Point) -> None:
    assert point_of(THREE.best(objective)) == expected


def test_how_far_a_plan_is_from_a_constraint_is_told_as_a_share_of_it() -> None:
    objective = Objective(Goal.COST, deadline_s=10, max_cost_usd=2)
    assert objective.excess(10, 2) == 0
    assert objective.excess(15, 2) == pytest.approx(0.5)
    assert objective.excess(11, 3) == pytest.approx(0.5)
    assert objective.meets(9, 1)


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
def test_constraints_that_mean_nothing_are_refused(value: float) -> None:
    with pytest.raises(UsageError, match="deadline"):
        Objective(deadline_s=value)
    with pytest.raises(UsageError, match="highest cost"):
        Objective(max_cost_usd=value)


# --- fewer plans ----------------------------------------------------------------------------------


@given(POINTS.filter(bool), st.integers(2, 6))
def test_a_thinned_front_keeps_its_ends_and_is_part_of_the_whole(
    points: list[Point], most: int
) -> None:
    whole = front_of(plan(*point) for point in points)
    some = whole.thinned(most)
    assert len(some) <= most
    assert set(some.points) <= set(whole.points)
    assert (some.points[0], some.points[-1]) == (whole.points[0], whole.points[-1])
    assert len(some) >= min(len(whole), 2)


def test_a_plan_that_saves_next_to_nothing_is_not_worth_a_line() -> None:
    front = front_of([plan(10, 9), plan(20, 4), plan(20.001, 3.9999), plan(40, 2)])
    assert front.thinned(10).points in (
        [(10, 9), (20, 4), (40, 2)],
        [(10, 9), (20.001, 3.9999), (40, 2)],
    )
