"""Each activation where it finishes first, or would but for a learned bias.

`appended` gives every VM its activations one after the other, by the strict rule of plans.
`inserted` may also use a gap between two activations that were placed before. What it returns is
a schedule; sorted by start it is a plan that the strict rule makes no slower.
"""

from __future__ import annotations

import numpy as np

from scicore.kernel.instance import NEVER, Floats, Instance, Ints
from scicore.kernel.strict import new_lanes, occupy, opening_ms, ready_ms

LEAST_GAPS = 16  # room for so many per slot at first
MEMOS = 44  # one per power of two of milliseconds
FOREVER = 1 << 60


def appended(
    instance: Instance,
    order: Ints,
    bias: Floats,  # [row, VM] milliseconds that an activation is willing to lose by this VM
    row_of: Ints,  # [activation]: its row, e.g. its own or that of its activity
    vm_of: Ints,
    start_ms: Ints,
    finish_ms: Ints,
) -> int:
    """Fill in VM, start and finish; return the makespan. `order` is topological."""
    lanes = new_lanes(instance)
    vms = len(instance.boot_ms)
    makespan = 0
    for activation in order:
        best, best_vm, best_start = np.inf, -1, 0
        ready = 0
        if not instance.moves_data:
            ready = ready_ms(instance, activation, 0, vm_of, finish_ms)
        for vm in range(vms):
            length = instance.runtime_ms[activation, vm]
            if length == NEVER:
                continue
            if instance.moves_data:
                ready = ready_ms(instance, activation, vm, vm_of, finish_ms)
            start = opening_ms(instance, lanes, activation, vm, ready)
            value = start + length + bias[row_of[activation], vm]
            if value < best:
                best, best_vm, best_start = value, vm, start
        finish = best_start + instance.runtime_ms[activation, best_vm]
        occupy(instance, lanes, activation, best_vm, best_start, finish)
        vm_of[activation] = best_vm
        start_ms[activation] = best_start
        finish_ms[activation] = finish
        makespan = max(makespan, finish)
    return makespan


def inserted(
    instance: Instance,
    order: Ints,
    bias: Floats,
    row_of: Ints,
    vm_of: Ints,
    start_ms: Ints,
    finish_ms: Ints,
) -> int:
    """As `appended`, but gaps are used, too.

    A slot's gaps are disjoint and ascending, the last one without end. They only ever shrink, so
    what was found too small stays too small: of each magnitude of length the last such finding is
    remembered, or thousands of equal activations would try the same small gaps again.
    """
    vms = len(instance.boot_ms)
    slot_at = instance.slot_at
    gaps = np.zeros((2, slot_at[-1], LEAST_GAPS), dtype=np.int64)  # [from or to, slot, gap]
    count = np.ones(slot_at[-1], dtype=np.int64)  # of gaps, per slot
    for vm in range(vms):
        for slot in range(slot_at[vm], slot_at[vm + 1]):
            gaps[0, slot, 0] = instance.boot_ms[vm]
            gaps[1, slot, 0] = FOREVER
    memo = np.zeros((vms, MEMOS, 3), dtype=np.int64)  # from, to, shortest length that found none
    makespan = 0
    for activation in order:
        best, best_vm, best_start = np.inf, -1, 0
        ready = 0
        if not instance.moves_data:
            ready = ready_ms(instance, activation, 0, vm_of, finish_ms)
        for vm in range(vms):
            length = instance.runtime_ms[activation, vm]
            if length == NEVER:
                continue
            if instance.moves_data:
                ready = ready_ms(instance, activation, vm, vm_of, finish_ms)
            offset = length + bias[row_of[activation], vm]
            if ready + offset >= best:
                continue  # even at once it would be no better there
            needed = slots_needed(instance, activation, vm)
            first, end = slot_at[vm], slot_at[vm + 1]
            start = _search(gaps, count, memo[vm], first, end, ready, length, needed)
            if start + offset < best:
                best, best_vm, best_start = start + offset, vm, start
        length = instance.runtime_ms[activation, best_vm]
        if length > 0:  # what takes no time leaves the gaps whole
            left = slots_needed(instance, activation, best_vm)
            slot = slot_at[best_vm]
            while left > 0:
                if _fit(gaps, count, slot, best_start, length) == best_start:
                    if count[slot] == gaps.shape[2]:
                        gaps = _wider(gaps)
                    _reserve(gaps, count, slot, best_start, best_start + length)
                    left -= 1
                slot += 1
        vm_of[activation] = best_vm
        start_ms[activation] = best_start
        finish_ms[activation] = best_start + length
        makespan = max(makespan, best_start + length)
    return makespan


