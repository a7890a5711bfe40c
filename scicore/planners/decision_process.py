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


@dataclass(frozen=True, slots=True)
class Model:
    """P[a, s, s'] and R[a, s, s'], and how often action a was taken in state s."""

    probability: Floats
    reward_usd: Floats
    tried: Floats  # [a, s]


def learned(solvers: Sequence[str], known: Sequence[Experience], rules: Rules) -> Model:
    """What all experiences of these solvers teach; nothing is known at first.

    Eqs. 7 and 8, transition by transition, add one to P × Expc where s' was seen and divide by
    the new Expc. After n of them that is (P_0 × Expc_0 + times s' was seen) / (Expc_0 + n).
    """
    shape = (len(solvers), STATES, STATES)
    sums, counts = np.zeros(shape), np.zeros(shape)
    place = {solver: action for action, solver in enumerate(solvers)}
    for each in known:
        if each.solver in place:
            before, after = rules.state(each.before), rules.state(each.after)
            where = place[each.solver], before.number, after.number
            sums[where] += rules.reward_usd(each)
            counts[where] += 1
    tried = counts.sum(axis=2)
    probability = (rules.expc / STATES + counts) / (rules.expc + tried)[:, :, None]
    unseen = np.zeros((len(solvers), 1, 1))
    if rules.unseen is Unseen.MEAN:
        total = np.maximum(counts.sum(axis=(1, 2), keepdims=True), 1)
        unseen = sums.sum(axis=(1, 2), keepdims=True) / total
    reward_usd = np.where(counts > 0, sums / np.maximum(counts, 1), unseen)
    return Model(probability, reward_usd, tried)


def action_values(model: Model, gamma: float, theta: float) -> Floats:
    """Algorithm 2, value iteration: what each action leads to in each state, [a, s], in USD."""
    at_once = (model.probability * model.reward_usd).sum(axis=2)
    value = at_once.min(axis=0)
    for _ in range(SWEEPS):
        actions: Floats = at_once + gamma * (model.probability @ value)
        better = actions.min(axis=0)
        delta = np.abs(better - value).max()
        value = better
        if delta < theta:
            break
    return actions
