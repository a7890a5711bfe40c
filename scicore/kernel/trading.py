"""Time against money: a schedule is changed a little, played, billed, and kept or taken back.

Unlike search.py, which makes makespans small over classes of VMs, this looks at every VM: when it
can be released is what it costs. What no plan so far beats in both goes into an archive.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scicore.kernel.billing import Prices, bill_usd
from scicore.kernel.instance import NEVER, Floats, Instance, Ints
from scicore.kernel.strict import new_lanes, occupy, opening_ms, ready_ms

DRAWS = 7  # random numbers per episode
LATE = 3.0  # what being later than the aim allows counts, against being dearer
LEAST = 1e-9  # of what a logarithm is taken

# Which move, by the part of [0, 1) that a random number falls into:
ANOTHER_VM = 0.35
CHANGE_VMS = 0.45  # with another activation
ANOTHER_PLACE = 0.7  # in the order
BOTH = 0.8
LAST_OF_VM = 0.9  # what keeps a VM from being released goes elsewhere; above: a VM's whole work


class Schedule(NamedTuple):
    order: Ints
    place: Ints  # its inverse
    vm_of: Ints
    start_ms: Ints
    finish_ms: Ints


class Archive(NamedTuple):
    """Schedules of which none beats another; the first `size[0]` rows are filled, in no order."""

    size: Ints  # [1]
    makespan_ms: Ints
    usd: Floats
    order: Ints  # [row, place]
    vm_of: Ints  # [row, activation]


def new_archive(rows: int, count: int) -> Archive:
    return Archive(
        np.zeros(1, dtype=np.int64),
        np.zeros(rows, dtype=np.int64),
        np.zeros(rows),
        np.zeros((rows, count), dtype=np.int64),
        np.zeros((rows, count), dtype=np.int64),
    )


def schedule_of(order: Ints, vm_of: Ints) -> Schedule:
    """Not played yet."""
    place = np.empty(len(order), dtype=np.int64)
    for index in range(len(order)):
        place[order[index]] = index
    times = np.zeros((2, len(order)), dtype=np.int64)
    return Schedule(order.copy(), place, vm_of.copy(), times[0], times[1])


def copy_schedule(source: Schedule, target: Schedule) -> None:
    for index in range(len(source.order)):
        target.order[index] = source.order[index]
        target.place[index] = source.place[index]
        target.vm_of[index] = source.vm_of[index]
        target.start_ms[index] = source.start_ms[index]
        target.finish_ms[index] = source.finish_ms[index]


def play_on(instance: Instance, schedule: Schedule, begin: int) -> int:
    """Starts and finishes from this place on, by the strict rule; returns the makespan."""
    lanes = new_lanes(instance)
    start_ms, finish_ms, vm_of = schedule.start_ms, schedule.finish_ms, schedule.vm_of
    makespan = 0
    for place in range(len(schedule.order)):
        activation = schedule.order[place]
        vm = vm_of[activation]
        if place >= begin:
            ready = ready_ms(instance, activation, vm, vm_of, finish_ms)
            start = opening_ms(instance, lanes, activation, vm, ready)
            start_ms[activation] = start
            finish_ms[activation] = start + instance.runtime_ms[activation, vm]
        finish = finish_ms[activation]
        occupy(instance, lanes, activation, vm, start_ms[activation], finish)
        makespan = max(makespan, finish)
    return makespan


def offer(archive: Archive, makespan_ms: int, usd: float, order: Ints, vm_of: Ints) -> bool:
    """Keep it, unless one that is there is at least as good; drop what it beats."""
    size = archive.size[0]
    for row in range(size):
        if archive.makespan_ms[row] <= makespan_ms and archive.usd[row] <= usd:
            return False
    row = 0
    while row < size:
        if archive.makespan_ms[row] >= makespan_ms and archive.usd[row] >= usd:
            size -= 1
            move_row(archive, size, row)
        else:
            row += 1
    if size == len(archive.usd):
        size -= 1
        move_row(archive, size, least_useful(archive))
    archive.makespan_ms[size] = makespan_ms
    archive.usd[size] = usd
    archive.order[size] = order
    archive.vm_of[size] = vm_of
    archive.size[0] = size + 1
    return True


def move_row(archive: Archive, source: int, target: int) -> None:
    archive.makespan_ms[target] = archive.makespan_ms[source]
    archive.usd[target] = archive.usd[source]
    archive.order[target] = archive.order[source]
    archive.vm_of[target] = archive.vm_of[source]


def least_useful(archive: Archive) -> int:
    """The row, of all but the fastest and the cheapest, that dominates least on its own."""
    by_time = np.argsort(archive.makespan_ms)
    least, chosen = np.inf, by_time[len(by_time) // 2]
    for at in range(1, len(by_time) - 1):
        row = by_time[at]
        before, after = by_time[at - 1], by_time[at + 1]
        alone = (archive.makespan_ms[after] - archive.makespan_ms[row]) * (
            archive.usd[before] - archive.usd[row]
        )
        if alone < least:
            least, chosen = alone, row
    return int(chosen)


class Aim(NamedTuple):
    """What is looked for: cheap, and not slower than the limit."""

    weight: float  # what time counts anyway, from 0 to 1; the rest is for money
    limit_ms: float


def energy(makespan_ms: int, usd: float, aim: Aim) -> float:
    """Less is better. Shares count, units do not: hence the logarithms."""
    time, money = math.log(max(makespan_ms, LEAST)), math.log(max(usd, LEAST))
    late = max(0.0, time - math.log(aim.limit_ms))
    return aim.weight * time + (1 - aim.weight) * money + LATE * late


def change(instance: Instance, trial: Schedule, draw: Floats) -> int:
    """Make one move; the first place of the order that it concerns, or -1 if it changes nothing."""
    count, vms = instance.runtime_ms.shape
    kind = draw[0]
    activation = int(draw[1] * count)
    if kind < CHANGE_VMS and kind >= ANOTHER_VM:
        other = int(draw[2] * count)
        one_vm, other_vm = trial.vm_of[activation], trial.vm_of[other]
        if (
            one_vm == other_vm
            or instance.runtime_ms[activation, other_vm] == NEVER
            or instance.runtime_ms[other, one_vm] == NEVER
        ):
            return -1
        trial.vm_of[activation], trial.vm_of[other] = other_vm, one_vm
        return int(min(trial.place[activation], trial.place[other]))
    if kind >= LAST_OF_VM:
        return move_work(instance, trial, activation, draw)
    first = count
    if kind >= BOTH:  # what keeps the VM from being released
        vm = trial.vm_of[activation]
        for each in range(count):
            later = trial.finish_ms[each] > trial.finish_ms[activation]
            if trial.vm_of[each] == vm and later:
                activation = each
    if kind < ANOTHER_VM or kind >= ANOTHER_PLACE:
        vm = int(draw[2] * vms)
        if draw[3] < 0.6:  # where others are already: near a parent, or anywhere
            other = int(draw[4] * count)
            parents = instance.parent_at[activation + 1] - instance.parent_at[activation]
            if draw[3] < 0.2 and parents > 0:
                at = instance.parent_at[activation] + int(draw[4] * parents)
                other = instance.parents[at]
            vm = trial.vm_of[other]
        if vm != trial.vm_of[activation] and instance.runtime_ms[activation, vm] != NEVER:
            trial.vm_of[activation] = vm
            first = trial.place[activation]
    if kind >= ANOTHER_VM and kind < BOTH:
        first = min(first, move_place(instance, trial, activation, draw[5]))
    return int(first) if first < count else -1


def move_place(instance: Instance, trial: Schedule, activation: int, draw: float) -> int:
    """Anywhere between its last parent and its first child; the first place concerned."""
    low, high = 0, len(trial.order) - 1
    for at in range(instance.parent_at[activation], instance.parent_at[activation + 1]):
        low = max(low, trial.place[instance.parents[at]] + 1)
    for at in range(instance.child_at[activation], instance.child_at[activation + 1]):
        high = min(high, trial.place[instance.children[at]] - 1)
    source, target = trial.place[activation], low + int(draw * (high - low + 1))
    if source == target:
        return len(trial.order)
    step = 1 if target > source else -1
    for place in range(source, target, step):
        trial.order[place] = trial.order[place + step]
        trial.place[trial.order[place]] = place
    trial.order[target] = activation
    trial.place[activation] = target
    return int(min(source, target))


def move_work(instance: Instance, trial: Schedule, activation: int, draw: Floats) -> int:
    """All, or about half, of what a VM does goes to another one, which may be new."""
    count, vms = instance.runtime_ms.shape
    source, target = trial.vm_of[activation], int(draw[2] * vms)
    if draw[3] < 0.3:
        target = trial.vm_of[int(draw[4] * count)]
    first = count
    if source == target:
        return -1
    salt = 1 + int(draw[5] * 1000)
    half = draw[3] >= 0.65
    for each in range(count):
        stays = half and (each * 7919 * salt) % 17 < 8
        fits = instance.runtime_ms[each, target] != NEVER
        if trial.vm_of[each] == source and fits and not stays:
            trial.vm_of[each] = target
            first = min(first, trial.place[each])
    return int(first) if first < count else -1


def trade(
    instance: Instance,
    prices: Prices,
    archive: Archive,
    current: Schedule,
    aim: Aim,
    temperature: float,
    draws: Floats,
) -> None:
    """One episode per row of `draws`, from `current` on, which is left where the last one ended.

    A schedule whose energy is higher by x is kept with probability exp(-x / temperature).
    """
    trial = schedule_of(current.order, current.vm_of)
    makespan_ms = play_on(instance, current, 0)
    usd = bill_usd(instance, prices, current.vm_of, current.finish_ms)
    level = energy(makespan_ms, usd, aim)
    copy_schedule(current, trial)
    for episode in range(len(draws)):
        draw = draws[episode]
        begin = change(instance, trial, draw)
        if begin < 0:
            continue
        makespan_ms = play_on(instance, trial, begin)
        usd = bill_usd(instance, prices, trial.vm_of, trial.finish_ms)
        reached = energy(makespan_ms, usd, aim)
        offer(archive, makespan_ms, usd, trial.order, trial.vm_of)
        if reached <= level - temperature * math.log(1e-12 + draw[6]):
            level = reached
            copy_schedule(trial, current)
        else:
            copy_schedule(current, trial)
