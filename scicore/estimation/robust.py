"""Statistics that a few wild values cannot spoil."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

_SIGMA_PER_MAD = 1.4826  # of a normal distribution
_PAIRED = 200  # points that a line is drawn through at most: all pairs of them are looked at


def spread(values: Values) -> float:
    """The standard deviation as the median absolute deviation tells it."""
    if not len(values):
        return 0.0
    return float(_SIGMA_PER_MAD * np.median(np.abs(values - np.median(values))))


def spread_within(groups: list[Values]) -> float | None:
    """How far values of one group lie apart, over all groups; None if none has two values."""
    steps = [np.diff(group) for group in groups if len(group) > 1]
    if not steps:
        return None
    # the difference of two values has twice the variance of one
    return float(_SIGMA_PER_MAD * np.median(np.abs(np.concatenate(steps))) / np.sqrt(2))


@dataclass(frozen=True, slots=True)
class Line:
    """y over x. It is not trusted far outside of where it was seen."""

    intercept: float
    slope: float
    low_x: float
    high_x: float
    agreement: float  # of all pairs, how many more rise than fall: Kendall's tau

    def at(self, x: Values) -> Values:
        within = np.clip(x, self.low_x / 2, self.high_x * 2)
        return np.asarray(self.intercept + self.slope * within, dtype=np.float64)


def line_through(x: Values, y: Values) -> Line | None:
    """Theil-Sen: the median of the slopes between all pairs of points.

    Up to 29% of the points may be anything. None where x does not vary.
    """
    if len(x) > _PAIRED:
        kept = np.linspace(0, len(x) - 1, _PAIRED).astype(np.intp)
        x, y = x[kept], y[kept]
    one, other = np.triu_indices(len(x), 1)
    run, rise = x[other] - x[one], y[other] - y[one]
    apart = run != 0
    if not apart.any():
        return None
    slopes = rise[apart] / run[apart]
    slope = float(np.median(slopes))
    agreement = float(np.sign(slopes).sum() / len(slopes))
    intercept = float(np.median(y - slope * x))
    return Line(intercept, slope, float(x.min()), float(x.max()), agreement)
