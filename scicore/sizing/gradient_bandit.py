"""Two gradient bandits per activity: one pulls the lever of CPUs, the other that of memory.

Paper: section 4.2 of the thesis (eqs. 2.2 to 2.4 and 4.1).
Idea: every number of CPUs, and every number of memory chunks, is an action with a preference.
    Actions are drawn by the softmax of the preferences, and these follow the gradient of the
    reward: less time and fewer idle CPUs; fewer unused chunks, and no death for lack of memory.
Symbols: H preferences, π probabilities, α step size, R̂ mean reward; t runtime; m the request's
    memory, n chunks of c = m/n, a = 1.5 n actions.
Differences: n is not published; it is 10 unless set. R̂ includes the present reward, so that the
    first one moves nothing. The CPU bandit does not learn from a death for lack of memory, which
    ends a program early. Where no memory is requested, the chunks are of the largest VM's.
    Allocations that are no action (a doubled retry) are not learned from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scicore.model.parameters import Parameters, setting
from scicore.model.sizing import Allocation, Experience, Need, Sized
from scicore.sizing.base import MORE, Sizer


@dataclass(frozen=True, slots=True)
class BanditParameters(Parameters):
    chunks: int = setting(10, "the requested memory is so many chunks (n)", 1, 1000)
    reach: float = setting(
        1.5, "actions go up to so many times the request (a = reach · n)", 0.1, 10
    )


class Levers:
    """A gradient bandit over the actions 1, 2, …, count."""

    def __init__(self, count: int) -> None:
        self.preferences = np.zeros(count)  # H
        self._mean_reward, self._rewards = 0.0, 0

    def probabilities(self) -> np.ndarray:
        weights = np.exp(self.preferences - self.preferences.max())  # eq. 2.4
        return np.asarray(weights / weights.sum())

    def draw(self, rng: np.random.Generator) -> int:
        return int(rng.choice(len(self.preferences), p=self.probabilities())) + 1

    def reward(self, action: int, reward: float, step: float) -> None:
        self._rewards += 1
        self._mean_reward += (reward - self._mean_reward) / self._rewards  # R̂
        gain = step * (reward - self._mean_reward)
        change = -gain * self.probabilities()  # eq. 2.3
        change[action - 1] += gain  # eq. 2.2
        self.preferences += change


class GradientBandit(Sizer):
    name = "gradient-bandit"
    kind = BanditParameters
    looks_again = False

    def __init__(self, parameters: BanditParameters, rng: np.random.Generator) -> None:
        super().__init__(parameters, rng)
        self._chunks = parameters.chunks
        self._reach = parameters.reach
        self._cpus: Levers | None = None  # made when the largest VM is known
        self._memory: Levers | None = None
        self._unborn: list[Experience] = []  # learned from when it is
        self._chunk_mb = 0.0
        self._mean_s, self._count = 0.0, 0

    def first(self, need: Need) -> Sized:
        cpus, memory = self._levers(need)
        chosen = cpus.draw(self.rng)
        why = f"bandits: {chosen} CPUs was drawn with {cpus.probabilities()[chosen - 1]:.0%}"
        if memory is None:
            return Sized(Allocation(chosen, 0), f"{why}; neither request nor VM says its memory")
        chunks = memory.draw(self.rng)
        why += f", {chunks} chunks of {self._chunk_mb:.0f} MB with "
        why += f"{memory.probabilities()[chunks - 1]:.0%}"
        return Sized(Allocation(chosen, self._mb(chunks)), why)

    def again(self, need: Need, failed: Allocation) -> Sized:
        """A new draw if that is more, else twice that, else the request."""
        drawn = self.first(need).allocation
        choices = (drawn.memory_mb, MORE * drawn.memory_mb, need.request.memory_mb)
        more = next((mb for mb in choices if mb > failed.memory_mb), MORE * failed.memory_mb)
        why = f"{failed.memory_mb} MB were not enough: {more} MB"
        return Sized(Allocation(drawn.cpus, more), why)

    def take(self, seen: Experience) -> None:
        if self._cpus is None:
            self._unborn.append(seen)
            return
        if not seen.killed:
            self._count += 1
            self._mean_s += (seen.runtime_s - self._mean_s) / self._count
            if seen.allocation.cpus <= len(self._cpus.preferences):
                idle = seen.allocation.cpus - seen.cpus_used
                reward = -seen.runtime_s * (1 + idle)  # eq. 4.1
                self._cpus.reward(seen.allocation.cpus, reward, 1 / self._mean_s)
        chunks = self._action(seen.allocation.memory_mb)
        if self._memory is not None and chunks:
            given_mb = seen.allocation.memory_mb
            unused = -2 * given_mb if seen.killed else -(given_mb - seen.peak_mb)
            self._memory.reward(chunks, unused / self._chunk_mb, 1 / self._chunks)

    def _levers(self, need: Need) -> tuple[Levers, Levers | None]:
        if self._cpus is None:
            self._cpus = Levers(max(1, need.ceiling.cpus or need.request.cpus))
            whole_mb = need.request.memory_mb or need.ceiling.memory_mb
            if whole_mb:
                self._chunk_mb = whole_mb / self._chunks
                actions = round(self._reach * self._chunks)
                if need.ceiling.memory_mb:
                    actions = min(actions, int(need.ceiling.memory_mb / self._chunk_mb))
                self._memory = Levers(max(1, actions))
            unborn, self._unborn = self._unborn, []
            for seen in unborn:
                self.take(seen)
        return self._cpus, self._memory

    def _mb(self, chunks: int) -> int:
        return max(1, math.ceil(chunks * self._chunk_mb))

    def _action(self, memory_mb: int) -> int:
        """The number of chunks that so much memory is; 0 = it is none of the actions."""
        if self._memory is None or not memory_mb:
            return 0
        chunks = round(memory_mb / self._chunk_mb)
        legal = 1 <= chunks <= len(self._memory.preferences)
        return chunks if legal and self._mb(chunks) == memory_mb else 0
