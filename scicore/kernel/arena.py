"""An instance as the search sees it: VMs that are alike are one class, slots are all that counts.

The search decides an order and a class for each activation; the lane within the class follows.
Where data need no way and activations take one slot each, a class is a single lane.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scicore.kernel.earliest_finish import slots_needed
from scicore.kernel.instance import NEVER, Floats, Instance, Ints
from scicore.kernel.jit import suited
from scicore.kernel.strict import new_lanes, occupy, opening_ms


class Arena(NamedTuple):
    runtime_ms: Ints  # [activation, class]; NEVER where it does not fit
    needed: Ints  # [activation, class]: slots
    parent_at: Ints
    parents: Ints
    parent_bytes: Floats
    child_at: Ints
    children: Ints
    tail_ms: Ints  # what at least follows when an activation has finished
    lane_at: Ints  # [class + 1]
    slot_at: Ints  # [lane + 1]
    boot_ms: Ints  # [class]
    bytes_per_ms: Floats  # [class]
    shared: int
    moves_data: int


def arena_of(instance: Instance, tail_ms: Ints) -> Arena:
    kinds = int(instance.vm_type.max()) + 1
    members = [np.flatnonzero(instance.vm_type == kind) for kind in range(kinds)]
    first = np.array([vms[0] for vms in members], dtype=np.int64)
    count = len(instance.cpus)
    needed = suited(needed_slots, count * kinds)(instance, first)
    slots = np.diff(instance.slot_at)
    if needed.max(initial=1) == 1 and not instance.moves_data:
        lanes = [np.array([slots[vms].sum()]) for vms in members]
    else:
        lanes = [slots[vms] for vms in members]
    return Arena(
        runtime_ms=np.ascontiguousarray(instance.runtime_ms[:, first]),
        needed=needed,
        parent_at=instance.parent_at,
        parents=instance.parents,
        parent_bytes=instance.parent_bytes,
        child_at=instance.child_at,
        children=instance.children,
        tail_ms=tail_ms,
        lane_at=np.concatenate([[0], np.cumsum([len(each) for each in lanes])]).astype(np.int64),
        slot_at=np.concatenate([[0], np.cumsum(np.concatenate(lanes))]).astype(np.int64),
        boot_ms=instance.boot_ms[first],
        bytes_per_ms=instance.bytes_per_ms[first],
        shared=instance.shared,
        moves_data=instance.moves_data,
    )


def needed_slots(instance: Instance, first: Ints) -> Ints:
    needed = np.ones((len(instance.cpus), len(first)), dtype=np.int64)
    for activation in range(len(needed)):
        for kind in range(len(first)):
            if instance.runtime_ms[activation, first[kind]] != NEVER:
                needed[activation, kind] = slots_needed(instance, activation, first[kind])
    return needed


def vms_of_lanes(instance: Instance, arena: Arena, lane_of: Ints) -> Ints | None:
    """Where every lane is a VM, which; None where lanes are whole classes."""
    if arena.lane_at[-1] != len(instance.vm_type):
        return None
    by_class: Ints = np.argsort(instance.vm_type, kind="stable")
    return by_class[lane_of]


def spread(instance: Instance, order: Ints, class_of: Ints, start_ms: Ints) -> Ints:
    """One VM of its class for each activation, in the order of their starts: one that is free."""
    lanes = new_lanes(instance)
    vm_of = np.zeros(len(order), dtype=np.int64)
    for activation in order:
        best, best_vm = np.iinfo(np.int64).max, -1
        for vm in range(len(instance.vm_type)):
            if instance.vm_type[vm] == class_of[activation]:
                start = opening_ms(instance, lanes, activation, vm, start_ms[activation])
                if start < best:
                    best, best_vm = start, vm
        finish = best + instance.runtime_ms[activation, best_vm]
        occupy(instance, lanes, activation, best_vm, best, finish)
        vm_of[activation] = best_vm
    return vm_of
