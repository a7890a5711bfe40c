"""How urgent activations are, and orders that follow from it."""

from __future__ import annotations

import numpy as np

from scicore.kernel.instance import NEVER, Floats, Instance, Ints


def mean_runtimes_ms(instance: Instance) -> Floats:
    """Over the VMs that the activation fits (every one fits some)."""
    fits = instance.runtime_ms != NEVER
    means: Floats = np.where(fits, instance.runtime_ms, 0).sum(axis=1) / fits.sum(axis=1)
    return means


def mean_ms_per_byte(instance: Instance) -> float:
    """Over all pairs of different VMs; through a shared storage, over all pairs."""
    each = 1 / instance.bytes_per_ms
    count = len(each)
    if instance.shared:
        return float(2 * each.mean())
    if count < 2:
        return 0.0
    # Of a pair the slower VM counts: the k-th fastest is the slower one of k pairs.
    slower_in = np.arange(count)
    return float((np.sort(each) * slower_in).sum() / (count * (count - 1) / 2))


def upward_ranks(instance: Instance, work: Floats, per_byte: float) -> Floats:
    """Length of the longest way from each activation to the end, itself included."""
    rank = work.copy()
    for place in range(len(instance.order) - 1, -1, -1):
        activation = instance.order[place]
        longest = 0.0
        for at in range(instance.child_at[activation], instance.child_at[activation + 1]):
            way = instance.child_bytes[at] * per_byte + rank[instance.children[at]]
            longest = max(longest, way)
        rank[activation] += longest
    return rank


def order_by_priority(instance: Instance, priority: Floats) -> Ints:
    """Topological: of the activations whose parents have been passed, the highest priority first.

    The heap is written out because numba would need seconds to compile heapq.
    """
    count = len(priority)
    place = np.empty(count, dtype=np.int64)
    for number in range(count):
        place[instance.order[number]] = number
    waiting_for = np.empty(count, dtype=np.int64)
    heap = np.empty(count, dtype=np.int64)
    size = 0
    for activation in instance.order:
        waiting_for[activation] = (
            instance.parent_at[activation + 1] - instance.parent_at[activation]
        )
        if waiting_for[activation] == 0:
            size = _push(heap, size, activation, priority, place)
    order = np.empty(count, dtype=np.int64)
    for number in range(count):
        activation = heap[0]
        size = _drop_first(heap, size, priority, place)
        order[number] = activation
        for at in range(instance.child_at[activation], instance.child_at[activation + 1]):
            child = instance.children[at]
            waiting_for[child] -= 1
            if waiting_for[child] == 0:
                size = _push(heap, size, child, priority, place)
    return order


def _before(a: int, b: int, priority: Floats, place: Ints) -> bool:
    if priority[a] != priority[b]:
        return bool(priority[a] > priority[b])
    return bool(place[a] < place[b])


def _push(heap: Ints, size: int, activation: int, priority: Floats, place: Ints) -> int:
    hole = size
    while hole > 0:
        above = (hole - 1) // 2
        if not _before(activation, heap[above], priority, place):
            break
        heap[hole] = heap[above]
        hole = above
    heap[hole] = activation
    return size + 1


def _drop_first(heap: Ints, size: int, priority: Floats, place: Ints) -> int:
    size -= 1
    moved = heap[size]
    hole = 0
    while 2 * hole + 1 < size:
        below = 2 * hole + 1
        if below + 1 < size and _before(heap[below + 1], heap[below], priority, place):
            below += 1
        if not _before(heap[below], moved, priority, place):
            break
        heap[hole] = heap[below]
        hole = below
    heap[hole] = moved
    return size
