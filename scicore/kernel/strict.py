"""What a plan means. Order and VM of each activation in, its start and finish out.

Each VM starts its own activations strictly in plan order: the next one at the earliest time that
is not before its data are there, the VM has booted and its predecessor there has started, and at
which its slots and its memory are free. The execution core does the same in strict dispatch.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scicore.kernel.instance import Floats, Instance, Ints


class Lanes(NamedTuple):
    """How far each VM is. A VM's slots are kept ascending by the time they become free."""

    free_ms: Ints  # [slot]
    held_mb: Ints  # [slot]: memory that is given back at that time
    last_ms: Ints  # [VM]: start of its latest activation; at first, its boot


def new_lanes(instance: Instance) -> Lanes:
    free_ms = np.zeros(instance.slot_at[-1], dtype=np.int64)
    for vm in range(len(instance.boot_ms)):
        free_ms[instance.slot_at[vm] : instance.slot_at[vm + 1]] = instance.boot_ms[vm]
    return Lanes(free_ms, np.zeros(instance.slot_at[-1], dtype=np.int64), instance.boot_ms.copy())


def lag_ms(instance: Instance, size_bytes: float, sender: int, receiver: int) -> int:
    """How long data is on its way between two VMs; model.problem.transfer_ms on arrays."""
    if size_bytes == 0:
        return 0
    out, in_ = instance.bytes_per_ms[sender], instance.bytes_per_ms[receiver]
    if instance.shared:
        return int(math.ceil(size_bytes / out) + math.ceil(size_bytes / in_))
    if sender == receiver:
        return 0
    slower: float = min(out, in_)
    return math.ceil(size_bytes / slower)


def ready_ms(instance: Instance, activation: int, vm: int, vm_of: Ints, finish_ms: Ints) -> int:
    """When the data of all parents have arrived at the VM."""
    latest = 0
    for at in range(instance.parent_at[activation], instance.parent_at[activation + 1]):
        parent = instance.parents[at]
        there = finish_ms[parent]
        if instance.moves_data:
            there += lag_ms(instance, instance.parent_bytes[at], vm_of[parent], vm)
        latest = max(latest, there)
    return latest


def opening_ms(instance: Instance, lanes: Lanes, activation: int, vm: int, ready: int) -> int:
    """The earliest start on the VM after everything that it has been given so far."""
    first = instance.slot_at[vm]
    start = max(ready, lanes.last_ms[vm])
    start = max(start, lanes.free_ms[first + instance.cpus[activation] - 1])
    wanted_mb = instance.memory_mb[activation]
    if wanted_mb > 0 and instance.vm_memory_mb[vm] > 0:
        end = instance.slot_at[vm + 1]
        used_mb = 0
        slot = end
        while slot > first and lanes.free_ms[slot - 1] > start:
            slot -= 1
            used_mb += lanes.held_mb[slot]
        while used_mb + wanted_mb > instance.vm_memory_mb[vm]:
            used_mb -= lanes.held_mb[slot]
            start = lanes.free_ms[slot]
            slot += 1
    return int(start)


def occupy(
    instance: Instance, lanes: Lanes, activation: int, vm: int, start: int, finish: int
) -> None:
    """Let the activation hold the slots that are free first; keep the slots ascending."""
    end = instance.slot_at[vm + 1]
    into = instance.slot_at[vm]
    held = instance.cpus[activation]
    while into + held < end and lanes.free_ms[into + held] < finish:
        lanes.free_ms[into] = lanes.free_ms[into + held]
        lanes.held_mb[into] = lanes.held_mb[into + held]
        into += 1
    for slot in range(into, into + held):
        lanes.free_ms[slot] = finish
        lanes.held_mb[slot] = 0
    lanes.held_mb[into] = instance.memory_mb[activation]
    lanes.last_ms[vm] = start


def lengths_ms(instance: Instance, vm_of: Ints) -> Ints:
    """How long each activation takes on its VM."""
    length = np.empty(len(vm_of), dtype=np.int64)
    for activation in range(len(vm_of)):
        length[activation] = instance.runtime_ms[activation, vm_of[activation]]
    return length


def decode(
    instance: Instance, order: Ints, vm_of: Ints, length_ms: Ints, start_ms: Ints, finish_ms: Ints
) -> int:
    """Fill in start and finish; return the makespan. `order` is topological."""
    lanes = new_lanes(instance)
    makespan = 0
    for activation in order:
        vm = vm_of[activation]
        ready = ready_ms(instance, activation, vm, vm_of, finish_ms)
        start = opening_ms(instance, lanes, activation, vm, ready)
        finish = start + length_ms[activation]
        occupy(instance, lanes, activation, vm, start, finish)
        start_ms[activation] = start
        finish_ms[activation] = finish
        makespan = max(makespan, finish)
    return makespan


def decode_noisy(instance: Instance, order: Ints, vm_of: Ints, factors: Floats) -> Ints:
    """Makespans of one plan when runtimes differ from the estimate: factors[episode, activation]"""
    planned = lengths_ms(instance, vm_of)
    makespans = np.empty(len(factors), dtype=np.int64)
    start_ms = np.empty(len(vm_of), dtype=np.int64)
    finish_ms = np.empty(len(vm_of), dtype=np.int64)
    length_ms = np.empty(len(vm_of), dtype=np.int64)
    for episode in range(len(factors)):
        for activation in range(len(vm_of)):
            length_ms[activation] = round(planned[activation] * factors[episode, activation])
        makespans[episode] = decode(instance, order, vm_of, length_ms, start_ms, finish_ms)
    return makespans