def slots_needed(instance: Instance, activation: int, vm: int) -> int:
    """Slots that surely hold its cpus and its memory, if memory is shared out among slots."""
    needed = instance.cpus[activation]
    memory_mb = instance.vm_memory_mb[vm]
    if memory_mb > 0 and instance.memory_mb[activation] > 0:
        slots = instance.slot_at[vm + 1] - instance.slot_at[vm]
        shares = -(-instance.memory_mb[activation] * slots // memory_mb)
        needed = max(needed, shares)
    return int(needed)


def _search(
    gaps: Ints, count: Ints, memo: Ints, first: int, end: int, ready: int, length: int, needed: int
) -> int:
    """The earliest time from `ready` on when so many slots of a VM are free for so long."""
    magnitude = 0
    while length >> magnitude > 1:
        magnitude += 1
    start = ready
    for smaller in range(magnitude + 1):
        if memo[smaller, 2] <= length and memo[smaller, 0] <= start < memo[smaller, 1]:
            start = memo[smaller, 1]
    while True:
        soonest = FOREVER
        at_once = 0
        for slot in range(first, end):
            found = _fit(gaps, count, slot, start, length)
            if found == start:
                at_once += 1
                if at_once == needed:
                    break
            else:
                soonest = min(soonest, found)
        if at_once == needed:
            break
        start = soonest
    if needed == 1 and start > ready:
        memo[magnitude, 0] = ready
        memo[magnitude, 1] = start
        memo[magnitude, 2] = length
    return start


def _fit(gaps: Ints, count: Ints, slot: int, ready: int, length: int) -> int:
    """The earliest start in a gap of one slot."""
    low, high = 0, count[slot] - 1  # the first gap that ends late enough
    while low < high:
        middle = (low + high) // 2
        if gaps[1, slot, middle] < ready + length:
            low = middle + 1
        else:
            high = middle
    while max(gaps[0, slot, low], ready) + length > gaps[1, slot, low]:
        low += 1
    return int(max(gaps[0, slot, low], ready))


def _reserve(gaps: Ints, count: Ints, slot: int, start: int, finish: int) -> None:
    """Take an interval out of the gap that holds it; there is room for one gap more."""
    low, high = 0, count[slot] - 1  # the last gap that begins early enough
    while low < high:
        middle = (low + high + 1) // 2
        if gaps[0, slot, middle] > start:
            high = middle - 1
        else:
            low = middle
    left, right = gaps[0, slot, low] < start, finish < gaps[1, slot, low]
    if left and right:
        for gap in range(count[slot], low, -1):
            gaps[0, slot, gap] = gaps[0, slot, gap - 1]
            gaps[1, slot, gap] = gaps[1, slot, gap - 1]
        count[slot] += 1
        gaps[1, slot, low] = start
        gaps[0, slot, low + 1] = finish
    elif left:
        gaps[1, slot, low] = start
    elif right:
        gaps[0, slot, low] = finish
    else:
        count[slot] -= 1
        for gap in range(low, count[slot]):
            gaps[0, slot, gap] = gaps[0, slot, gap + 1]
            gaps[1, slot, gap] = gaps[1, slot, gap + 1]


def _wider(gaps: Ints) -> Ints:
    wider = np.zeros((2, gaps.shape[1], 2 * gaps.shape[2]), dtype=np.int64)
    for side in range(2):
        for slot in range(gaps.shape[1]):
            for gap in range(gaps.shape[2]):
                wider[side, slot, gap] = gaps[side, slot, gap]
    return wider
