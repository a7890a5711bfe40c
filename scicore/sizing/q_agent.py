"""A tabular Q-learner that walks on a grid: each action is a step along one axis, or none.

Knows nothing of sizing. Watkins' Q(λ) and replay are here because they belong to the learner.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

State = tuple[int, ...]  # a point of the grid
Action = tuple[int, ...]  # what is added to it
Pair = tuple[Hashable, State, Action]  # in which context, where, what


@dataclass(frozen=True, slots=True)
class Learning:
    alpha: float = 0.1
    gamma: float = 1.0
    trace: float = 0.0  # λ: how much of an error goes to the steps before; 0 = none
    replay: int = 0  # remembered steps that are learned from again after each one


class Walker:
    def __init__(self, shape: Sequence[int], learning: Learning) -> None:
        self._shape = tuple(shape)
        self._learning = learning
        self.values: dict[Pair, float] = {}  # Q; what is missing was never tried
        self._eligible: dict[Pair, float] = {}
        self._memory: list[tuple[Pair, float, State]] = []

    def actions(self, state: State) -> list[Action]:
        """The five (or three) that do not leave the grid; staying first."""
        axes = range(len(self._shape))
        steps = [
            tuple(by if axis == along else 0 for axis in axes) for along in axes for by in (1, -1)
        ]
        legal = [step for step in steps if self.inside(moved(state, step))]
        return [(0,) * len(self._shape), *legal]

    def inside(self, state: State) -> bool:
        return all(0 <= at < size for at, size in zip(state, self._shape, strict=True))

    def choose(
        self, context: Hashable, state: State, epsilon: float, rng: np.random.Generator
    ) -> tuple[Action, str]:
        """Untried actions first; then by chance with probability ε, else the best."""
        actions = self.actions(state)
        untried = [each for each in actions if (context, state, each) not in self.values]
        if untried:
            return untried[int(rng.integers(len(untried)))], "an action never tried there"
        if rng.random() < epsilon:
            return actions[int(rng.integers(len(actions)))], f"by chance (ε = {epsilon:g})"
        best = max(actions, key=lambda each: self.values[context, state, each])
        return best, "the best action known there"

    def learn(self, pair: Pair, reward: float, then: State, rng: np.random.Generator) -> None:
        settings = self._learning
        greedy = self.values.get(pair, 0.0) >= self._best(pair[0], pair[1])
        error = self._error(pair, reward, then)
        if settings.trace:
            decay = settings.gamma * settings.trace if greedy else 0.0  # Watkins cuts elsewhere
            self._eligible = {
                each: kept * decay for each, kept in self._eligible.items() if kept * decay > 1e-3
            }
            for each, kept in self._eligible.items():
                self.values[each] += settings.alpha * error * kept
            self._eligible[pair] = 1.0
        self.values[pair] = self.values.get(pair, 0.0) + settings.alpha * error  # eq. 2.5
        if settings.replay:
            self._memory.append((pair, reward, then))
            for index in rng.integers(len(self._memory), size=settings.replay):
                again, past_reward, there = self._memory[int(index)]
                correction = settings.alpha * self._error(again, past_reward, there)
                self.values[again] += correction

    def _error(self, pair: Pair, reward: float, then: State) -> float:
        known = self.values.get(pair, 0.0)
        return reward + self._learning.gamma * self._best(pair[0], then) - known  # eq. 2.6

    def _best(self, context: Hashable, state: State) -> float:
        """What was never tried counts as 0, as all of Q does at first."""
        return max(self.values.get((context, state, each), 0.0) for each in self.actions(state))


def moved(state: State, action: Action) -> State:
    return tuple(at + by for at, by in zip(state, action, strict=True))
