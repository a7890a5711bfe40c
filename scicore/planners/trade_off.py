"""Planners that search for a whole front by appraising populations of schedules."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

import numpy as np

from scicore.kernel.appraisal import appraise
from scicore.kernel.billing import prices_of
from scicore.kernel.instance import NEVER, Floats, Instance, Ints
from scicore.kernel.jit import suited
from scicore.model.front import Front
from scicore.model.parameters import Parameters
from scicore.model.plan import Policy
from scicore.model.problem import Problem
from scicore.planners.archive import Archive
from scicore.planners.base import Budget, Progress, Report, validated
from scicore.planners.bounds import path_bound_ms
from scicore.planners.front_planner import FrontPlanner

P = TypeVar("P", bound=Parameters)


class Appraiser:
    """Time and money of whole populations; what is worth it goes into the archive."""

    def __init__(
        self,
        problem: Problem,
        instance: Instance,
        expected: int,  # so many schedules without a budget: many pay for compiling
        budget: Budget | None,
        progress: Report | None,
    ) -> None:
        self.archive = Archive()
        self.appraised = 0
        self.expected = expected
        self._instance = instance
        self.prices = prices_of(problem)
        self._run = suited(appraise, expected * len(instance.order))
        self._budget, self._progress = budget, progress
        self._bound_s = path_bound_ms(instance) / 1000

    def __call__(self, orders: Ints, vms: Ints) -> Floats:
        """[schedule, 2]: makespan in milliseconds, cost in USD."""
        makespan_ms = np.zeros(len(orders), dtype=np.int64)
        cost_usd = np.zeros(len(orders))
        self._run(self._instance, self.prices, orders, vms, makespan_ms, cost_usd)
        for row in range(len(orders)):
            self.archive.add(orders[row], vms[row], int(makespan_ms[row]), float(cost_usd[row]))
        self.appraised += len(orders)
        if self._progress:
            best_s = self.archive.members[0].makespan_ms / 1000
            self._progress(Progress(self.appraised, best_s, self._bound_s))
        return np.column_stack([makespan_ms.astype(np.float64), cost_usd])

    @property
    def out_of_time(self) -> bool:
        return self._budget is not None and self._budget.spent

    def done(self) -> float:
        """The part of the search that is over, from 0 to 1: of the budget, else of what was
        expected."""
        if self._budget is None:
            return min(self.appraised / self.expected, 1.0)
        left_s = self._budget.left_s
        return 1 - left_s / self._budget.seconds if left_s > 0 else 1.0


class TradeOff(FrontPlanner[P]):
    @abstractmethod
    def expected(self, count: int) -> int:
        """Schedules that are appraised without a budget, of so many activations."""

    @abstractmethod
    def search(self, instance: Instance, appraise: Appraiser, chance: np.random.Generator) -> None:
        """Appraise schedules until the search is done; there is at least one activation."""

    def front(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Front:
        instance = validated(problem)
        count = len(instance.order)
        appraise = Appraiser(problem, instance, self.expected(count), budget, progress)
        if count:
            self.search(instance, appraise, np.random.default_rng(seed))
        else:
            nothing = np.zeros((1, 0), dtype=np.int64)
            appraise(nothing, nothing)
        return appraise.archive.front(self, seed, problem, instance)


def allowed_vms(instance: Instance) -> tuple[Ints, Ints]:
    """The VMs that each activation fits, from the left, [activation, VM]; and how many."""
    fits = instance.runtime_ms != NEVER
    return np.argsort(~fits, axis=1, kind="stable"), fits.sum(axis=1)
