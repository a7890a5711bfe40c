"""LR mean, a published baseline: a straight line through peaks over input sizes, plus a deviation.

Paper: Witt et al., feedback-based resource allocation for batch scheduling of scientific workflows
    (2019), as the thesis describes it. After a death the memory is doubled.
Differences: with fewer than five attempts the request stands, as for our own sizer; without at
    least two input sizes the line is flat. CPUs are left as they are declared.
"""

from __future__ import annotations

import math

import numpy as np

from scicore.model.sizing import Allocation, Experience, Need, Sized
from scicore.sizing.base import MORE, Sizer

LEAST = 5


class LrMean(Sizer):
    name = "lr-mean"

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(self.kind(), rng)
        self._sizes: list[float] = []
        self._peaks: list[float] = []

    def first(self, need: Need) -> Sized:
        if len(self._peaks) < LEAST:
            return Sized(need.request, "too few attempts")
        sizes, peaks = np.array(self._sizes), np.array(self._peaks)
        slope, offset = 0.0, float(peaks.mean())
        if len(set(self._sizes)) > 1:
            slope, offset = np.polyfit(sizes, peaks, 1)
        deviation = float(np.std(peaks - (offset + slope * sizes)))
        said = offset + slope * float(need.input_bytes or 0) + deviation
        return Sized(Allocation(need.request.cpus, max(1, math.ceil(said))), "line + deviation")

    def again(self, need: Need, failed: Allocation) -> Sized:
        return Sized(Allocation(failed.cpus, MORE * failed.memory_mb), "twice as much")

    def take(self, seen: Experience) -> None:
        if not seen.killed:
            self._sizes.append(float(seen.input_bytes or 0))
            self._peaks.append(seen.peak_mb)
