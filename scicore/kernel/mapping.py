"""Simple ways to hand activations out: on arrival, batch by batch, or only to idle VMs.

All fill in an order of decisions, which is topological, and the VM of each activation.
"""

from __future__ import annotations

import numpy as np

from scicore.kernel.instance import NEVER, Instance, Ints
from scicore.kernel.strict import Lanes, new_lanes, occupy, opening_ms, ready_ms
from scicore.kernel.world import (
    World,
    finish_one,
    fits_now,
    give,
    new_world,
    next_finish_ms,
    start_there_ms,
)

# How the next activation and its VM are chosen.
FIRST, SHORTEST, LONGEST = 0, 1, 2
NOBODY = UNKNOWN = -1


def on_arrival(instance: Instance, in_turn: int, order: Ints, vm_of: Ints) -> None:
    """Each activation as it becomes ready, though its VM may be busy: to the VM where it completes
    first or, with `in_turn`, to the next VM that it fits."""
    world = new_world(instance)
    vms = len(instance.boot_ms)
    end = len(order)
    now = step = last = 0
    while now >= 0:
        while world.after[end] != end:
            activation = world.after[end]
            if in_turn:
                vm = (last + 1) % vms if step else 0
                while instance.runtime_ms[activation, vm] == NEVER:
                    vm = (vm + 1) % vms
            else:
                vm = _quickest(instance, world, activation, vm_of, now)
            give(instance, world, activation, vm, vm_of, now)
            order[step] = activation
            step += 1
            last = vm
        now = next_finish_ms(world)
        while now >= 0 and next_finish_ms(world) == now:
            finish_one(instance, world, vm_of)


def _quickest(instance: Instance, world: World, activation: int, vm_of: Ints, now: int) -> int:
    best, best_ms = NOBODY, 0
    for vm in range(len(instance.boot_ms)):
        length = instance.runtime_ms[activation, vm]
        if length != NEVER:
            finish = start_there_ms(instance, world, activation, vm, vm_of, now) + length
            if best == NOBODY or finish < best_ms:
                best, best_ms = vm, finish
    return best


# -- only to idle VMs -----------------------------------------------------------------------------


def when_idle(instance: Instance, rule: int, order: Ints, vm_of: Ints) -> None:
    """As long as something ready fits an idle VM, the one that the rule names is given out.

    FIRST: the first that came, to the first idle VM of the fleet. SHORTEST, LONGEST: each
    activation looks for the idle VM where it completes first; the one that completes first, or
    last, is given there.
    """
    world = new_world(instance)
    arrived_ms = np.full(instance.runtime_ms.shape, UNKNOWN, dtype=np.int64)
    now = step = 0
    while now >= 0:
        chosen, vm = _next(instance, world, rule, arrived_ms, vm_of, now)
        while chosen != NOBODY:
            give(instance, world, chosen, vm, vm_of, now)
            order[step] = chosen
            step += 1
            chosen, vm = _next(instance, world, rule, arrived_ms, vm_of, now)
        now = next_finish_ms(world)
        while now >= 0 and next_finish_ms(world) == now:
            finish_one(instance, world, vm_of)


def _next(
    instance: Instance, world: World, rule: int, arrived_ms: Ints, vm_of: Ints, now: int
) -> tuple[int, int]:
    """Activation and VM by the rule. Thousands may be ready when one VM becomes idle, so the
    arrival of their data is looked up once."""
    chosen = chosen_vm = NOBODY
    chosen_ms = 0
    if not world.free_slots.any():
        return chosen, chosen_vm
    end = len(vm_of)
    activation = world.after[end]
    while activation != end:
        best, best_ms = NOBODY, 0
        for vm in range(len(instance.boot_ms)):
            if world.free_slots[vm] > 0 and fits_now(instance, world, activation, vm):
                if rule == FIRST:
                    return activation, vm
                if arrived_ms[activation, vm] == UNKNOWN:
                    arrived_ms[activation, vm] = ready_ms(
                        instance, activation, vm, vm_of, world.finish_ms
                    )
                ready = max(now, arrived_ms[activation, vm])
                start = opening_ms(instance, world.lanes, activation, vm, ready)
                finish = start + instance.runtime_ms[activation, vm]
                if best == NOBODY or finish < best_ms:
                    best, best_ms = vm, finish
        if best != NOBODY and (
            chosen == NOBODY
            or (rule == SHORTEST and best_ms < chosen_ms)
            or (rule == LONGEST and best_ms > chosen_ms)
        ):
            chosen, chosen_vm, chosen_ms = activation, best, best_ms
        activation = world.after[activation]
    return chosen, chosen_vm


# -- batch by batch -------------------------------------------------------------------------------


def in_batches(instance: Instance, rule: int, order: Ints, vm_of: Ints) -> None:
    """A batch is what has no parents outside earlier batches. Of the batch, the activation whose
    earliest completion is the SHORTEST (or LONGEST) goes to the VM where that is, and so on.

    A VM's openings only ever move back, so only who counted on the VM just taken looks again.
    """
    count, vms = instance.runtime_ms.shape
    lanes = new_lanes(instance)
    finish_ms = np.zeros(count, dtype=np.int64)
    arrived_ms = np.empty((count, vms), dtype=np.int64)
    best_vm = np.empty(count, dtype=np.int64)
    best_ms = np.empty(count, dtype=np.int64)
    waiting_for = instance.parent_at[1:] - instance.parent_at[:-1]
    batch, upcoming = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    size = later = step = 0
    for activation in instance.order:
        if waiting_for[activation] == 0:
            upcoming[later] = activation
            later += 1
    while step < count:
        if size == 0:
            batch, upcoming, size, later = upcoming, batch, later, 0
            for activation in batch[:size]:
                for vm in range(vms):
                    arrived_ms[activation, vm] = ready_ms(
                        instance, activation, vm, vm_of, finish_ms
                    )
                _look(instance, lanes, activation, arrived_ms, best_vm, best_ms)
        pick = 0
        for place in range(1, size):
            gain = best_ms[batch[pick]] - best_ms[batch[place]]
            if gain > 0 if rule == SHORTEST else gain < 0:
                pick = place
        activation = batch[pick]
        size -= 1
        for place in range(pick, size):  # who came first stays first
            batch[place] = batch[place + 1]
        vm, finish = best_vm[activation], best_ms[activation]
        start = finish - instance.runtime_ms[activation, vm]
        occupy(instance, lanes, activation, vm, start, finish)
        vm_of[activation] = vm
        finish_ms[activation] = finish
        order[step] = activation
        step += 1
        for other in batch[:size]:
            if best_vm[other] == vm:
                _look(instance, lanes, other, arrived_ms, best_vm, best_ms)
        for at in range(instance.child_at[activation], instance.child_at[activation + 1]):
            child = instance.children[at]
            waiting_for[child] -= 1
            if waiting_for[child] == 0:
                upcoming[later] = child
                later += 1


def _look(
    instance: Instance,
    lanes: Lanes,
    activation: int,
    arrived_ms: Ints,
    best_vm: Ints,
    best_ms: Ints,
) -> None:
    """Where would the activation complete first, and when?"""
    best_vm[activation] = NOBODY
    for vm in range(len(instance.boot_ms)):
        length = instance.runtime_ms[activation, vm]
        if length != NEVER:
            ready = arrived_ms[activation, vm]
            finish = opening_ms(instance, lanes, activation, vm, ready) + length
            if best_vm[activation] == NOBODY or finish < best_ms[activation]:
                best_vm[activation], best_ms[activation] = vm, finish
