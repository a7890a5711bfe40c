"""ReASSIGN-Pareto: learns from simulated, billed episodes which plans trade time for money best."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from scicore.kernel.billing import Prices, evaluate, prices_of
from scicore.kernel.instance import NEVER, Instance, Ints, arrays_of
from scicore.kernel.jit import load, suited
from scicore.kernel.trading import (
    DRAWS,
    Aim,
    Archive,
    Schedule,
    energy,
    new_archive,
    offer,
    schedule_of,
    trade,
)
from scicore.model.front import Front, front_of
from scicore.model.objective import Goal, Objective
from scicore.model.parameters import Parameters, setting
from scicore.model.plan import Plan, Policy
from scicore.model.problem import Problem
from scicore.planners.base import Budget, Progress, Report, to_plan, validated
from scicore.planners.bounds import bounds_of
from scicore.planners.front_planner import FrontPlanner
from scicore.planners.heft import ranks_ms
from scicore.planners.reassign_plus import FEW, ReassignPlus, ReassignPlusParameters
from scicore.planners.refinement import Meter
from scicore.planners.subfleets import quick_parts

STEPS = 16  # limits of time, from the fastest to the cheapest plan
ROUNDS = 3  # the archive serves as the start of the next one
HOT, COLD = 0.02, 0.0003  # shares by which an episode may be worse, at the beginning and the end
TIME = 0.05  # the weight of time below the limit
TIME_PART = 0.15  # of the learning that goes into the makespan alone


class Preference(StrEnum):
    """Which plan of the front is `the` plan, where only one is asked for."""

    MAKESPAN = "makespan"
    COST = "cost"
    BALANCED = "balanced"


@dataclass(frozen=True, slots=True)
class ReassignParetoParameters(Parameters):
    episodes: int = setting(0, "simulated episodes without a budget; 0 = by the size", least=0)
    plans: int = setting(100, "most plans on the front", least=1, most=1000)
    prefer: Preference = setting(Preference.MAKESPAN, "the one plan: makespan, cost or balanced")


class ReassignPareto(FrontPlanner[ReassignParetoParameters]):
    """Reinforcement learning of a whole front of schedules.

    Paper
        Ours, on top of ReASSIGN+. The archive follows Pareto simulated annealing (P. Czyzżak,
        A. Jaszkiewicz, Journal of Multi-Criteria Decision Analysis 7, 1998).

    Idea
        An episode is one simulated and billed run. State: what runs where, in which order. Action:
        another VM for one activation, another turn, two that change VMs, what keeps a VM from being
        released goes elsewhere, or a VM's whole work goes to another VM, which may be a new one.
        Reward: minus the energy E.
        1. ReASSIGN+ learns the fastest plan. HEFT's plans on parts of the fleet, and the plan
           where each activation runs where it is cheapest, are the other starts.
        2. For one weight w of time after the other, the best plan in the archive for that weight is
           varied action by action; annealing decides what is kept.
        3. Whatever an episode reaches that no plan in the archive beats goes into the archive, for
           whichever weight it was played. When it is full, the plan that adds least leaves.
        The front is the archive.

    Symbols
        w     weight of time, from 0 (money alone) to 1 (time alone)
        E     w × ln(makespan) + (1 - w) × ln(cost): shares count, units do not
        heat  an episode whose E is higher by x is kept with probability exp(-x / heat)

    Differences
        From Pareto simulated annealing: one schedule at a time instead of a population, fixed
        weights, and starts that planners made. From ReASSIGN+: single VMs instead of classes,
        because what a VM costs depends on when it is released.
    """

    name = "reassign-pareto"
    settable = ReassignParetoParameters

    @property
    def objective(self) -> Objective:
        return Objective(Goal(self.parameters.prefer))

    def front(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Front:
        instance = validated(problem)
        count = len(problem.activations)
        if count > FEW:
            load()
        random = np.random.default_rng(seed)
        episodes = self.parameters.episodes or default_episodes(count)
        fastest = _fastest(problem, seed, episodes, budget, policy)
        bound_ms = max(bounds_of(instance).makespan_ms, round(fastest.lower_bound_s * 1000))
        archive = new_archive(self.parameters.plans, count)
        learner = _Learner(problem, instance, archive, progress, bound_ms)
        learner.offer(*arrays_of(problem, fastest))
        for part in quick_parts(problem, instance):
            learner.offer(part.order, part.vm_of)
        learner.offer(*_cheapest(instance, learner.prices))
        if count and learner.prices.usd_per_h.any() and len(problem.fleet.vms) > 1:
            learner.learn(Meter(episodes, budget), random)
        return front_of(
            to_plan(self, seed, problem, instance, order, vm_of, fastest.policy, bound_ms)
            for order, vm_of in learner.kept()
        )


def default_episodes(count: int) -> int:
    """Some seconds for a hundred activations."""
    if count <= FEW:
        return 600
    return min(600_000, 40_000_000 // count)


def _fastest(
    problem: Problem, seed: int, episodes: int, budget: Budget | None, policy: Policy | None
) -> Plan:
    """What ReASSIGN+ makes of a part of the time."""
    some = ReassignPlus(ReassignPlusParameters(episodes=math.ceil(episodes * TIME_PART)))
    part = None if budget is None else Budget(max(0.0, TIME_PART * budget.left_s), budget.clock)
    return some.plan(problem, seed, part, None, policy)


class _Learner:
    def __init__(
        self,
        problem: Problem,
        instance: Instance,
        archive: Archive,
        progress: Report | None,
        bound_ms: int,
    ) -> None:
        self._problem, self._instance, self._archive = problem, instance, archive
        self._progress, self._bound_s = progress, bound_ms / 1000
        self.prices: Prices = prices_of(problem)

    def offer(self, order: Ints, vm_of: Ints) -> None:
        times = np.zeros((2, len(order)), dtype=np.int64)
        run = suited(evaluate, len(order))
        makespan_ms, usd = run(self._instance, self.prices, order, vm_of, times[0], times[1])
        offer(self._archive, makespan_ms, usd, order, vm_of)

    def learn(self, meter: Meter, random: np.random.Generator) -> None:
        """Weight by weight; each starts from the best plan for it that any has found."""
        turns = STEPS * ROUNDS
        run = suited(trade, len(self._instance.order) * 500)
        done = meter.done
        for turn in range(turns):
            aim = self._aim(turn % STEPS)
            began, until = done, (turn + 1) / turns
            current = self._best_for(aim)
            hot = HOT / (1 + turn // STEPS)
            while done < until:
                heat = hot * (COLD / hot) ** ((done - began) / (until - began))
                chunk = meter.chunk(until - done)
                draws = random.random((chunk, DRAWS))
                run(self._instance, self.prices, self._archive, current, aim, heat, draws)
                before, done = done, max(done, meter.done)
                meter.count(chunk, done - before)
                done = max(done, meter.done)
                self._tell(meter.played)

    def _aim(self, step: int) -> Aim:
        """In turn from both ends: the fastest, the cheapest, the next to the fastest, …"""
        times_ms = self._archive.makespan_ms[: self._archive.size[0]]
        fastest_ms, slowest_ms = float(times_ms.min()), float(times_ms.max())
        share = step / 2 if step % 2 == 0 else STEPS - 1 - step // 2
        stretch = max(slowest_ms / max(fastest_ms, 1.0), 1.001)
        return Aim(TIME, max(fastest_ms, 1.0) * stretch ** (share / (STEPS - 1)))

    def _best_for(self, aim: Aim) -> Schedule:
        archive = self._archive
        best = min(
            range(int(archive.size[0])),
            key=lambda row: energy(int(archive.makespan_ms[row]), float(archive.usd[row]), aim),
        )
        return schedule_of(archive.order[best], archive.vm_of[best])

    def _tell(self, played: int) -> None:
        if self._progress:
            fastest_ms = self._archive.makespan_ms[: self._archive.size[0]].min()
            self._progress(Progress(played, float(fastest_ms) / 1000, self._bound_s))

    def kept(self) -> Iterator[tuple[Ints, Ints]]:
        for row in range(int(self._archive.size[0])):
            yield self._archive.order[row].copy(), self._archive.vm_of[row].copy()


def _cheapest(instance: Instance, prices: Prices) -> tuple[Ints, Ints]:
    """Each activation where its own seconds cost least, the most urgent first."""
    usd = instance.runtime_ms * (prices.usd_per_h + 1e-12) / np.diff(instance.slot_at)
    usd[instance.runtime_ms == NEVER] = np.inf
    vm_of = usd.argmin(axis=1).astype(np.int64)
    place = np.empty(len(vm_of), dtype=np.int64)
    place[instance.order] = np.arange(len(vm_of))
    order: Ints = np.lexsort((place, -ranks_ms(instance))).astype(np.int64)
    return order, vm_of
