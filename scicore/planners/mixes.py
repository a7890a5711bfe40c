"""Which VMs to rent: numbers of each type, compared by what HEFT makes of them.

Pure: the problem that is handed in has one VM of each type that may be rented.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from scicore.errors import UsageError
from scicore.kernel.instance import NEVER, Instance
from scicore.model.cloud import VmType
from scicore.model.front import Point, non_dominated
from scicore.model.problem import Problem
from scicore.planners.base import validated
from scicore.planners.subfleets import by_heft, fleet_of

MOST_TRIED = 500  # mixes that HEFT is asked about
STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)  # VMs of one type alone

NOWHERE: Point = (float("inf"), float("inf"))  # something fits no VM of the mix


@dataclass(frozen=True, slots=True)
class Room:
    """How many VMs may be rented, and how many slots they may have together."""

    vms: int
    slots: int  # what the account's quota of vCPUs leaves

    def holds(self, types: list[VmType], counts: tuple[int, ...]) -> bool:
        slots = sum(count * kind.slots for kind, count in zip(types, counts, strict=True))
        return 0 < sum(counts) <= self.vms and slots <= self.slots


class Mix(NamedTuple):
    counts: tuple[int, ...]  # of each VM of the problem that was handed in
    point: Point  # of HEFT's plan


def mixed(problem: Problem, counts: tuple[int, ...]) -> Problem:
    """The problem on so many VMs of each type."""
    columns = [place for place, count in enumerate(counts) for _ in range(count)]
    return replace(
        problem,
        fleet=fleet_of([problem.fleet.vms[place].type for place in columns]),
        runtime_s=np.ascontiguousarray(problem.runtime_s[:, columns]),
    )


def best_mixes(problem: Problem, room: Room) -> list[Mix]:
    """Mixes of which none beats another in time and money, fastest first.

    First every type alone, in growing numbers; then around the best so far one VM more, one less,
    or one of another type, until nothing better is found or enough has been tried.
    """
    instance = validated(problem)
    useful = _useful(problem, instance)
    types = [vm.type for vm in problem.fleet.vms]
    tried: dict[tuple[int, ...], Mix] = {}

    def look(counts: tuple[int, ...]) -> None:
        if counts not in tried and len(tried) < MOST_TRIED and room.holds(types, counts):
            part = by_heft(mixed(problem, counts), range(sum(counts)))
            tried[counts] = Mix(counts, NOWHERE if part is None else part.point)

    nothing = (0,) * len(types)
    for number in STEPS:
        for place in useful:
            look((*nothing[:place], number, *nothing[place + 1 :]))
    best: list[Mix] = []
    while True:
        found = [each for each in tried.values() if each.point != NOWHERE]
        better = [found[index] for index in non_dominated([each.point for each in found])]
        if better == best:
            break
        best = better
        near = {place for mix in best for place, count in enumerate(mix.counts) if count}
        for mix in best:
            for counts in _neighbours(mix.counts, sorted(near)):
                look(counts)
    if not best:
        raise UsageError(
            f"no mix of at most {room.vms} VMs and {room.slots} vCPUs has room for all activations",
            "raise max_vm_amount in <constraint>, or --quota, or let the activities ask for less",
        )
    return best


def _neighbours(counts: tuple[int, ...], near: list[int]) -> Iterator[tuple[int, ...]]:
    for more in (None, *near):
        for less in (None, *(place for place, count in enumerate(counts) if count)):
            changed = list(counts)
            if more is not None:
                changed[more] += 1
            if less is not None:
                changed[less] -= 1
            yield tuple(changed)


def _useful(problem: Problem, instance: Instance) -> list[int]:
    """Types that are not beaten by another one in everything."""
    places = range(len(problem.fleet.vms))
    return [one for one in places if not any(_beats(problem, instance, two, one) for two in places)]


def _beats(problem: Problem, instance: Instance, one: int, other: int) -> bool:
    """As good in everything; of two that are alike, the first one counts."""
    mine, yours = problem.fleet.vms[one].type, problem.fleet.vms[other].type
    times, theirs = instance.runtime_ms[:, one], instance.runtime_ms[:, other]
    as_good = (
        mine.price_usd_per_hour <= yours.price_usd_per_hour
        and mine.slots >= yours.slots
        and (mine.memory_mb or 1 << 40) >= (yours.memory_mb or 1 << 40)
        and mine.bandwidth_mb_s >= yours.bandwidth_mb_s
        and mine.boot_s <= yours.boot_s
        and mine.region == yours.region
        and bool(((theirs == NEVER) | ((times != NEVER) & (times <= theirs))).all())
    )
    alike = replace(mine, name="") == replace(yours, name="") and bool((times == theirs).all())
    return one != other and as_good and (not alike or one < other)
