"""Best resource selection: whoever is ready takes the best VM that has room for it now."""

from __future__ import annotations

from scicore.kernel.instance import Instance, Ints
from scicore.kernel.world import (
    World,
    finish_one,
    fits_now,
    give,
    new_world,
    next_finish_ms,
    start_there_ms,
)

SPEED, FINISH, START = 0, 1, 2  # what makes a VM the best one
NOBODY = -1


def best_resources(instance: Instance, rule: int, order: Ints, vm_of: Ints) -> None:
    """Fill in an order of decisions, which is topological, and the VM of each activation."""
    world = new_world(instance)
    end = len(order)
    now = step = 0
    while now >= 0:
        activation = world.after[end]
        while activation != end:
            later = world.after[activation]
            vm = _best(instance, world, rule, activation, vm_of, now)
            if vm != NOBODY:
                give(instance, world, activation, vm, vm_of, now)
                order[step] = activation
                step += 1
            activation = later
        now = next_finish_ms(world)
        while now >= 0 and next_finish_ms(world) == now:
            finish_one(instance, world, vm_of)


def _best(
    instance: Instance, world: World, rule: int, activation: int, vm_of: Ints, now: int
) -> int:
    """Of the VMs that have room now; of equal ones, the first of the fleet."""
    best, best_ms = NOBODY, 0
    for vm in range(len(instance.boot_ms)):
        if not fits_now(instance, world, activation, vm):
            continue
        ms = 0 if rule == SPEED else start_there_ms(instance, world, activation, vm, vm_of, now)
        if rule != START:
            ms += instance.runtime_ms[activation, vm]
        if best == NOBODY or ms < best_ms:
            best, best_ms = vm, ms
    return best
