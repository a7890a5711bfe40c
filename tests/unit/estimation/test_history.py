"""Runtime estimates from earlier runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.estimation import estimate_runtimes
from scicore.model.activation import Observation
from scicore.model.cloud import Fleet, VmType, parse_fleet

SLOW = VmType("slow", slots=1, memory_mb=1024, speed=0.5, price_usd_per_hour=0.01)
FAST = VmType("fast", slots=4, memory_mb=8192, speed=2.0, price_usd_per_hour=0.1)
CATALOG = {"slow": SLOW, "fast": FAST}


@pytest.fixture
def fleet() -> Fleet:
    return parse_fleet("1xslow,2xfast", CATALOG)


def observations(activity: str, vm_type: str, *runtimes_s: float) -> list[Observation]:
    return [Observation(activity, vm_type, runtime_s) for runtime_s in runtimes_s]


def test_the_median_on_the_same_vm_type_comes_first(fleet: Fleet) -> None:
    seen = observations("a", "slow", 9, 1, 4) + observations("a", "fast", 2, 3)
    assert estimate_runtimes(["a"], fleet, seen).tolist() == [[4.0, 2.5, 2.5]]


def test_a_type_never_seen_takes_the_median_over_all_types(fleet: Fleet) -> None:
    seen = observations("a", "slow", 8, 8) + observations("a", "gone", 2)
    assert estimate_runtimes(["a"], fleet, seen).tolist() == [[8.0, 8.0, 8.0]]


def test_an_activity_never_seen_takes_the_prior_at_the_types_speed(fleet: Fleet) -> None:
    seen = observations("other", "slow", 100)
    assert estimate_runtimes(["a"], fleet, seen, prior_s=3.0).tolist() == [[6.0, 1.5, 1.5]]


def test_activations_of_one_activity_are_estimated_alike_in_their_own_rows(fleet: Fleet) -> None:
    seen = observations("b", "fast", 7) + observations("b", "slow", 5)
    matrix = estimate_runtimes(["a", "b", "a"], fleet, seen)
    assert matrix.tolist() == [[2.0, 0.5, 0.5], [5.0, 7.0, 7.0], [2.0, 0.5, 0.5]]


@pytest.mark.parametrize("runtime_s", [math.nan, math.inf, -math.inf, -1.0])
def test_an_observation_that_is_no_duration_is_ignored(fleet: Fleet, runtime_s: float) -> None:
    alone = estimate_runtimes(["a"], fleet, observations("a", "slow", runtime_s))
    assert alone.tolist() == [[2.0, 0.5, 0.5]]
    beside = estimate_runtimes(["a"], fleet, observations("a", "slow", runtime_s, 3.0))
    assert beside.tolist() == [[3.0, 3.0, 3.0]]


def test_a_runtime_of_zero_is_an_observation(fleet: Fleet) -> None:
    assert estimate_runtimes(["a"], fleet, observations("a", "slow", 0.0)).max() == 0


def test_no_activations_give_a_matrix_without_rows(fleet: Fleet) -> None:
    matrix = estimate_runtimes([], fleet, [])
    assert matrix.shape == (0, 3)
    assert matrix.dtype == np.float64


@given(
    activities=st.lists(st.sampled_from("abc"), max_size=6),
    seen=st.lists(
        st.builds(
            Observation,
            st.sampled_from("abd"),
            st.sampled_from(["slow", "fast", "gone"]),
            st.floats(-10, 1e6) | st.sampled_from([math.nan, math.inf]),
        ),
        max_size=8,
    ),
)
@settings(max_examples=60, deadline=None)
def test_every_estimate_is_a_duration_and_equal_types_get_equal_ones(
    activities: list[str], seen: list[Observation]
) -> None:
    fleet = parse_fleet("1xslow,2xfast", CATALOG)
    matrix = estimate_runtimes(activities, fleet, iter(seen))
    assert matrix.shape == (len(activities), 3)
    assert np.isfinite(matrix).all()
    assert (matrix >= 0).all()
    assert (matrix[:, 1] == matrix[:, 2]).all()
