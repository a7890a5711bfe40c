"""Runtime estimates from the attempts of earlier runs. Pure: the caller reads the provenance."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from scicore.model.activation import Observation
from scicore.model.cloud import Fleet, VmType


def estimate_runtimes(
    activities: Sequence[str],
    fleet: Fleet,
    observations: Iterable[Observation],
    prior_s: float = 1.0,
) -> NDArray[np.float64]:
    """The [activation, VM] matrix of expected runtimes; `activities` has one tag per activation.

    The best knowledge there is, in this order:

    1. the median of what the activity took on this VM type,
    2. the median of what it took on any type. It is not scaled by speed: a type that ran it may
       have left the fleet, and with it its speed; the first run on the new type corrects this,
    3. `prior_s`, a guess in seconds at speed 1.0, divided by the type's speed.

    A median, because one attempt on a stalled VM must not spoil the estimate. Observations that
    are no duration (negative, infinite, not a number) are ignored.
    """
    history = _History.of(observations)
    tags = {tag: row for row, tag in enumerate(dict.fromkeys(activities))}
    table = np.array(
        [[history.estimate_s(tag, vm.type, prior_s) for vm in fleet.vms] for tag in tags],
        dtype=np.float64,
    ).reshape(len(tags), len(fleet.vms))
    rows = np.array([tags[tag] for tag in activities], dtype=np.intp)
    estimates: NDArray[np.float64] = table[rows]
    return estimates


@dataclass(frozen=True, slots=True)
class _History:
    by_type_s: Mapping[tuple[str, str], float]  # (activity, VM type) → median
    by_activity_s: Mapping[str, float]  # activity → median over all types

    @classmethod
    def of(cls, observations: Iterable[Observation]) -> _History:
        by_type: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        by_activity: defaultdict[str, list[float]] = defaultdict(list)
        for seen in observations:
            if math.isfinite(seen.runtime_s) and seen.runtime_s >= 0:
                by_type[seen.activity, seen.vm_type].append(seen.runtime_s)
                by_activity[seen.activity].append(seen.runtime_s)
        return cls(
            {key: median(runtimes) for key, runtimes in by_type.items()},
            {key: median(runtimes) for key, runtimes in by_activity.items()},
        )

    def estimate_s(self, activity: str, vm_type: VmType, prior_s: float) -> float:
        if (activity, vm_type.name) in self.by_type_s:
            return self.by_type_s[activity, vm_type.name]
        if activity in self.by_activity_s:
            return self.by_activity_s[activity]
        return prior_s / vm_type.speed
