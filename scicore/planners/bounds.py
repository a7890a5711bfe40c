"""What no schedule can beat. A plan's distance from the bound says how good it surely is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scicore.kernel.bounding import (
    THRESHOLDS,
    first_starts,
    least_makespan,
    raise_heads,
)
from scicore.kernel.instance import NEVER, Floats, Instance, Ints
from scicore.kernel.jit import suited

BISECT_UP_TO = 2_000  # activations
ANCESTORS_UP_TO = 20_000_000  # visits of activations and edges: a tenth of a second
ROUNDS = 30  # of looking for better multipliers
PRECISION = 1e-3  # relative, of the makespan that is shown to be impossible


class Bounds(NamedTuple):
    head_ms: Ints  # no schedule starts an activation earlier
    tail_ms: Ints  # no schedule ends earlier after the activation's finish
    finish_ms: Ints  # [activation, class]: nor finishes it earlier there; NEVER where it cannot
    makespan_ms: int


def lower_bound_ms(instance: Instance, makespan_ms: int) -> int:
    return bounds_below(instance, makespan_ms).makespan_ms


def path_bound_ms(instance: Instance) -> int:
    """The longest path, which is a matter of milliseconds to compute."""
    count, edges = len(instance.order), len(instance.parents)
    if not count:
        return 0
    _, first = np.unique(instance.vm_type, return_index=True)
    finish = np.full((count, len(first)), NEVER, dtype=np.int64)
    suited(first_starts, (count + edges) * len(first))(instance, first, finish)
    return int(np.where(finish == NEVER, np.iinfo(np.int64).max, finish).min(axis=1).max())


def bounds_below(instance: Instance, makespan_ms: int) -> Bounds:
    """The best bounds, given a makespan that is known to be possible.

    By bisection: suppose that a makespan M were possible. Then no activation runs where its head,
    its runtime and its tail make more than M. If what is left has a bound above M, M was not.
    """
    known = bounds_of(instance)
    if len(np.unique(instance.vm_type)) == 1 or len(instance.order) > BISECT_UP_TO:
        return known
    impossible, possible = known.makespan_ms - 1, makespan_ms
    while possible - impossible > 1 + PRECISION * possible:
        supposed = (impossible + possible) // 2
        if _contradicts(instance, known, supposed):
            impossible = supposed
        else:
            possible = supposed
    return known._replace(makespan_ms=max(known.makespan_ms, impossible + 1))


def _contradicts(instance: Instance, known: Bounds, makespan_ms: int) -> bool:
    late = known.finish_ms + known.tail_ms[:, None] > makespan_ms
    runtime_ms = np.where(late[:, instance.vm_type], NEVER, instance.runtime_ms)
    if (runtime_ms == NEVER).all(axis=1).any():
        return True
    return bounds_of(instance._replace(runtime_ms=runtime_ms)).makespan_ms > makespan_ms


def bounds_of(instance: Instance) -> Bounds:
    """Paths, area, and area between heads and tails; the problem has been validated."""
    count = len(instance.order)
    if not count:
        none = np.zeros(0, dtype=np.int64)
        return Bounds(none, none, none, 0)
    _, first = np.unique(instance.vm_type, return_index=True)
    edges = len(instance.parents)
    fastest, weight = fastest_ms(instance), weights_ms(instance)
    finish = np.full((count, len(first)), NEVER, dtype=np.int64)
    head = suited(first_starts, (count + edges) * len(first))(instance, first, finish)
    tail = np.zeros(count, dtype=np.int64)
    backwards = np.ascontiguousarray(instance.order[::-1])
    forth = instance.order, instance.parent_at, instance.parents
    back = backwards, instance.child_at, instance.children
    for bound, (order, at, neighbours) in ((head, forth), (tail, back)):
        joins = _joins(at, ANCESTORS_UP_TO // (count + edges))
        raise_ = suited(raise_heads, int(joins.sum() + 1) * (count + edges))
        raise_(bound, fastest, weight, order, at, neighbours, joins)
    thresholds = np.unique(tail)
    if len(thresholds) > THRESHOLDS:
        chosen = np.linspace(0, len(thresholds) - 1, THRESHOLDS).astype(np.int64)
        thresholds = thresholds[chosen]
    by_head = np.argsort(head, kind="stable")
    area = suited(least_makespan, count * len(thresholds))
    fits = finish != NEVER
    finish = np.where(
        fits, np.maximum(finish, head[:, None] + instance.runtime_ms[:, first]), NEVER
    )
    soonest = np.where(fits, finish, np.iinfo(np.int64).max).min(axis=1)
    path_ms = int((soonest + tail).max())
    area_ms = area(head, tail, weight, by_head, thresholds)
    return Bounds(head, tail, finish, max(path_ms, area_ms))


def _joins(at: Ints, at_most: int) -> Ints:
    """Where looking at all ancestors may pay: where many paths meet."""
    parents = np.diff(at)
    chosen = np.argsort(-parents, kind="stable")[:at_most]
    joins = np.zeros(len(parents), dtype=np.int64)
    joins[chosen] = 1
    return joins


def fastest_ms(instance: Instance) -> Ints:
    """Of each activation, its runtime on the VM that runs it fastest."""
    never_last = np.where(instance.runtime_ms == NEVER, np.iinfo(np.int64).max, instance.runtime_ms)
    fastest: Ints = never_last.min(axis=1)
    return fastest


def weights_ms(instance: Instance) -> Floats:
    """What each activation keeps the whole fleet busy for, at least; see kernel.bounding.

    Let λ_v be any multipliers of the VMs, not negative, with Σ slots_v λ_v = 1. An activation that
    runs on v fills cpus × runtime there, so w = min over v of λ_v × cpus × runtime is at most its
    part of Σ λ_v × (what is filled on v). Within a time T no more than slots_v × T can be filled
    on v, hence Σ w <= T × Σ slots_v λ_v = T. This is the dual of spreading the activations over
    the VMs in fractions; if λ are speeds that fit the runtimes, nothing is lost. So we begin
    with speeds and move along the subgradient towards larger sums.
    """
    slots = np.diff(instance.slot_at)
    kinds, first, kind_of = np.unique(instance.vm_type, return_index=True, return_inverse=True)
    capacity = np.bincount(kind_of, weights=slots)
    filled = np.where(
        instance.runtime_ms[:, first] == NEVER,
        np.inf,
        instance.runtime_ms[:, first].astype(np.float64) * instance.cpus[:, None],
    )
    fastest = filled.min(axis=1)
    fits = np.isfinite(filled)
    speed = np.array(
        [
            fastest[fits[:, kind]].sum() / max(filled[fits[:, kind], kind].sum(), 1e-9)
            for kind in range(len(kinds))
        ]
    )
    multiplier = np.maximum(speed, 1e-9)
    multiplier /= (capacity * multiplier).sum()
    best: Floats = (filled * multiplier).min(axis=1)
    step = 0.5
    for _ in range(ROUNDS if len(kinds) > 1 else 0):
        # Where more than its share would be filled, filling gets dearer.
        cheapest = (filled * multiplier).argmin(axis=1)
        load = np.bincount(
            cheapest, weights=filled[np.arange(len(cheapest)), cheapest], minlength=len(kinds)
        )
        mean = load.sum() / capacity.sum()
        multiplier = multiplier * np.exp(step * np.clip(load / capacity / (mean or 1) - 1, -1, 1))
        multiplier /= (capacity * multiplier).sum()
        weight = (filled * multiplier).min(axis=1)
        if weight.sum() > best.sum():
            best = weight
        step *= 0.93
    return best
