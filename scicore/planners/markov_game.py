"""Scheduling as a Markov game: activations come as they are ready, two agents name a VM for each.

What the agents see is relative (to the activation, to the schedule so far), so that what they learn
holds for other workflows and other fleets.
"""

from __future__ import annotations

import heapq
from enum import StrEnum

import numpy as np

from scicore.kernel.appraisal import offers
from scicore.kernel.instance import NEVER, Floats, Instance, Ints
from scicore.kernel.jit import suited
from scicore.kernel.ranking import mean_runtimes_ms
from scicore.kernel.strict import new_lanes, occupy
from scicore.model.problem import Problem
from scicore.planners.heft import ranks_ms

AGENTS = 2  # makespan and cost, in this order
FEATURES = 11
LEAST_REWARD = -1.0  # eq. 8 has no lower bound, a game's rewards have


class GrowthIn(StrEnum):
    """ET of eq. 8: what the growth of the makespan is measured in."""

    CHOSEN = "chosen"  # the activation's runtime on the VM that was named, as printed
    MEAN = "mean"  # its mean runtime over the VMs: a slow VM is no excuse


class Game:
    """One episode after the other on the same problem."""

    def __init__(
        self, problem: Problem, instance: Instance, episodes: int, growth_in: GrowthIn
    ) -> None:
        count, vms = instance.runtime_ms.shape
        self._instance = instance
        self.fits = instance.runtime_ms != NEVER  # [activation, VM]
        self._length_ms = np.where(self.fits, instance.runtime_ms, 0).astype(np.float64)
        self._mean_ms = np.maximum(mean_runtimes_ms(instance), 1.0)
        chosen = growth_in is GrowthIn.CHOSEN
        self._unit_ms = self._length_ms if chosen else self._mean_ms[:, None].repeat(vms, axis=1)
        usual_ms = max(float(self._mean_ms.mean()), 1.0) if count else 1.0
        price = np.array([vm.type.price_usd_per_hour for vm in problem.fleet.vms])
        self.cost_share = cost_shares(self._length_ms * price, self.fits)
        rank_u = ranks_ms(instance)
        self._still = np.column_stack(  # what about an activation does not change
            [
                self._mean_ms / usual_ms,
                rank_u / max(float(rank_u.max(initial=0)), 1.0),
                np.diff(instance.child_at),
            ]
        )
        self._place = np.empty(count, dtype=np.int64)
        self._place[instance.order] = np.arange(count)
        self._offers = suited(offers, count * vms * episodes)
        self._start_ms = np.zeros(vms, dtype=np.int64)
        self.begin()

    def begin(self) -> None:
        count = len(self._mean_ms)
        self._lanes = new_lanes(self._instance)
        self.vm_of, self.finish_ms = (np.zeros(count, dtype=np.int64) for _ in range(2))
        self.order: list[int] = []
        self.makespan_ms = 0
        self._busy_ms = np.zeros(len(self._start_ms), dtype=np.int64)  # until when, so far
        self._waiting_for = np.diff(self._instance.parent_at)
        first = np.flatnonzero(self._waiting_for == 0)
        self._ready = [(0, int(self._place[each]), int(each)) for each in first]
        heapq.heapify(self._ready)
        self._next()

    @property
    def over(self) -> bool:
        return self.activation < 0

    def _next(self) -> None:
        """The activation that has been ready longest; -1 after the last one."""
        self.activation = heapq.heappop(self._ready)[2] if self._ready else -1
        if not self.over:
            self._offers(
                self._instance,
                self._lanes,
                self.activation,
                self.vm_of,
                self.finish_ms,
                self._start_ms,
            )

    def features(self) -> Floats:
        """[VM, feature] of the activation that is next; rows of VMs that it does not fit say
        nothing."""
        one, fits = self.activation, self.fits[self.activation]
        start_ms = self._start_ms
        finish_ms = start_ms + self._length_ms[one]
        mean_ms, end_ms = self._mean_ms[one], max(self.makespan_ms, 1)
        seen = np.empty((len(fits), FEATURES))
        seen[:, 0] = self._length_ms[one] / mean_ms
        seen[:, 1] = (start_ms - start_ms[fits].min()) / mean_ms
        seen[:, 2] = (finish_ms - finish_ms[fits].min()) / mean_ms
        seen[:, 3] = (finish_ms - self.makespan_ms) / mean_ms
        seen[:, 4] = self.cost_share[one]
        seen[:, 5] = self._busy_ms / end_ms
        seen[:, 6] = self._busy_ms > 0
        seen[:, 7] = len(self.order) / len(self._mean_ms)
        seen[:, 8:] = self._still[one]
        squeezed: Floats = np.sign(seen) * np.log1p(np.abs(seen))
        return squeezed

    def step(self, vm: int) -> tuple[float, float]:
        """Both agents have named this VM; what each is rewarded with, eqs. 8 and 9."""
        one = self.activation
        length_ms = int(self._instance.runtime_ms[one, vm])
        start = int(self._start_ms[vm])
        finish = start + length_ms
        occupy(self._instance, self._lanes, one, vm, start, finish)
        self.vm_of[one], self.finish_ms[one] = vm, finish
        self.order.append(one)
        self._busy_ms[vm] = max(self._busy_ms[vm], finish)
        grown_ms = max(finish - self.makespan_ms, 0)
        self.makespan_ms += grown_ms
        self._release(one)
        self._next()
        unit_ms = float(self._unit_ms[one, vm])
        return makespan_reward(unit_ms, grown_ms), (1 - float(self.cost_share[one, vm])) ** 3

    def _release(self, parent: int) -> None:
        instance = self._instance
        for child in instance.children[instance.child_at[parent] : instance.child_at[parent + 1]]:
            self._waiting_for[child] -= 1
            if self._waiting_for[child] == 0:
                first, last = instance.parent_at[child], instance.parent_at[child + 1]
                ready_ms = int(self.finish_ms[instance.parents[first:last]].max())
                heapq.heappush(self._ready, (ready_ms, int(self._place[child]), int(child)))


def makespan_reward(unit_ms: float, grown_ms: int) -> float:
    """eq. 8: 1 if the makespan has not grown, 0 if it has grown by ET, here `unit_ms`."""
    if grown_ms == 0:
        return 1.0
    if unit_ms == 0:
        return LEAST_REWARD
    return max(((unit_ms - grown_ms) / unit_ms) ** 3, LEAST_REWARD)


def cost_shares(cost: Floats, fits: Ints) -> Floats:
    """1 - the base of eq. 9: where between its best VM (0) and its worst (1) each activation's
    cost is; 0 where all cost the same."""
    worst = np.where(fits, cost, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    best = np.where(fits, cost, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    span = np.where(worst > best, worst - best, 1.0)
    shares: Floats = np.where(fits & (worst > best), (cost - best) / span, 0.0)
    return shares
