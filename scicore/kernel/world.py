"""The simulated fleet and workflow for whoever decides while time goes by.

Whoever decides looks at what is ready and which VM is idle, gives activations to VMs, and lets
the next one finish. In plans, `strict` then gives the same times or better ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scicore.kernel.instance import NEVER, Instance, Ints
from scicore.kernel.strict import Lanes, new_lanes, occupy, opening_ms, ready_ms


class World(NamedTuple):
    """Walk what is ready by `after`, from after[count] until `count` comes again. Tiny functions
    for that would double the time to compile, which grows with the calls that pass a World."""

    lanes: Lanes
    free_slots: Ints  # [VM]
    free_mb: Ints  # [VM]; meaningless where the VM's memory is unknown
    waiting_for: Ints  # [activation]: parents that have not finished
    given: Ints  # [activation]: 1 once it has been given to a VM
    ready_since_ms: Ints  # [activation]
    before: Ints  # [activation]: ready activations as a chain, first come first
    after: Ints  # [activation]; entry `count`, as in `before`, is both ends of the chain
    finish_ms: Ints  # [activation]
    running: Ints  # heap of activations, earliest finish first
    running_size: Ints  # [1]


def new_world(instance: Instance) -> World:
    """At time 0; what has no parents is ready, in topological order."""
    count = len(instance.runtime_ms)
    ends = np.full(count + 1, count, dtype=np.int64)
    world = World(
        new_lanes(instance),
        instance.slot_at[1:] - instance.slot_at[:-1],
        instance.vm_memory_mb.copy(),
        instance.parent_at[1:] - instance.parent_at[:-1],
        np.zeros(count, dtype=np.int64),
        np.zeros(count, dtype=np.int64),
        ends,
        ends.copy(),
        np.zeros(count, dtype=np.int64),
        np.empty(count, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )
    for activation in instance.order:
        if world.waiting_for[activation] == 0:
            _line_up(world, activation, 0)
    return world


def fits_now(instance: Instance, world: World, activation: int, vm: int) -> bool:
    if instance.runtime_ms[activation, vm] == NEVER:
        return False
    if instance.cpus[activation] > world.free_slots[vm]:
        return False
    unknown = instance.vm_memory_mb[vm] == 0
    return bool(unknown or instance.memory_mb[activation] <= world.free_mb[vm])


def start_there_ms(
    instance: Instance, world: World, activation: int, vm: int, vm_of: Ints, now: int
) -> int:
    """When the activation would start, given to the VM now: its data and the VM must be there."""
    arrived = ready_ms(instance, activation, vm, vm_of, world.finish_ms)
    return opening_ms(instance, world.lanes, activation, vm, max(now, arrived))


def give(instance: Instance, world: World, activation: int, vm: int, vm_of: Ints, now: int) -> int:
    """The activation takes its slots now; its start is returned."""
    start = start_there_ms(instance, world, activation, vm, vm_of, now)
    finish = start + instance.runtime_ms[activation, vm]
    occupy(instance, world.lanes, activation, vm, start, finish)
    before, after = world.before[activation], world.after[activation]
    world.after[before], world.before[after] = after, before
    world.given[activation] = 1
    world.free_slots[vm] -= instance.cpus[activation]
    world.free_mb[vm] -= instance.memory_mb[activation]
    world.finish_ms[activation] = finish
    vm_of[activation] = vm
    _run(world, activation)
    return start


def next_finish_ms(world: World) -> int:
    """When the next running activation finishes; -1 when none is running."""
    if world.running_size[0] == 0:
        return -1
    return int(world.finish_ms[world.running[0]])


def finish_one(instance: Instance, world: World, vm_of: Ints) -> int:
    """Let the next one finish: its slots become free, its children may become ready."""
    activation = _stop(world)
    now = world.finish_ms[activation]
    vm = vm_of[activation]
    world.free_slots[vm] += instance.cpus[activation]
    world.free_mb[vm] += instance.memory_mb[activation]
    for at in range(instance.child_at[activation], instance.child_at[activation + 1]):
        child = instance.children[at]
        world.waiting_for[child] -= 1
        if world.waiting_for[child] == 0:
            _line_up(world, child, now)
    return activation


def _line_up(world: World, activation: int, now: int) -> None:
    end = len(world.finish_ms)
    world.ready_since_ms[activation] = now
    last = world.before[end]
    world.after[last], world.before[activation] = activation, last
    world.after[activation], world.before[end] = end, activation


# -- the heap of running activations -------------------------------------------------------------


def _earlier(world: World, left: int, right: int) -> bool:
    if world.finish_ms[left] != world.finish_ms[right]:
        return bool(world.finish_ms[left] < world.finish_ms[right])
    return left < right


def _run(world: World, activation: int) -> None:
    place = world.running_size[0]
    world.running_size[0] += 1
    while place > 0 and _earlier(world, activation, world.running[(place - 1) // 2]):
        world.running[place] = world.running[(place - 1) // 2]
        place = (place - 1) // 2
    world.running[place] = activation


def _stop(world: World) -> int:
    world.running_size[0] -= 1
    size = world.running_size[0]
    first, moved = world.running[0], world.running[size]
    place, child = 0, 1
    while child < size:
        if child + 1 < size and _earlier(world, world.running[child + 1], world.running[child]):
            child += 1
        if not _earlier(world, world.running[child], moved):
            break
        world.running[place] = world.running[child]
        place, child = child, 2 * child + 1
    world.running[place] = moved
    return int(first)
