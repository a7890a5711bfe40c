"""GTBGA: stage by stage, activations play a game for the VMs until none wants to move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scicore.kernel.instance import NEVER, Floats, Instance, Ints
from scicore.kernel.strict import Lanes, new_lanes, occupy, opening_ms, ready_ms
from scicore.model.parameters import Parameters, setting
from scicore.planners.trade_off import Appraiser, TradeOff


@dataclass(frozen=True, slots=True)
class GtbgaParameters(Parameters):
    weights: int = setting(11, "weights of money against time, from 0 to 1", 1, 1000)
    rounds: int = setting(20, "times that each may move, at most, in a stage", 1, 1000)


class Gtbga(TradeOff[GtbgaParameters]):
    """Game-theory-based greedy algorithm.

    Paper
        L. Wu, Y. Wang: Scheduling Multi-Workflows Over Heterogeneous Virtual Machines With a
        Multi-Stage Dynamic Game-Theoretic Approach. International Journal of Web Services Research
        15(4), 2018.

    Idea
        A stage has the activations of all workflows that are equally far from their beginnings.
        They are the players, VMs their strategies. Each wants its VM to be done early, which
        depends on who else is there, and to cost little. In turn, each takes the VM that is best
        given where the others are, until nobody would move: a Nash equilibrium. It is kept, and
        the next stage begins.

    Symbols
        L_j        when VM j is done with its share of the stage: load over slots
        ET, p      runtime of the player on the VM, price of the VM
        w          weight of money
        u_i(j)     what player i makes small: (1 - w) × L_j / max L + w × ET × p / max ET × p

    Differences
        - We know the paper by its abstract and by those who compare with it. That it plays in
          stages, for makespan, cost and fair shares of the load, is from there; the payoff and
          the dynamics are ours. Shares are fair because players avoid the VM that has most.
        - A front comes from several weights; the paper has one plan.
    """

    name = "gtbga"
    settable = GtbgaParameters

    def expected(self, count: int) -> int:
        return self.parameters.weights

    def search(self, instance: Instance, appraise: Appraiser, chance: np.random.Generator) -> None:
        price = appraise.prices.usd_per_h
        for weight in np.linspace(0, 1, self.parameters.weights):
            order, vm_of = play(instance, price, float(weight), self.parameters.rounds)
            appraise(order[None, :], vm_of[None, :])
            if appraise.out_of_time:
                break


def play(instance: Instance, price: Floats, weight: float, rounds: int) -> tuple[Ints, Ints]:
    """All stages with one weight of money."""
    slots = np.diff(instance.slot_at)
    lanes = new_lanes(instance)
    vm_of, finish_ms = (np.zeros(len(instance.order), dtype=np.int64) for _ in range(2))
    order = []
    for stage in stages(instance):
        done_ms = np.add.reduceat(lanes.free_ms, instance.slot_at[:-1]) / slots
        lengths = instance.runtime_ms[stage]
        vm_of[stage] = equilibrium(lengths, done_ms, slots, price, weight, rounds)
        longest_first = stage[np.argsort(-lengths.max(axis=1), kind="stable")]
        for activation in longest_first.tolist():
            _place(instance, lanes, activation, vm_of, finish_ms)
        order.append(longest_first)
    return np.concatenate(order), vm_of


def equilibrium(
    length_ms: Ints, done_ms: Floats, slots: Ints, price: Floats, weight: float, rounds: int
) -> Ints:
    """VMs of a stage's players, none of whom would rather have another (or rounds are over)."""
    fits = length_ms != NEVER
    load_ms = np.where(fits, length_ms, 0) / slots
    usd = np.where(fits, length_ms * price, 0.0)
    dearest = np.maximum(usd.max(axis=1, keepdims=True), 1e-12)
    money = np.where(fits, weight * usd / dearest, np.inf)
    scale_ms = max(float((done_ms + load_ms.sum(axis=0)).max()), 1.0)
    total_ms = done_ms.copy()
    chosen = np.full(len(length_ms), -1, dtype=np.int64)
    for _ in range(rounds):
        moved = False
        for player in range(len(chosen)):
            before = chosen[player]
            if before >= 0:
                total_ms[before] -= load_ms[player, before]
            wants = (1 - weight) * (total_ms + load_ms[player]) / scale_ms + money[player]
            best = int(np.argmin(wants))
            if before >= 0 and wants[before] <= wants[best] + 1e-12:
                best = int(before)  # moves for nothing would never end
            moved |= best != before
            chosen[player] = best
            total_ms[best] += load_ms[player, best]
        if not moved:
            break
    return chosen


def stages(instance: Instance) -> list[Ints]:
    """Activations by their distance from the beginning, in edges of the longest way."""
    depth = np.zeros(len(instance.order), dtype=np.int64)
    for activation in instance.order:
        parents = instance.parents[slice(*instance.parent_at[activation : activation + 2])]
        depth[activation] = depth[parents].max(initial=-1) + 1
    return [np.flatnonzero(depth == stage) for stage in range(depth.max() + 1)]


def _place(instance: Instance, lanes: Lanes, activation: int, vm_of: Ints, finish_ms: Ints) -> None:
    vm = int(vm_of[activation])
    ready = ready_ms(instance, activation, vm, vm_of, finish_ms)
    start = opening_ms(instance, lanes, activation, vm, ready)
    finish_ms[activation] = start + instance.runtime_ms[activation, vm]
    occupy(instance, lanes, activation, vm, start, int(finish_ms[activation]))
