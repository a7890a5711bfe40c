"""Peak memory as a function of input size, fitted so that a few wrong measurements do not matter.

Three laws are tried: a constant, a line, a power. The one with the least spread of the ratios
between what was measured and what it says is kept; a constant needs least of an excuse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

WORTH = 0.8  # a law must leave at most so much of the constant's spread
DISTINCT = 3  # input sizes that a law needs
LEAST_SPREAD = 0.01  # no two measurements of memory agree better
LONELY = math.log(3.0)  # so far above all others, a single measurement is not believed
POINTS = 15  # that stand for what one measurement says about the next


class Law(StrEnum):
    CONSTANT = "constant"
    LINE = "line"  # offset + slope · bytes
    POWER = "power"  # exp(offset) · bytes ** slope


@dataclass(frozen=True, slots=True)
class Fit:
    law: Law
    offset: float
    slope: float
    ratios: np.ndarray  # measured / said, in logarithms
    lowest_mb: float  # measured
    most_bytes: int  # the largest input that was seen; 0 = none is known
    least_bytes: int

    def peak_mb(self, input_bytes: int | None) -> float:
        """The typical peak for that input. Nothing runs in less than half of the least seen."""
        if self.law is Law.CONSTANT:
            return self.offset
        size = max(1, self.most_bytes if input_bytes is None else input_bytes)
        if self.law is Law.LINE:
            said = self.offset + self.slope * size
        else:
            said = math.exp(min(self.offset + self.slope * math.log(size), 60.0))
        return max(said, self.lowest_mb / 2)

    @property
    def spread(self) -> float:
        return _spread(self.ratios)

    def possible(self) -> np.ndarray:
        """Ratios that the next one may have, equally likely, sorted: every measured one blurred by
        a logistic kernel, which has heavier tails than a normal one; the wider the fewer there
        are, but no wider than to the neighbours, so that two kinds of peaks stay two."""
        count = len(self.ratios)
        width = 1.06 * self.spread * count**-0.2
        near = np.sort(np.abs(self.ratios[:, None] - self.ratios[None, :]), axis=1)
        neighbour = near[:, min(count - 1, max(2, count // 10))]
        widths = np.maximum(LEAST_SPREAD, np.minimum(width, neighbour))
        chances = (np.arange(POINTS) + 0.5) / POINTS
        kernel = np.log(chances / (1 - chances)) * math.sqrt(3) / math.pi
        return np.sort((self.ratios[:, None] + widths[:, None] * kernel[None, :]).ravel())


def fit(peaks_mb: Sequence[float], input_bytes: Sequence[int | None]) -> Fit:
    """Of at least one measurement."""
    peaks = np.asarray(peaks_mb, dtype=float)
    sizes = [size for size in input_bytes if size]
    known = len(sizes) == len(peaks_mb)
    span = (max(sizes, default=0), min(sizes, default=0))
    level = float(np.median(peaks))
    best = _judged(Law.CONSTANT, level, 0.0, peaks, np.full_like(peaks, level), span)
    if not known or len(set(sizes)) < DISTINCT:
        return best
    limit = WORTH * best.spread
    at = np.asarray(sizes, dtype=float)
    for law, x, y in ((Law.LINE, at, peaks), (Law.POWER, np.log(at), np.log(peaks))):
        slope, offset = _theil_sen(x, y)
        if slope <= 0:
            continue
        said = offset + slope * x if law is Law.LINE else np.exp(offset + slope * x)
        found = _judged(law, offset, slope, peaks, np.maximum(said, peaks.min() / 2), span)
        if found.spread < limit:
            best, limit = found, found.spread
    return best


def _judged(
    law: Law,
    offset: float,
    slope: float,
    peaks: np.ndarray,
    said: np.ndarray,
    span: tuple[int, int],
) -> Fit:
    return Fit(law, offset, slope, _believed(np.log(peaks / said)), float(peaks.min()), *span)


def _believed(ratios: np.ndarray) -> np.ndarray:
    """All but one that is far above all others: what happened once may be a wrong measurement,
    and if it was none, a retry will do."""
    if len(ratios) < 2:
        return ratios
    second, highest = np.partition(ratios, -2)[-2:]
    return np.delete(ratios, np.argmax(ratios)) if highest - second > LONELY else ratios


def _spread(ratios: np.ndarray) -> float:
    """A standard deviation that a few wrong ones do not reach, unless most agree exactly."""
    if len(ratios) < 2:
        return LEAST_SPREAD
    low, high = np.quantile(ratios, (0.1, 0.9))
    return max(LEAST_SPREAD, float(high - low) / 2.563)  # the normal distribution's


def _theil_sen(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The median of the slopes between any two, and the median offset."""
    one, other = np.triu_indices(len(x), 1)
    apart = x[other] != x[one]
    slopes = (y[other] - y[one])[apart] / (x[other] - x[one])[apart]
    slope = float(np.median(slopes))
    return slope, float(np.median(y - slope * x))
