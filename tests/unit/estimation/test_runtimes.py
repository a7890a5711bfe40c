"""Runtime estimates from earlier runs: what is believed first, and what must not mislead."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.estimation import Estimates, Expected, estimate_runtimes
from scicore.model.activation import Observation
from scicore.model.cloud import Fleet, VmType, parse_fleet
from scicore.model.estimate import Estimate, Source

SLOW = VmType("slow", slots=1, memory_mb=1024, speed=0.5, price_usd_per_hour=0.01)
FAST = VmType("fast", slots=4, memory_mb=8192, speed=2.0, price_usd_per_hour=0.1)
CATALOG = {"slow": SLOW, "fast": FAST}


@pytest.fixture
def fleet() -> Fleet:
    return parse_fleet("1xslow,2xfast", CATALOG)


def observations(activity: str, vm_type: str, *runtimes_s: float) -> list[Observation]:
    return [Observation(activity, vm_type, runtime_s) for runtime_s in runtimes_s]


def asking(*activities: str) -> list[Expected]:
    return [Expected(activity) for activity in activities]


def of(estimates: Estimates, vm_type: str, activity: str = "a") -> Estimate:
    (found,) = (
        each
        for each in estimates.by_activity
        if (each.activity, each.vm_type) == (activity, vm_type)
    )
    return found


# --- what is believed first ---------------------------------------------------------------------


def test_the_median_on_the_same_vm_type_comes_first(fleet: Fleet) -> None:
    seen = observations("a", "slow", 9, 1, 4) + observations("a", "fast", 2, 3)
    estimates = estimate_runtimes(asking("a"), fleet, seen)
    assert estimates.runtime_s.tolist() == [[4.0, 2.5, 2.5]]
    assert of(estimates, "slow").source is Source.ACTIVITY
    assert (of(estimates, "slow").samples, of(estimates, "fast").samples) == (3, 2)


def test_a_type_never_seen_is_scaled_by_declared_speeds(fleet: Fleet) -> None:
    estimates = estimate_runtimes(asking("a"), fleet, observations("a", "slow", 8, 8))
    assert estimates.runtime_s.tolist() == [[8.0, 2.0, 2.0]]
    assert of(estimates, "fast").measured_on == ("slow",)


def test_measured_speeds_come_before_declared_ones(fleet: Fleet) -> None:
    seen = observations("b", "slow", 6, 6, 6) + observations("b", "fast", 3, 3, 3)
    seen += observations("a", "slow", 10)
    assert estimate_runtimes(asking("a"), fleet, seen).runtime_s.tolist() == [[10.0, 5.0, 5.0]]


def test_types_are_compared_by_activations_that_ran_on_both(fleet: Fleet) -> None:
    """Not by their activities, of which one type may have had the longer activations."""
    lengths = {"short": 4.0, "middle": 8.0, "long": 12.0}
    both = [
        Observation("b", vm_type, length / speed, key)
        for key, length in lengths.items()
        for vm_type, speed in (("slow", 1.0), ("fast", 2.0))
    ]
    uneven = [Observation("b", "fast", 60.0, "huge")] * 5
    seen = [*both, *uneven, *observations("a", "slow", 10)]
    assert estimate_runtimes(asking("a"), fleet, seen).runtime_s.tolist() == [[10.0, 5.0, 5.0]]


def test_attempts_on_other_types_count_where_the_types_were_compared(fleet: Fleet) -> None:
    seen = [Observation("b", "slow", 6.0, str(n)) for n in range(3)]
    seen += [Observation("b", "fast", 3.0, str(n)) for n in range(3)]
    seen += observations("a", "fast", 5, 5, 5) + observations("a", "slow", 90)
    estimates = estimate_runtimes(asking("a"), fleet, seen)
    assert estimates.runtime_s.tolist() == [[10.0, 5.0, 5.0]]
    assert of(estimates, "slow").measured_on == ("fast", "slow")


def test_a_type_that_left_the_catalog_counts_as_it_measured(fleet: Fleet) -> None:
    estimates = estimate_runtimes(asking("a"), fleet, observations("a", "gone", 7))
    assert estimates.runtime_s.tolist() == [[7.0, 7.0, 7.0]]
    known = estimate_runtimes(asking("a"), fleet, observations("a", "gone", 7), {"gone": 1.0})
    assert known.runtime_s.tolist() == [[14.0, 3.5, 3.5]]


def test_a_declared_runtime_stands_in_for_missing_history(fleet: Fleet) -> None:
    asked = [Expected("a", declared_s=4.0), Expected("b", declared_s=6.0)]
    estimates = estimate_runtimes(asked, fleet, observations("b", "fast", 1.0))
    assert estimates.runtime_s.tolist() == [[8.0, 2.0, 2.0], [4.0, 1.0, 1.0]]
    assert of(estimates, "slow").source is Source.DECLARED


def test_an_activity_never_seen_takes_the_prior_at_the_types_speed(fleet: Fleet) -> None:
    seen = observations("other", "slow", 100)
    estimates = estimate_runtimes(asking("a"), fleet, seen, prior_s=3.0)
    assert estimates.runtime_s.tolist() == [[6.0, 1.5, 1.5]]
    assert of(estimates, "fast") == Estimate("a", "fast", Source.PRIOR, 1.5, 0, None, ())


def test_activations_of_one_activity_are_estimated_alike_in_their_own_rows(fleet: Fleet) -> None:
    seen = observations("b", "fast", 7) + observations("b", "slow", 5)
    matrix = estimate_runtimes(asking("a", "b", "a"), fleet, seen).runtime_s
    assert matrix.tolist() == [[2.0, 0.5, 0.5], [5.0, 7.0, 7.0], [2.0, 0.5, 0.5]]


# --- an activation that ran before --------------------------------------------------------------


def test_an_activation_that_repeats_itself_is_known_by_its_own_attempts(fleet: Fleet) -> None:
    lengths = {"short": 2.0, "long": 50.0, "middle": 20.0}
    seen = [
        Observation("a", "slow", length + step / 100, key)
        for key, length in lengths.items()
        for step in range(4)
    ]
    asked = [Expected("a", key=key) for key in ("short", "long", "new")]
    estimates = estimate_runtimes(asked, fleet, seen)
    short, long, new = estimates.runtime_s[:, 0]
    assert short == pytest.approx(2, abs=0.1)
    assert long == pytest.approx(50, abs=0.1)
    assert new == pytest.approx(20, abs=0.1)
    assert of(estimates, "slow").source is Source.ACTIVATION


def test_attempts_that_differ_by_chance_alone_are_not_taken_for_the_activations_own(
    fleet: Fleet,
) -> None:
    rng = np.random.default_rng(7)
    seen = [
        Observation("a", "slow", float(runtime_s), key=str(key))
        for key in range(30)
        for runtime_s in rng.lognormal(2.0, 0.4, 3)
    ]
    asked = [Expected("a", key=str(key)) for key in range(30)]
    estimated = estimate_runtimes(asked, fleet, seen).runtime_s[:, 0]
    measured = [each.runtime_s for each in seen]
    assert np.std(estimated) < np.std(measured) / 4


# --- runtimes that follow something -------------------------------------------------------------


def test_where_runtime_grows_with_the_input_a_line_is_learned(fleet: Fleet) -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1_000_000, 9_000_000, 20)
    seen = [
        Observation("a", "slow", 2 + size / 1e6 * rng.normal(1, 0.02), input_bytes=int(size))
        for size in sizes
    ]
    asked = [Expected("a", input_bytes=2_000_000), Expected("a", input_bytes=8_000_000)]
    estimates = estimate_runtimes(asked, fleet, seen)
    assert estimates.runtime_s[:, 0] == pytest.approx([4, 10], rel=0.05)
    assert of(estimates, "slow").source is Source.SIZE


def test_no_line_is_seen_where_size_explains_nothing(fleet: Fleet) -> None:
    rng = np.random.default_rng(2)
    seen = [
        Observation(
            "a", "slow", float(rng.lognormal(1, 0.3)), input_bytes=int(rng.integers(10_000_000))
        )
        for _ in range(60)
    ]
    asked = [Expected("a", input_bytes=1), Expected("a", input_bytes=10_000_000)]
    estimates = estimate_runtimes(asked, fleet, seen)
    assert estimates.runtime_s[0, 0] == estimates.runtime_s[1, 0]
    assert of(estimates, "slow").source is Source.ACTIVITY


def test_an_input_of_a_size_never_seen_is_not_extrapolated_without_end(fleet: Fleet) -> None:
    seen = [Observation("a", "slow", size, input_bytes=size * 1000) for size in range(1, 21)]
    asked = [Expected("a", input_bytes=10**12), Expected("a", input_bytes=0)]
    large, small = estimate_runtimes(asked, fleet, seen).runtime_s[:, 0]
    assert large == pytest.approx(40)  # as for twice the largest input seen
    assert small > 0


def test_declared_runtimes_are_corrected_by_what_was_measured(fleet: Fleet) -> None:
    seen = [
        Observation("a", "slow", 3 * declared_s, declared_s=declared_s)
        for declared_s in (1.0, 1.5, 2.0, 2.5)
    ]
    asked = [Expected("a", declared_s=seconds, per_tuple=True) for seconds in (1.2, 2.2)]
    estimates = estimate_runtimes(asked, fleet, seen)
    assert estimates.runtime_s[:, 0] == pytest.approx([3.6, 6.6])
    assert of(estimates, "slow").source is Source.CORRECTED


def test_a_replay_at_another_time_scale_says_nothing_about_this_one(fleet: Fleet) -> None:
    seen = [Observation("a", "slow", 0.05, declared_s=0.01) for _ in range(9)]
    asked = [
        Expected("a", declared_s=10.0, declared_by=Source.TRACE, per_tuple=True),
        Expected("a", declared_s=12.0, declared_by=Source.TRACE, per_tuple=True),
    ]
    estimates = estimate_runtimes(asked, fleet, seen)
    assert estimates.runtime_s[:, 0].tolist() == [20.0, 24.0]
    assert of(estimates, "slow").source is Source.TRACE


# --- what must not mislead ----------------------------------------------------------------------


def test_stalled_attempts_do_not_spoil_a_median_or_a_line(fleet: Fleet) -> None:
    alike = observations("a", "slow", *[5.0] * 8, 500.0, 900.0)
    assert estimate_runtimes(asking("a"), fleet, alike).runtime_s[0, 0] == 5.0
    sloped = [Observation("a", "slow", size, input_bytes=size * 1000) for size in range(1, 31)]
    stalled = [Observation("a", "slow", 4000.0, input_bytes=size * 1000) for size in (3, 9, 21)]
    asked = [Expected("a", input_bytes=10_000)]
    estimate = estimate_runtimes(asked, fleet, sloped + stalled).runtime_s[0, 0]
    assert estimate == pytest.approx(10, rel=0.1)


@pytest.mark.parametrize("runtime_s", [math.nan, math.inf, -math.inf, -1.0])
def test_an_observation_that_is_no_duration_is_ignored(fleet: Fleet, runtime_s: float) -> None:
    alone = estimate_runtimes(asking("a"), fleet, observations("a", "slow", runtime_s))
    assert alone.runtime_s.tolist() == [[2.0, 0.5, 0.5]]
    beside = estimate_runtimes(asking("a"), fleet, observations("a", "slow", runtime_s, 4.0))
    assert beside.runtime_s.tolist() == [[4.0, 1.0, 1.0]]


@pytest.mark.parametrize("runtime_s", [0.0, 0.00002])
def test_what_took_no_time_is_taken_for_a_millisecond(fleet: Fleet, runtime_s: float) -> None:
    """Planners count in them: of work that takes none, all would go to one VM."""
    estimates = estimate_runtimes(asking("a"), fleet, observations("a", "slow", runtime_s))
    assert set(estimates.runtime_s.flat) == {0.001}


def test_spread_says_how_sure_an_estimate_is(fleet: Fleet) -> None:
    rng = np.random.default_rng(3)
    seen = observations("a", "slow", *rng.lognormal(1.0, 0.3, 200))
    spread = of(estimate_runtimes(asking("a"), fleet, seen), "slow").spread
    assert spread == pytest.approx(0.3, abs=0.06)


def test_no_activations_give_a_matrix_without_rows(fleet: Fleet) -> None:
    matrix = estimate_runtimes([], fleet, []).runtime_s
    assert matrix.shape == (0, 3)
    assert matrix.dtype == np.float64


FIGURES = st.none() | st.floats(0.001, 1e6)


@given(
    asked=st.lists(
        st.builds(
            Expected,
            st.sampled_from("abc"),
            key=st.sampled_from(["", "k1", "k2"]),
            declared_s=FIGURES,
            per_tuple=st.booleans(),
            input_bytes=st.none() | st.integers(0, 10**12),
        ),
        max_size=6,
    ),
    seen=st.lists(
        st.builds(
            Observation,
            st.sampled_from("abd"),
            st.sampled_from(["slow", "fast", "gone"]),
            st.floats(-10, 1e6) | st.sampled_from([math.nan, math.inf]),
            st.sampled_from(["", "k1", "k2"]),
            FIGURES,
            st.none() | st.integers(0, 10**12),
        ),
        max_size=14,
    ),
)
@settings(max_examples=100, deadline=None)
def test_every_estimate_is_a_duration_and_equal_types_get_equal_ones(
    asked: list[Expected], seen: list[Observation]
) -> None:
    fleet = parse_fleet("1xslow,2xfast", CATALOG)
    estimates = estimate_runtimes(asked, fleet, iter(seen))
    matrix = estimates.runtime_s
    assert matrix.shape == (len(asked), 3)
    assert np.isfinite(matrix).all()
    assert (matrix >= 0).all()
    assert (matrix[:, 1] == matrix[:, 2]).all()
    assert len(estimates.by_activity) == 2 * len({each.activity for each in asked})
