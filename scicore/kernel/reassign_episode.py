"""One episode of ReASSIGN: the workflow is run once on the simulated fleet, under the Q table.

The agent decides whenever an activation is ready and a VM is idle, and is rewarded at once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scicore.kernel.instance import NEVER, Floats, Instance, Ints
from scicore.kernel.world import (
    World,
    finish_one,
    fits_now,
    give,
    new_world,
    next_finish_ms,
)

NOBODY = -1


class Rules(NamedTuple):
    """The published formulas, their ambiguities resolved; flags are 0 or 1."""

    learn: int  # 0: follow the Q table and change nothing
    alpha: float
    gamma: float
    mu: float
    rho: float
    explore: float  # probability of a random action
    three_valued: int  # reward: 1 = dissertation eq. IV (+1, 0, -1), 0 = paper eq. 6 (+1, -1)
    total_time: int  # index: 1 = execution + queue time counts, 0 = execution time
    single_indices: int  # deviation: 1 = of all activations' indices, 0 = of the VMs' means
    growing_discount: int  # 1 = gamma to the power of the step, 0 = gamma
    running_mean: int  # update: 1 = dissertation eq. VI, 0 = algorithm 2
    one_per_cycle: int  # 1 = one decision per finish, 0 = as many as are possible
    pairs: int  # action: 1 = which activation and which VM, 0 = which VM for the next activation


class Memory(NamedTuple):
    """What the agent knows. It outlives the episode."""

    q: Floats  # [activation, VM]
    executed: Floats  # [VM]: activations
    execution_s: Floats  # [VM]: sum
    queue_s: Floats  # [VM]: sum
    index_squares: Floats  # [VM]: sum of the squares of its activations' indices
    gained: Floats  # [1]: sum of the partial rewards of the latest episode


class Heaps(NamedTuple):
    """Per VM the Q values of what is ready, largest first, so that the largest is at hand."""

    value: Floats  # [VM, place]; a copy, because what is no longer ready may get another value
    whose: Ints  # [VM, place]
    size: Ints  # [VM]


def episode(
    instance: Instance, rules: Rules, memory: Memory, chance: Floats, order: Ints, vm_of: Ints
) -> int:
    """Run the workflow once; return the makespan in ms.

    `chance` has two uniform numbers per decision. `order` (of decisions) and `vm_of` are filled in.
    """
    world = new_world(instance)
    heaps = _new_heaps(instance, bool(rules.learn and not rules.running_mean))
    end = len(order)
    last_known = end  # what stands behind it in the chain is not in the heaps yet
    now = step = makespan = 0
    reward = 0.0
    memory.gained[0] = 0.0
    while True:
        last_known = _take_in(instance, memory, world, heaps, last_known)
        decided = 0
        activation = world.after[end]
        while activation != end and not (decided and rules.one_per_cycle):
            following = world.after[activation]
            chosen, vm = _choose(instance, rules, memory, world, activation, chance[step])
            if chosen == NOBODY:
                if rules.pairs or not world.free_slots.any():
                    break
                activation = following  # needs more than is free now; the next one may not
                continue
            if chosen == last_known:
                last_known = world.before[chosen]
            start = give(instance, world, chosen, vm, vm_of, now)
            order[step] = chosen
            step += 1
            decided += 1
            makespan = max(makespan, world.finish_ms[chosen])
            if rules.learn:
                execution_s = instance.runtime_ms[chosen, vm] / 1000.0
                queue_s = (start - world.ready_since_ms[chosen]) / 1000.0
                partial = _judge(rules, memory, vm, execution_s, queue_s)
                memory.gained[0] += partial
                reward += rules.rho * (partial - reward)  # eq. V
                best_next = _best_next(world, heaps)
                _update(rules, memory, chosen, vm, partial, reward, best_next, step)
            activation = world.after[end] if rules.pairs else following
        now = next_finish_ms(world)
        if now < 0:
            return makespan
        while next_finish_ms(world) == now:
            finish_one(instance, world, vm_of)
            if rules.one_per_cycle:
                break


# -- what to do -----------------------------------------------------------------------------------


def _choose(
    instance: Instance,
    rules: Rules,
    memory: Memory,
    world: World,
    activation: int,
    chance: Floats,
) -> tuple[int, int]:
    """Activation and VM; NOBODY when it, or with pairs nothing, fits an idle VM now."""
    best = best_vm = NOBODY
    possible = 0
    end = len(world.finish_ms)
    candidate = activation
    while candidate != end:
        for vm in range(len(world.free_slots)):
            if world.free_slots[vm] > 0 and fits_now(instance, world, candidate, vm):
                possible += 1
                if best == NOBODY or memory.q[candidate, vm] > memory.q[best, best_vm]:
                    best, best_vm = candidate, vm
        candidate = world.after[candidate] if rules.pairs else end
    if possible == 0 or chance[0] >= rules.explore:
        return best, best_vm
    left = int(chance[1] * possible)
    candidate = activation
    while candidate != end:
        for vm in range(len(world.free_slots)):
            if world.free_slots[vm] > 0 and fits_now(instance, world, candidate, vm):
                if left == 0:
                    return candidate, vm
                left -= 1
        candidate = world.after[candidate] if rules.pairs else end
    return best, best_vm


# -- what it was worth ----------------------------------------------------------------------------


def _judge(rules: Rules, memory: Memory, vm: int, execution_s: float, queue_s: float) -> float:
    """r_i: is the VM, with this activation, better or worse than the fleet has been so far?"""
    memory.executed[vm] += 1
    memory.execution_s[vm] += execution_s
    memory.queue_s[vm] += queue_s
    single = _index(rules, execution_s, queue_s)
    memory.index_squares[vm] += single * single
    total = memory.executed.sum()
    # eqs. 4 and 5 of the paper, II and III of the dissertation
    of_vm = _index(rules, memory.execution_s[vm], memory.queue_s[vm]) / memory.executed[vm]
    of_all = _index(rules, memory.execution_s.sum(), memory.queue_s.sum()) / total
    if rules.single_indices:
        deviation = math.sqrt(max(memory.index_squares.sum() / total - of_all**2, 0.0))
    else:
        deviation = _deviation_of_vms(rules, memory)
    if of_vm > of_all + deviation:
        return -1.0
    if rules.three_valued and of_vm >= of_all - deviation:
        return 0.0
    return 1.0


def _index(rules: Rules, execution_s: float, queue_s: float) -> float:
    """The performance index, eq. I. It is linear, so it serves single times, sums and means."""
    first = execution_s + queue_s if rules.total_time else execution_s
    return first * rules.mu + (1 - rules.mu) * queue_s


def _deviation_of_vms(rules: Rules, memory: Memory) -> float:
    """Standard deviation of the mean indices of all VMs that have executed anything."""
    known, total, squares = 0, 0.0, 0.0
    for vm in range(len(memory.executed)):
        if memory.executed[vm] > 0:
            mean = _index(rules, memory.execution_s[vm], memory.queue_s[vm]) / memory.executed[vm]
            known += 1
            total += mean
            squares += mean * mean
    return math.sqrt(max(squares / known - (total / known) ** 2, 0.0))


def _update(
    rules: Rules,
    memory: Memory,
    activation: int,
    vm: int,
    partial: float,
    reward: float,
    best_next: float,
    step: int,
) -> None:
    old = memory.q[activation, vm]
    if rules.running_mean:
        memory.q[activation, vm] = old + rules.alpha * (partial - old)  # eq. VI
    else:
        discount = rules.gamma**step if rules.growing_discount else rules.gamma
        delta = reward + discount * best_next - old
        memory.q[activation, vm] = old + rules.alpha * delta  # algorithm 2


# -- the largest Q value of the next state --------------------------------------------------------


def _best_next(world: World, heaps: Heaps) -> float:
    """max Q(s', a') over ready activations and idle VMs; to do nothing is worth 0."""
    value = -math.inf
    for vm in range(len(heaps.size)):
        if world.free_slots[vm] > 0:
            while heaps.size[vm] > 0 and world.given[heaps.whose[vm, 0]]:
                _drop(heaps, vm)
            if heaps.size[vm] > 0:
                value = max(value, heaps.value[vm, 0])
    return value if value > -math.inf else 0.0


def _new_heaps(instance: Instance, needed: bool) -> Heaps:
    count, vms = instance.runtime_ms.shape
    if not needed:
        count = vms = 0
    return Heaps(
        np.empty((vms, count)),
        np.empty((vms, count), dtype=np.int64),
        np.zeros(vms, dtype=np.int64),
    )


def _take_in(
    instance: Instance, memory: Memory, world: World, heaps: Heaps, last_known: int
) -> int:
    """Enter what has become ready since; return the last of the chain."""
    activation = world.after[last_known]
    while activation != len(world.finish_ms):
        for vm in range(len(heaps.size)):
            if instance.runtime_ms[activation, vm] != NEVER:
                _enter(heaps, vm, activation, memory.q[activation, vm])
        last_known = activation
        activation = world.after[activation]
    return int(last_known)


def _enter(heaps: Heaps, vm: int, activation: int, value: float) -> None:
    place = heaps.size[vm]
    heaps.size[vm] += 1
    while place > 0 and value > heaps.value[vm, (place - 1) // 2]:
        above = (place - 1) // 2
        heaps.value[vm, place] = heaps.value[vm, above]
        heaps.whose[vm, place] = heaps.whose[vm, above]
        place = above
    heaps.value[vm, place] = value
    heaps.whose[vm, place] = activation


def _drop(heaps: Heaps, vm: int) -> None:
    heaps.size[vm] -= 1
    size = heaps.size[vm]
    value, whose = heaps.value[vm, size], heaps.whose[vm, size]
    place, child = 0, 1
    while child < size:
        if child + 1 < size and heaps.value[vm, child + 1] > heaps.value[vm, child]:
            child += 1
        if heaps.value[vm, child] <= value:
            break
        heaps.value[vm, place] = heaps.value[vm, child]
        heaps.whose[vm, place] = heaps.whose[vm, child]
        place, child = child, 2 * child + 1
    heaps.value[vm, place] = value
    heaps.whose[vm, place] = whose
