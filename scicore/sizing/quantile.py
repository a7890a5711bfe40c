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
VIEWS = 64  # kept, where tuples ask for different things


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


@dataclass(frozen=True, slots=True)
class _View:
    """What history says about activations that ask for the same."""

    told: str
    law: Fit | None = None  # None: the request stands
    ratio: float = 1.0  # ρ
    killed: float = 0.0  # share that will need a retry
    cpus: int = 1
    why_cpus: str = ""


class Quantile(Sizer):
    name = "quantile"
    kind = QuantileParameters

    def __init__(self, parameters: QuantileParameters, rng: np.random.Generator) -> None:
        super().__init__(parameters, rng)
        self._parameters = parameters
        self._seen: deque[Experience] = deque(maxlen=parameters.latest)
        self._dropped: deque[bool] = deque(maxlen=parameters.latest)  # of all: was it impossible?
        self._views: dict[tuple[Allocation, Allocation], _View] = {}  # by request and ceiling
        self._stale = 0  # attempts since these were looked at

    def learn(self, seen: Experience) -> None:
        """Also how many cannot be true: many of them discredit the rest."""
        self._dropped.append(not seen.killed and not _possible(seen))
        self._stale += not seen.killed
        super().learn(seen)

    def take(self, seen: Experience) -> None:
        if not seen.killed and _possible(seen):
            self._seen.append(seen)

    # --- deciding ------------------------------------------------------------------------------

    def first(self, need: Need) -> Sized:
        view = self._view(need)
        if view.law is None:
            return Sized(need.request, f"as declared: {view.told}")
        memory_mb, why = self._memory(view, view.law, need)
        return Sized(Allocation(view.cpus, memory_mb), f"{why}; {view.why_cpus}")

    def _view(self, need: Need) -> _View:
        """Looked at again when there is a twentieth more to learn from."""
        if self._stale * 20 > len(self._seen):
            self._views.clear()
            self._stale = 0
        key = (need.request, need.ceiling)
        if key not in self._views:
            if len(self._views) >= VIEWS:
                self._views.clear()
            self._views[key] = self._looked(need)
        return self._views[key]

    def _looked(self, need: Need) -> _View:
        parameters = self._parameters
        sane = self._sane(need)
        if len(sane) < parameters.least:
            return _View(f"{len(sane)} attempts are known, {parameters.least} are needed")
        strange = len(self._seen) - len(sane) + sum(self._dropped)
        if strange > parameters.poisoned * (len(sane) + strange):
            return _View(f"{strange} of {len(sane) + strange} measurements cannot be true")
        peaks_mb = [each.peak_mb for each in sane]
        law = fit(peaks_mb, [each.input_bytes for each in sane])
        told = f"{len(sane)} attempts peaked at {min(peaks_mb):.1f} to {max(peaks_mb):.1f} MB"
        return _View(told, law, *self._cheapest(law), *self._cpus(sane, need.request.cpus))

    def again(self, need: Need, failed: Allocation) -> Sized:
        """What covers all that was ever seen of its kind, else twice as much."""
        likely_mb, law = 0.0, self._view(need).law
        if law is not None:
            likely_mb = law.peak_mb(need.input_bytes) * math.exp(law.possible()[-1])
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

    def _memory(self, view: _View, law: Fit, need: Need) -> tuple[int, str]:
        typical_mb, ratio, told = law.peak_mb(need.input_bytes), view.ratio, view.told
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
        return memory_mb, f"{told}: {memory_mb} MB cost least, {view.killed:.1%} may need more"

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
