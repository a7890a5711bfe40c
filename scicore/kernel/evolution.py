"""Generations of a genetic algorithm over schedules: who is how fit, who has which offspring.

A chromosome is a topological order of the activations and a VM for each of them. Random numbers
come in as arrays; what is returned depends on them alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scicore.kernel.billing import Prices, moves_usd, rent_usd
from scicore.kernel.instance import NEVER, Floats, Instance, Ints
from scicore.kernel.strict import decode, lengths_ms

PAIRING = 4  # random numbers for two parents, whether they cross, and where


class Rules(NamedTuple):
    hour_usd: float  # what an hour of makespan counts beside the cost
    by_work: int  # 1: activations are paid for while they run; 0: VMs while they are rented
    mu: float  # eq. 6
    elite: int
    crossover: float  # probability
    mutation: float  # probability, of each offspring or of each of its genes
    by_gene: int
    survival: int  # 1: parents and offspring together, the best stay


class Population(NamedTuple):
    """Sorted, the fittest first."""

    order: Ints  # [individual, place]
    vm_of: Ints  # [individual, activation]
    makespan_ms: Ints  # [individual]
    cost_usd: Floats  # [individual]
    value: Floats  # [individual]: eq. 5, less is better


def new_population(
    instance: Instance,
    prices: Prices,
    rules: Rules,
    numbers: Floats,  # [individual, place, 2]
    known_order: Ints,  # [schedule, place]: some that are there already
    known_vm_of: Ints,  # [schedule, activation]
) -> Population:
    """Random feasible schedules beside the known ones, sorted."""
    size, count = numbers.shape[0], numbers.shape[1]
    made = _room(size, count)
    waiting_for = np.empty(count, dtype=np.int64)
    ready = np.empty(count, dtype=np.int64)
    for one in range(min(size, len(known_order))):
        made.order[one] = known_order[one]
        made.vm_of[one] = known_vm_of[one]
        _judge(instance, prices, rules, made, one)
    for one in range(len(known_order), size):
        known = 0
        for activation in instance.order:
            parents = instance.parent_at[activation + 1] - instance.parent_at[activation]
            waiting_for[activation] = parents
            if parents == 0:
                ready[known] = activation
                known += 1
        for place in range(count):
            pick = int(numbers[one, place, 0] * known)
            activation = ready[pick]
            known -= 1
            ready[pick] = ready[known]
            made.order[one, place] = activation
            made.vm_of[one, activation] = some_vm(instance, activation, numbers[one, place, 1], -1)
            for at in range(instance.child_at[activation], instance.child_at[activation + 1]):
                child = instance.children[at]
                waiting_for[child] -= 1
                if waiting_for[child] == 0:
                    ready[known] = child
                    known += 1
        _judge(instance, prices, rules, made, one)
    return _ranked(made, np.argsort(made.value, kind="mergesort"))


def some_vm(instance: Instance, activation: int, number: float, but: int) -> int:
    """A random VM that the activation fits, another one than `but` where there is one."""
    choices = 0
    for vm in range(len(instance.boot_ms)):
        if vm != but and instance.runtime_ms[activation, vm] != NEVER:
            choices += 1
    if choices == 0:
        return but
    left = int(number * choices)
    for vm in range(len(instance.boot_ms)):
        if vm != but and instance.runtime_ms[activation, vm] != NEVER:
            if left == 0:
                return vm
            left -= 1
    return but


def next_generation(
    instance: Instance,
    prices: Prices,
    rules: Rules,
    parents: Population,
    pairing: Floats,  # [pair, PAIRING]
    mutating: Floats,  # [offspring, 3], or [offspring, 2 × genes] where each gene may mutate
) -> Population:
    """The elite stays; pairs of parents, drawn by their fitness, have two offspring each."""
    size, count = parents.order.shape
    wheel = np.cumsum(fitness(parents.value, rules.mu))
    kept = size if rules.survival else rules.elite
    made = _room(kept + len(mutating), count)
    for one in range(kept):
        _copy(parents, one, made, one)
    for number in range(len(mutating)):
        pair = pairing[number // 2]
        first = spin(wheel, pair[number % 2])
        second = spin(wheel, pair[1 - number % 2])
        one = kept + number
        cut = 1 + int(pair[3] * (count - 1)) if pair[2] < rules.crossover else count
        cross(parents, first, second, cut, made, one)
        _mutate(instance, rules, mutating[number], made, one)
        _judge(instance, prices, rules, made, one)
    return _ranked(made, np.argsort(made.value, kind="mergesort")[:size])


def fitness(value: Floats, mu: float) -> Floats:
    """Eq. 6: 1 + mu for the best, mu for the worst; the same for all where all are equal."""
    worst, best = value.max(), value.min()
    if worst == best:
        return np.ones(len(value))
    slices: Floats = (worst - value) / (worst - best) + mu
    return slices


def spin(wheel: Floats, number: float) -> int:
    """The roulette wheel: `wheel` has the running sums of the fitness."""
    at = np.searchsorted(wheel, number * wheel[-1], side="right")
    return min(int(at), len(wheel) - 1)


def cross(
    parents: Population, first: int, second: int, cut: int, made: Population, one: int
) -> None:
    """Single point: the first parent's genes before the cut, then the second's.

    The repair: of the second parent, exactly those genes that are still missing, in its order.
    Whatever comes before an activation in either parent's order comes before it here, too, as far
    as it must: so the order stays topological.
    """
    count = parents.order.shape[1]
    taken = np.zeros(count, dtype=np.int64)
    for place in range(cut):
        activation = parents.order[first, place]
        made.order[one, place] = activation
        made.vm_of[one, activation] = parents.vm_of[first, activation]
        taken[activation] = 1
    place = cut
    for other in range(count):
        activation = parents.order[second, other]
        if taken[activation] == 0:
            made.order[one, place] = activation
            made.vm_of[one, activation] = parents.vm_of[second, activation]
            place += 1


def _mutate(instance: Instance, rules: Rules, numbers: Floats, made: Population, one: int) -> None:
    count = made.order.shape[1]
    if rules.by_gene:
        for activation in range(count):
            if numbers[2 * activation] < rules.mutation:
                _move(instance, made, one, activation, numbers[2 * activation + 1])
    elif numbers[0] < rules.mutation:
        _move(instance, made, one, int(numbers[1] * count), numbers[2])


def _move(instance: Instance, made: Population, one: int, activation: int, number: float) -> None:
    now = made.vm_of[one, activation]
    made.vm_of[one, activation] = some_vm(instance, activation, number, now)


def _judge(instance: Instance, prices: Prices, rules: Rules, made: Population, one: int) -> None:
    """Eq. 5 of one individual: cost of data and of processing, eq. 4, and makespan, eq. 3."""
    count = made.order.shape[1]
    order, vm_of = made.order[one], made.vm_of[one]
    length_ms = lengths_ms(instance, vm_of)
    start_ms, finish_ms = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    makespan_ms = decode(instance, order, vm_of, length_ms, start_ms, finish_ms)
    usd = moves_usd(instance, prices, order, vm_of[order], vm_of)
    if rules.by_work:
        for activation in range(count):
            vm = vm_of[activation]
            share = instance.cpus[activation] / (instance.slot_at[vm + 1] - instance.slot_at[vm])
            usd += share * length_ms[activation] * prices.usd_per_h[vm] / 3_600_000
    else:
        usd += rent_usd(prices, vm_of, finish_ms)
    made.makespan_ms[one] = makespan_ms
    made.cost_usd[one] = usd
    made.value[one] = usd + rules.hour_usd * makespan_ms / 3_600_000


def _room(size: int, count: int) -> Population:
    return Population(
        np.empty((size, count), dtype=np.int64),
        np.empty((size, count), dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.float64),
        np.empty(size, dtype=np.float64),
    )


def _copy(old: Population, at: int, new: Population, to: int) -> None:
    new.order[to] = old.order[at]
    new.vm_of[to] = old.vm_of[at]
    new.makespan_ms[to] = old.makespan_ms[at]
    new.cost_usd[to] = old.cost_usd[at]
    new.value[to] = old.value[at]


def _ranked(made: Population, ranks: Ints) -> Population:
    ranked = _room(len(ranks), made.order.shape[1])
    for place in range(len(ranks)):
        _copy(made, ranks[place], ranked, place)
    return ranked
