"""A Markov decision process over solvers, learned from what they brought about: states, transition
probabilities, rewards, value iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from scicore.kernel.instance import Floats
from scicore.model.experience import Experience, Moment, Result

HOURS = 24
SWEEPS = 100_000  # value iteration ends long before


class Load(StrEnum):
    LIGHT = "light"
    MODERATE = "moderate"
    HEAVY = "heavy"


LOADS, RESULTS = tuple(Load), tuple(Result)
STATES = HOURS * len(LOADS) * len(RESULTS)  # 144


class State(NamedTuple):
    hour: int
    load: Load
    result: Result

    @property
    def number(self) -> int:
        place = self.hour * len(LOADS) + LOADS.index(self.load)
        return place * len(RESULTS) + RESULTS.index(self.result)


class Unseen(StrEnum):
    MEAN = "mean"  # what the solver has cost so far, wherever that was
    ZERO = "zero"  # nothing: whatever is unknown is promising


@dataclass(frozen=True, slots=True)
class Rules:
    light_below: float  # load
    heavy_from: float
    expc: float  # Expc at first: how much the uniform start weighs
    penalty_usd: float  # for a failure
    hour_usd: float  # for an hour of makespan
    unseen: Unseen

    def state(self, moment: Moment) -> State:
        heavy = Load.HEAVY if moment.load >= self.heavy_from else Load.MODERATE
        load = Load.LIGHT if moment.load < self.light_below else heavy
        return State(moment.hour, load, moment.result)

    def reward_usd(self, experience: Experience) -> float:
        """What is to be small, though the paper calls it a reward."""
        penalty_usd = self.penalty_usd if experience.after.result is Result.FAILURE else 0.0
        time_usd = self.hour_usd * experience.makespan_s / 3600
        return experience.cost_usd + time_usd + penalty_usd


class Tally:
    """What was seen so far: how often action a in state s led to s', and at what cost."""

    def __init__(self, solvers: Sequence[str], rules: Rules) -> None:
        self.solvers, self.rules = tuple(solvers), rules
        shape = (len(solvers), STATES, STATES)
        self.counts, self.sums_usd = np.zeros(shape), np.zeros(shape)  # [a, s, s']

    def add(self, experience: Experience) -> None:
        """Those of other solvers than these teach nothing."""
        if experience.solver in self.solvers:
            action = self.solvers.index(experience.solver)
            before, after = map(self.rules.state, (experience.before, experience.after))
            self.counts[action, before.number, after.number] += 1
            cost_usd = self.rules.reward_usd(experience)
            self.sums_usd[action, before.number, after.number] += cost_usd


class Model(NamedTuple):
    probability: Floats  # P[a, s, s']
    cost_usd: Floats  # [a, s]: R, expected over s'
    tried: Floats  # [a, s]: how often


def learned(tally: Tally) -> Model:
    """Nothing is known at first: all states are equally probable.

    Eqs. 7 and 8, transition by transition, add one to P × Expc where s' was seen and divide by
    the new Expc. After n of them that is (P_0 × Expc_0 + times s' was seen) / (Expc_0 + n).
    """
    counts, sums_usd, expc = tally.counts, tally.sums_usd, tally.rules.expc
    tried = counts.sum(axis=2)
    weight = 1 / (expc + tried)[:, :, None]
    probability = (counts + expc / STATES) * weight
    unseen_usd = np.zeros((len(counts), 1))
    if tally.rules.unseen is Unseen.MEAN:
        total = np.maximum(tried.sum(axis=1, keepdims=True), 1)
        unseen_usd = sums_usd.sum(axis=(1, 2))[:, None] / total
    seen = counts > 0
    mean_usd = np.divide(sums_usd, counts, out=np.zeros_like(counts), where=seen)
    unseen = (probability * ~seen).sum(axis=2)
    cost_usd = (probability * mean_usd).sum(axis=2) + unseen * unseen_usd
    return Model(probability, cost_usd, tried)


def action_values(model: Model, gamma: float, theta: float) -> Floats:
    """Algorithm 2, value iteration: what each action leads to in each state, [a, s], in USD."""
    value = model.cost_usd.min(axis=0)
    for _ in range(SWEEPS):
        actions: Floats = model.cost_usd + gamma * (model.probability @ value)
        better = actions.min(axis=0)
        delta = np.abs(better - value).max()
        value = better
        if delta < theta:
            break
    return actions
