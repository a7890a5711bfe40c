"""What may differ from the plan: noise, slow periods, failures, lost VMs. All of it seeded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from scicore.errors import UsageError
from scicore.model.cloud import Fleet

Factors = NDArray[np.float64]
Interval = tuple[int, int]  # milliseconds: from, to


@dataclass(frozen=True, slots=True)
class Slowdown:
    """VMs that are slow for a while, or all the time."""

    share: float  # of VMs that are slow at any time
    factor: float  # how many times longer everything takes then
    period_s: float = math.inf  # how long it lasts; infinite: a slow VM is slow to the end

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise UsageError(f"slowdown: found a share of {self.share:g}, expected 0 to 1")
        if not 1 <= self.factor < math.inf:
            raise UsageError(f"slowdown: found a factor of {self.factor:g}, expected 1 or more")
        if not self.period_s > 0:
            raise UsageError(f"slowdown: found {self.period_s:g} s, expected more than 0 s")


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """By default everything happens as estimated."""

    noise: float = 0.0  # sigma of the log-normal factor on each attempt's runtime; its mean is 1
    slowdown: Slowdown | None = None
    failures: float = 0.0  # probability that an attempt fails
    vm_loss: float = 0.0  # probability that a VM is lost within the predicted makespan
    spreads: tuple[float, ...] = ()  # instead of `noise`, sigma of each activation; the median is 1

    def __post_init__(self) -> None:
        if not 0 <= self.noise <= 5:
            raise UsageError(f"noise: found {self.noise:g}, expected a sigma from 0 to 5")
        if not 0 <= self.failures < 1:
            raise UsageError(f"failures: found {self.failures:g}, expected 0 to less than 1")
        if not all(0 <= each <= 5 for each in self.spreads):
            raise UsageError("spreads: expected sigmas from 0 to 5")
        if not 0 <= self.vm_loss <= 1:
            raise UsageError(f"VM loss: found {self.vm_loss:g}, expected 0 to 1")

    @property
    def certain(self) -> bool:
        return self == Uncertainty()

    @property
    def plain(self) -> bool:
        """No failures, no losses, no changes during a run: factors on runtimes say it all."""
        steady = self.slowdown is None or math.isinf(self.slowdown.period_s)
        return steady and self.failures == 0 and self.vm_loss == 0


@dataclass(frozen=True, slots=True)
class Fate:
    """What chance has in store for one run, as far as it does not depend on what happens in it."""

    noise: Factors  # of each activation's first attempt
    slow: tuple[tuple[Interval, ...], ...]  # periods of each VM, ascending
    factor: float  # in these periods
    lost_ms: tuple[int | None, ...]  # when each VM is lost


def draw(
    uncertainty: Uncertainty, activations: int, fleet: Fleet, horizon_ms: int, rng: Generator
) -> Fate:
    """The noise of first attempts comes first: it is the same whatever else may happen."""
    noise = noise_factors(uncertainty.noise, activations, rng)
    if uncertainty.spreads:
        noise = np.exp(rng.normal(0.0, uncertainty.spreads))
    slowdown = uncertainty.slowdown or Slowdown(0.0, 1.0)
    return Fate(
        noise=noise,
        slow=tuple(_slow_periods(slowdown, horizon_ms, rng) for _ in fleet.vms),
        factor=slowdown.factor,
        lost_ms=tuple(_loss_ms(uncertainty.vm_loss, horizon_ms, rng) for _ in fleet.vms),
    )


def noise_factors(sigma: float, count: int, rng: Generator) -> Factors:
    if sigma == 0:
        return np.ones(count)
    return rng.lognormal(-sigma * sigma / 2, sigma, count)


def _slow_periods(slowdown: Slowdown, horizon_ms: int, rng: Generator) -> tuple[Interval, ...]:
    """Periods of a fixed length, the times between them exponential, so that the share holds."""
    if slowdown.share == 0 or slowdown.factor == 1:
        return ()
    if math.isinf(slowdown.period_s):
        return ((0, _FOR_EVER),) if rng.random() < slowdown.share else ()
    length = max(1, round(slowdown.period_s * 1000))
    if slowdown.share == 1:
        return ((0, _FOR_EVER),)
    mean_gap = length * (1 - slowdown.share) / slowdown.share
    periods: list[Interval] = []
    # At time 0 a VM is in the middle of a period as often as at any other time.
    in_one = rng.random() < slowdown.share
    begin = -int(rng.random() * length) if in_one else int(rng.exponential(mean_gap))
    while begin < _PATIENCE * horizon_ms and len(periods) < _MOST_PERIODS:
        periods.append((max(0, begin), begin + length))
        begin += length + int(rng.exponential(mean_gap))
    return tuple(periods)


_FOR_EVER = 1 << 60
_PATIENCE = 20  # so many times the predicted makespan are foreseen
_MOST_PERIODS = 10_000


def _loss_ms(probability: float, horizon_ms: int, rng: Generator) -> int | None:
    """Lost at a constant rate: within the horizon with the probability given."""
    if probability == 0 or horizon_ms == 0:
        return None
    if probability == 1:
        return int(rng.random() * horizon_ms)
    return int(rng.exponential(horizon_ms / -math.log1p(-probability)))


def finish_ms(start: int, length: int, slow: Sequence[Interval], factor: float) -> int:
    """When work of this length is done that slows down in the given periods."""
    now, left = start, float(length)
    for begin, end in slow:
        if end <= now:
            continue
        if begin > now:
            if now + left <= begin:
                break
            left -= begin - now
            now = begin
        if left * factor <= end - now:
            return now + round(left * factor)
        left -= (end - now) / factor
        now = end
    return now + round(left)
