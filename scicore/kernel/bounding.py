"""Earliest starts and least remainders that hold in every schedule, by paths and by area.

Area: let w be weights such that in any schedule the activations of a set S keep all VMs together
busy for at least the sum of their w. If all of S start at h or later and at least t passes after
each of them, no schedule is shorter than h + sum of w over S + t.
"""

from __future__ import annotations

import math

import numpy as np

from scicore.kernel.instance import NEVER, Floats, Instance, Ints
from scicore.kernel.strict import lag_ms

THRESHOLDS = 200  # different t that are tried
BUCKETS = 256
FAR = 1 << 60


def first_starts(instance: Instance, first: Ints, finish: Ints) -> Ints:
    """The earliest start of each activation if every VM were there for it alone.

    `first` has one VM of each class, `finish` gets the earliest finish there. For each class that
    the activation may run on: its boot, and for each parent the class from which the data is there
    soonest; of one class, the same VM.
    """
    count, kinds = len(instance.cpus), len(first)
    head = np.empty(count, dtype=np.int64)
    for activation in instance.order:
        head[activation] = np.iinfo(np.int64).max
        for kind in range(kinds):
            length = instance.runtime_ms[activation, first[kind]]
            finish[activation, kind] = NEVER
            if length == NEVER:
                continue
            start = instance.boot_ms[first[kind]]
            for at in range(instance.parent_at[activation], instance.parent_at[activation + 1]):
                parent = instance.parents[at]
                soonest = np.iinfo(np.int64).max
                for other in range(kinds):
                    there = finish[parent, other]
                    if there != NEVER:
                        if instance.moves_data:
                            size = instance.parent_bytes[at]
                            there += lag_ms(instance, size, first[other], first[kind])
                        soonest = min(soonest, there)
                start = max(start, soonest)
            finish[activation, kind] = start + length
            head[activation] = min(head[activation], start)
    return head


def raise_heads(
    head: Ints,
    fastest: Ints,
    weight: Floats,
    order: Ints,
    parent_at: Ints,
    parents: Ints,
    joins: Ints,
) -> None:
    """Raise each earliest start by the longest path to it and, where `joins` is 1, by what all its
    ancestors together need before it.

    On the reversed graph, the same for the least remainders. Ancestors are put into buckets by
    their heads; those of the upper buckets are a set of which all start late.
    """
    count = len(order)
    place = np.empty(count, dtype=np.int64)
    for number in range(count):
        place[order[number]] = number
    gap = np.full(count, -1, dtype=np.int64)  # from an ancestor's finish to here; -1 = is none
    needs = np.zeros(BUCKETS)
    shortest = np.empty(BUCKETS, dtype=np.int64)  # gap in the bucket
    soonest = np.empty(BUCKETS, dtype=np.int64)  # head in the bucket
    for number in range(count):
        activation = order[number]
        at_least = head[activation]
        low = number
        for at in range(parent_at[activation], parent_at[activation + 1]):
            parent = parents[at]
            low = min(low, place[parent])
            at_least = max(at_least, head[parent] + fastest[parent])
            if joins[activation]:
                gap[parent] = 0
        if not joins[activation]:
            head[activation] = at_least
            continue
        needs[:] = 0
        shortest[:] = FAR
        soonest[:] = FAR
        back = number - 1
        while back >= low:
            ancestor = order[back]
            back -= 1
            if gap[ancestor] < 0:
                continue
            way = gap[ancestor] + fastest[ancestor]
            for at in range(parent_at[ancestor], parent_at[ancestor + 1]):
                gap[parents[at]] = max(gap[parents[at]], way)
                low = min(low, place[parents[at]])
            bucket = head[ancestor] * BUCKETS // (at_least + 1)
            needs[bucket] += weight[ancestor]
            shortest[bucket] = min(shortest[bucket], gap[ancestor])
            soonest[bucket] = min(soonest[bucket], head[ancestor])
            gap[ancestor] = -1
        total, least_gap, first = 0.0, FAR, FAR
        for bucket in range(BUCKETS - 1, -1, -1):
            if soonest[bucket] < FAR:
                total += needs[bucket]
                least_gap = min(least_gap, shortest[bucket])
                first = soonest[bucket]
                at_least = max(at_least, math.ceil(first + total + least_gap - 1e-3))
        head[activation] = at_least


def least_makespan(head: Ints, tail: Ints, weight: Floats, by_head: Ints, steps: Ints) -> int:
    """The best h + area + t; `by_head` ascends by head, `steps` are the t that are tried."""
    best = 0.0
    for least in steps:
        needs = 0.0
        for rank in range(len(by_head) - 1, -1, -1):
            activation = by_head[rank]
            if tail[activation] >= least:
                needs += weight[activation]
                best = max(best, head[activation] + needs + least)
    return math.ceil(best - 1e-3)
