"""The attempts of earlier runs, by activity and VM type, and how VM types compare by them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from statistics import median

from scicore.model.activation import Observation

COMPARABLE = 3  # attempts on each of two VM types, before their speeds are compared by them

ByType = Mapping[str, list[Observation]]


@dataclass(frozen=True, slots=True)
class History:
    attempts: Mapping[str, ByType]  # by activity
    speeds: Mapping[str, float]  # declared, by VM type
    measured: Mapping[tuple[str, str], float]
    """(VM type, other type) → how many times as long activations take on the first."""

    @classmethod
    def of(cls, observations: Iterable[Observation], speeds: Mapping[str, float]) -> History:
        """What is no duration (negative, infinite, not a number) was not measured right."""
        attempts: defaultdict[str, defaultdict[str, list[Observation]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for seen in observations:
            if math.isfinite(seen.runtime_s) and seen.runtime_s >= 0:
                attempts[seen.activity][seen.vm_type].append(seen)
        return cls(attempts, speeds, _compared(attempts.values()))

    def on(self, activity: str, vm_type: str) -> list[Observation]:
        """The activity's attempts, as if they all had been on this VM type.

        Those on other types count where measurements say how the types compare; without any on
        this type, also where only their declared speeds do. A type that has left the catalog took
        its speed with it: then it counts as it measured.
        """
        by_type = self.attempts.get(activity, {})
        found = list(by_type.get(vm_type, ()))
        alone = not found
        for other, attempts in by_type.items():
            if other == vm_type:
                continue
            slowness = self.measured.get((vm_type, other))
            if slowness is None and alone:
                slowness = self._declared(vm_type, other)
            if slowness is not None:
                found += (replace(seen, runtime_s=seen.runtime_s * slowness) for seen in attempts)
        return found

    def _declared(self, vm_type: str, other: str) -> float:
        here, there = self.speeds.get(vm_type), self.speeds.get(other)
        return there / here if here and there else 1.0


def _compared(activities: Iterable[ByType]) -> dict[tuple[str, str], float]:
    """By what ran on both types; the median, because one may be odd.

    Activations that ran on both are compared with themselves. Where there are too few of them,
    activities are, although each type may have had the longer ones of their activations.
    """
    by_activity: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    by_key: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for by_type in activities:
        medians = {
            name: median(seen.runtime_s for seen in attempts)
            for name, attempts in by_type.items()
            if len(attempts) >= COMPARABLE
        }
        _compare(medians, by_activity)
        keys: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for name, attempts in by_type.items():
            for seen in attempts:
                if seen.key:
                    keys[seen.key][name].append(seen.runtime_s)
        for own in keys.values():
            _compare({name: median(runtimes) for name, runtimes in own.items()}, by_key)
    told = {pair: found for pair, found in by_key.items() if len(found) >= COMPARABLE}
    return {pair: median(found) for pair, found in {**by_activity, **told}.items()}


def _compare(
    medians_s: Mapping[str, float], ratios: defaultdict[tuple[str, str], list[float]]
) -> None:
    for (name, here_s), (other, there_s) in permutations(medians_s.items(), 2):
        if there_s > 0:
            ratios[name, other].append(here_s / there_s)
