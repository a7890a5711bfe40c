"""Replay memory: the last experiences ⟨s, a, r, s'⟩ of the agents, to learn from in any order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scicore.kernel.instance import Floats


class Sample(NamedTuple):
    taken: Floats  # [row, feature]: state and action
    rewards: Floats  # [agent, row]
    following: Floats  # [row, action, feature]: the next state with each of its actions
    possible: NDArray[np.bool_]  # [row, action]; none after the last step


class Replay:
    """Full, it forgets the oldest."""

    def __init__(self, capacity: int, agents: int, actions: int, features: int) -> None:
        self._taken = np.zeros((capacity, features))
        self._rewards = np.zeros((agents, capacity))
        self._following = np.zeros((capacity, actions, features))
        self._possible = np.zeros((capacity, actions), dtype=np.bool_)
        self._stored = 0

    def __len__(self) -> int:
        return min(self._stored, len(self._taken))

    def store(
        self,
        taken: Floats,
        rewards: tuple[float, ...],
        following: Floats | None,
        possible: NDArray[np.bool_] | None,
    ) -> None:
        """None follows the last step."""
        row = self._stored % len(self._taken)
        self._stored += 1
        self._taken[row] = taken
        self._rewards[:, row] = rewards
        self._possible[row] = False if possible is None else possible
        if following is not None:
            self._following[row] = following

    def sample(self, size: int, chance: np.random.Generator) -> Sample:
        rows = chance.integers(0, len(self), size)
        return Sample(
            self._taken[rows], self._rewards[:, rows], self._following[rows], self._possible[rows]
        )
