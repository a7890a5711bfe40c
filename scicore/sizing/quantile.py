"""Quantile, the default: the memory that costs least, counting what is wasted and what is killed.

Paper: ours. Of the kind of Witt et al. (feedback-based allocation, low wastage regression),
    Ponder, Sizey and k-Segments, which predict peaks from input sizes and add an offset.
Idea: the peaks of finished attempts follow a law of the input's size (see peaks.py), with ratios
    around it. For every candidate, what would have been wasted over these ratios is added to what
    retries would have cost; the cheapest candidate is a quantile of the ratios, chosen by price
    instead of by taste. CPUs are taken away only where the program would hardly notice.
Symbols: ρ ratio of the allocation to the typical peak; s and p the sequential and the parallel
    CPU seconds of Amdahl's law.
Differences: from the others of its kind: no history, history that cannot be true, or inputs far
    larger than any seen mean that the declared request stands. A killed attempt costs `price` times
    what it held, because it also costs time. Measurements of killed attempts are left out: their
    retries tell the truth.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from scicore.model.parameters import Parameters, setting
from scicore.model.sizing import Allocation, Experience, Need, Sized
from scicore.sizing.base import MORE, Sizer, is_sane
from scicore.sizing.peaks import Fit, Law, fit

SMALLEST_MB = 0.2  # no program runs in less: a unit is wrong
STRANGE = 100.0  # times more or less than the others: a unit is wrong
FAR = 1.5  # times the largest input seen: the law is stretched
TOO_FAR = 4.0


@dataclass(frozen=True, slots=True)
class QuantileParameters(Parameters):
    least: int = setting(5, "attempts before anything is changed", 2, 1000)
    latest: int = setting(200, "attempts that are looked at", 2, 10_000)
    price: float = setting(4.0, "a killed attempt costs so many times what it held", 0, 1000)
    killed: float = setting(0.005, "share of attempts that may be killed, at most", 0, 1)
    margin: float = setting(0.02, "share that is added to be safe", 0, 10)
    least_mb: int = setting(8, "no allocation is smaller", 1, 1_000_000)
    slowdown: float = setting(0.05, "share by which fewer CPUs may make it slower", 0, 10)
    poisoned: float = setting(0.2, "share of impossible attempts that discredits the rest", 0, 1)


class Quantile(Sizer):
    name = "quantile"
    kind = QuantileParameters

    def __init__(self, parameters: QuantileParameters, rng: np.random.Generator) -> None:
        super().__init__(parameters, rng)
        self._parameters = parameters
        self._seen: deque[Experience] = deque(maxlen=parameters.latest)
        self._dropped: deque[bool] = deque(maxlen=parameters.latest)  # of all: was it impossible?
        self._law: Fit | None = None
        self._ratio, self._killed = 1.0, 0.0  # ρ, and the share that will need a retry
        self._stale = 0  # attempts since the law was fitted

    def learn(self, seen: Experience) -> None:
        """Also how many cannot be true: many of them discredit the rest."""
        self._dropped.append(not seen.killed and not _possible(seen))
        super().learn(seen)

    def take(self, seen: Experience) -> None:
        if not seen.killed and _possible(seen):
            self._seen.append(seen)
            self._stale += 1

    # --- deciding ------------------------------------------------------------------------------

    def first(self, need: Need) -> Sized:
        sane = self._sane(need)
        if len(sane) < self._parameters.least:
            why = f"{len(sane)} attempts are known, {self._parameters.least} are needed"
            return Sized(need.request, f"as declared: {why}")
        strange = len(self._seen) - len(sane) + sum(self._dropped)
        if strange > self._parameters.poisoned * (len(sane) + strange):
            why = f"{strange} of {len(sane) + strange} measurements cannot be true"
            return Sized(need.request, f"as declared: {why}")
        cpus, why_cpus = self._cpus(sane, need.request.cpus)
        memory_mb, why = self._memory(sane, need)
        return Sized(Allocation(cpus, memory_mb), f"{why}; {why_cpus}")

    def again(self, need: Need, failed: Allocation) -> Sized:
        """What covers all that was ever seen of its kind, else twice as much."""
        likely_mb = 0.0
        if self._law is not None:
            typical_mb = self._law.peak_mb(need.input_bytes)
            likely_mb = typical_mb * math.exp(self._law.possible()[-1])
        memory_mb = max(MORE * failed.memory_mb, math.ceil(likely_mb))
        if failed.memory_mb < need.request.memory_mb < memory_mb:
            memory_mb = need.request.memory_mb
        why = f"{failed.memory_mb} MB were not enough: {memory_mb} MB"
        return Sized(Allocation(failed.cpus, memory_mb), why)

    def _sane(self, need: Need) -> list[Experience]:
        """Those that the largest VM could have held, and that are not of another world than the
        rest: a factor of 1,024 is a wrong unit, not a program."""
        most_mb = need.ceiling.memory_mb or math.inf
        held = [each for each in self._seen if each.peak_mb <= most_mb]
        if not held:
            return []
        level = float(np.median([each.peak_mb for each in held]))
        if need.request.memory_mb and level > STRANGE * need.request.memory_mb:
            return []
        return [each for each in held if level / STRANGE < each.peak_mb < level * STRANGE]

    def _memory(self, sane: list[Experience], need: Need) -> tuple[int, str]:
        law = self._fitted(sane)
        typical_mb, ratio = law.peak_mb(need.input_bytes), self._ratio
        peaks = [each.peak_mb for each in sane]
        told = f"{len(sane)} attempts peaked at {min(peaks):.1f} to {max(peaks):.1f} MB"
        if law.law is not Law.CONSTANT and need.input_bytes is not None:
            told += (
                f", {typical_mb:.1f} MB being typical for its {need.input_bytes:,} bytes of input"
            )
        beyond = (need.input_bytes or 0) / law.most_bytes if law.most_bytes else 1.0
        guess = law.law is Law.CONSTANT or beyond > TOO_FAR
        if beyond > FAR and guess and need.request.memory_mb > typical_mb * ratio:
            return (
                need.request.memory_mb,
                f"as declared: its input is {beyond:.1f} times the largest seen",
            )
        ratio *= max(1.0, beyond) ** 0.25  # a law says less where nobody has been
        memory_mb = max(self._parameters.least_mb, math.ceil(typical_mb * ratio) + 1)
        return memory_mb, f"{told}: {memory_mb} MB cost least, {self._killed:.1%} may need more"

    def _fitted(self, sane: list[Experience]) -> Fit:
        """Again when there is a twentieth more to learn from."""
        if self._law is None or self._stale * 20 >= len(sane):
            self._law = fit([each.peak_mb for each in sane], [each.input_bytes for each in sane])
            self._ratio, self._killed = self._cheapest(self._law)
            self._stale = 0
        return self._law

    def _cheapest(self, law: Fit) -> tuple[float, float]:
        """ρ, and the share of attempts that it would not be enough for."""
        ratios = np.exp(law.possible())
        count = len(ratios)
        below = np.arange(1, count + 1)
        used = np.cumsum(ratios)
        wasted = below * ratios - used  # by those that fit
        short = count - below
        again = np.maximum(MORE * ratios, ratios[-1])  # what a retry gets
        killed = short * (self._parameters.price * ratios + again) - (used[-1] - used)
        rare = short <= self._parameters.killed * count
        best = int(np.argmin(np.where(rare, wasted + killed, np.inf)))
        return float(ratios[best]) * (1 + self._parameters.margin), float(short[best]) / count

    def _cpus(self, sane: list[Experience], asked: int) -> tuple[int, str]:
        """Fewer than asked for, if the program takes hardly longer by Amdahl's law."""
        full = [each for each in sane if each.allocation.cpus >= asked]
        if asked == 1 or len(full) < self._parameters.least:
            return asked, "CPUs as declared"
        wall = float(np.median([each.runtime_s for each in full]))
        cpu = float(np.quantile([each.cpu_s for each in full], 0.75))
        parallel = max(0.0, (cpu - wall) * asked / (asked - 1))  # p
        rest = wall - parallel / asked  # s, and waiting
        if rest < 0:
            return asked, "CPUs as declared: all are used"
        for cpus in range(1, asked):
            if rest + parallel / cpus <= (1 + self._parameters.slowdown) * wall:
                return cpus, f"{cpu / wall:.2f} of {asked} CPUs were used, {cpus} will do"
        return asked, "CPUs as declared: fewer would be slower"


def _possible(seen: Experience) -> bool:
    return is_sane(seen) and seen.peak_mb >= SMALLEST_MB
