"""Slow periods, and how long work takes in them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scicore.model.cloud import Fleet, Vm, VmType
from scicore.simulator.models import Slowdown, Uncertainty, draw, finish_ms

FLEET = Fleet(tuple(Vm(f"vm-{n}", VmType("t", 1, 0, 1.0, 0.1)) for n in range(400)), "400xt")


def test_work_outside_of_slow_periods_takes_its_time() -> None:
    assert finish_ms(100, 50, (), 3.0) == 150
    assert finish_ms(100, 50, ((0, 100), (150, 200)), 3.0) == 150


def test_work_inside_a_slow_period_takes_longer() -> None:
    assert finish_ms(100, 50, ((0, 1000),), 3.0) == 250


def test_work_across_a_slow_period_is_slow_only_there() -> None:
    # 10 ms before it, 30 ms of work in its 90 ms, 10 ms after it
    assert finish_ms(0, 50, ((10, 100),), 3.0) == 110


@given(
    st.integers(0, 500),
    st.integers(0, 500),
    st.lists(st.integers(1, 60), max_size=8),
    st.floats(1, 5),
)
def test_slow_periods_only_delay_and_never_more_than_their_factor(
    start: int, length: int, steps: list[int], factor: float
) -> None:
    edges = np.cumsum(steps)[: len(steps) // 2 * 2].tolist()
    slow = tuple(zip(edges[::2], edges[1::2], strict=True))
    finish = finish_ms(start, length, slow, factor)
    assert start + length - 1 <= finish <= start + length * factor + 1


@pytest.mark.parametrize("period_s", [1.0, float("inf")])
def test_the_share_of_slow_vms_is_as_asked_at_any_time(period_s: float) -> None:
    uncertainty = Uncertainty(slowdown=Slowdown(0.25, 2.0, period_s))
    fate = draw(uncertainty, 0, FLEET, 10_000, np.random.default_rng(1))
    for moment_ms in (0, 3_000, 9_000):
        slow = sum(any(a <= moment_ms < b for a, b in periods) for periods in fate.slow)
        assert slow / len(FLEET.vms) == pytest.approx(0.25, abs=0.08)


def test_vms_are_lost_within_the_makespan_as_often_as_asked() -> None:
    fate = draw(Uncertainty(vm_loss=0.3), 0, FLEET, 10_000, np.random.default_rng(2))
    lost = sum(ms is not None and ms < 10_000 for ms in fate.lost_ms)
    assert lost / len(FLEET.vms) == pytest.approx(0.3, abs=0.08)


def test_noise_does_not_depend_on_what_else_may_happen() -> None:
    plain, full = (
        draw(uncertainty, 5, FLEET, 1000, np.random.default_rng(3)).noise.tolist()
        for uncertainty in (
            Uncertainty(0.3),
            Uncertainty(0.3, Slowdown(0.5, 2.0), failures=0.1, vm_loss=0.1),
        )
    )
    assert plain == full
