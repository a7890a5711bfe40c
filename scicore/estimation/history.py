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
    declared_s: Sequence[float | None] = (),
    prior_s: float = 1.0,
) -> NDArray[np.float64]:
    """The [activation, VM] matrix of expected runtimes; `activities` has one tag per activation.

    The best knowledge there is, in this order:

    1. the median of what the activity took on this VM type,
    2. the median of what it took on any type. It is not scaled by speed: a type that ran it may
       have left the fleet, and with it its speed; the first run on the new type corrects this,
    3. what was declared for the activation, in seconds at speed 1.0, divided by the type's speed,
    4. `prior_s` in place of it.

    Where declarations differ within an activity, as in a trace, they know more than a median of
    the whole activity: then they come first.

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
    told = _telling(activities, declared_s, history)
    if told:
        speeds = np.array([vm.type.speed for vm in fleet.vms])
        seconds = np.array([declared_s[index] for index in told], dtype=np.float64)
        estimates[told] = seconds[:, None] / speeds[None, :]
    return estimates


def _telling(
    activities: Sequence[str], declared_s: Sequence[float | None], history: _History
) -> list[int]:
    """The activations whose declared runtime is better than what history says."""
    different: defaultdict[str, set[float]] = defaultdict(set)
    for tag, seconds in zip(activities, declared_s, strict=False):
        if seconds is not None:
            different[tag].add(seconds)
    return [
        index
        for index, (tag, seconds) in enumerate(zip(activities, declared_s, strict=False))
        if seconds is not None and (len(different[tag]) > 1 or tag not in history.by_activity_s)
    ]


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
