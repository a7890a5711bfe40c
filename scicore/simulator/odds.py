"""How a plan's time and money scatter over many simulated runs, and how often limits are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from scicore.model.activation import RunState
from scicore.model.objective import Objective
from scicore.model.plan import Plan
from scicore.model.problem import Problem
from scicore.simulator.models import Uncertainty
from scicore.simulator.repeats import simulations

SURE = 2.33  # standard errors: 99 times of 100, the true share is not lower than the one promised


@dataclass(frozen=True, slots=True)
class Odds:
    """One element per simulated run; one that did not come to its end took for ever."""

    makespan_s: NDArray[np.float64]
    cost_usd: NDArray[np.float64]

    def time_s(self, share: float) -> float:
        """So long at most, in this share of all runs."""
        return _upper(self.makespan_s, share)

    def money_usd(self, share: float) -> float:
        return _upper(self.cost_usd, share)

    def keeps(self, objective: Objective) -> float:
        """The share of all runs that keep every constraint at once."""
        kept = np.ones(len(self.makespan_s), dtype=np.bool_)
        if objective.deadline_s is not None:
            kept &= self.makespan_s <= objective.deadline_s
        if objective.max_cost_usd is not None:
            kept &= self.cost_usd <= objective.max_cost_usd
        return float(kept.mean())

    def assures(self, objective: Objective, confidence: float) -> bool:
        """Is it kept with this confidence, even if these simulations were lucky ones?"""
        return self.keeps(objective) >= required(confidence, len(self.makespan_s))


def required(confidence: float, repeats: int) -> float:
    """The share of so many simulations that has to keep a limit, so that it can be promised."""
    error = math.sqrt(confidence * (1 - confidence) / repeats)
    return min(1.0, confidence + SURE * error)


def _upper(values: NDArray[np.float64], share: float) -> float:
    return float(np.quantile(values, share, method="inverted_cdf"))


def odds_of(
    problem: Problem, plan: Plan, uncertainty: Uncertainty, rng: Generator, repeats: int
) -> Odds:
    """By strict dispatch: the plan as it is. A run that leaves it where that pays does better."""
    outcomes = list(simulations(problem, plan, uncertainty, rng, repeats))
    ended = np.array([each.state is RunState.FINISHED for each in outcomes])
    times = np.array([each.makespan_s for each in outcomes])
    return Odds(
        np.where(ended, times, np.inf),
        np.where(ended, [each.cost_usd for each in outcomes], np.inf),
    )
