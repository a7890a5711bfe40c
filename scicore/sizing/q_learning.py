"""Q-learning: from the allocation that an activity had last, one step up, down, or none.

Paper: section 4.3 of the thesis (eqs. 2.5 and 4.2, algorithm 1); options from its section 6.1.
Idea: the state is the allocation of CPUs and memory, the five actions are one more or one less of
    either, and to stay. Every action is tried once in every state; then ε-greedy.
Symbols: α = 0.1, γ = 1.0; ε = 0.5, from 50 runs on 0.25, from 100 on 0.1; t/avg_t the runtime
    against its mean; mem the memory allocated, in units of the request; mem_use its used share.
Differences: the grid is not published: `cpu_chunks` and `memory_chunks` per request, up to twice
    the CPUs and `reach` times the memory. A death for lack of memory has no reward in the thesis,
    and eq. 4.2 would call it perfect use: here it costs twice the allocation, idle, as the memory
    bandit has it; its retry takes the next step up, and is learned from like any attempt.
    Eq. 4.2 as printed has 1 − max(0.75, mem_use), its text a penalty of at least 25%,
    1 − min(0.75, mem_use): `penalty` chooses. Where attempts of one activity run side by side,
    the state is the allocation that was given last.
Options, each off as published: `epsilon=inverse` (1/t), `trace` (eligibility, Q(λ)), `replay`,
    `agents=separate` for CPUs and memory, `sizes` (classes of input size, as a feature).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from scicore.model.parameters import Parameters, setting
from scicore.model.sizing import Allocation, Experience, Need, Sized
from scicore.sizing.base import Sizer
from scicore.sizing.q_agent import Action, Learning, State, Walker, moved


class Epsilon(StrEnum):
    PUBLISHED = "published"  # 0.5 → 0.25 → 0.1
    INVERSE = "inverse"  # 1/t


class Agents(StrEnum):
    JOINT = "joint"
    SEPARATE = "separate"


class Penalty(StrEnum):
    PRINTED = "printed"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class QLearningParameters(Parameters):
    alpha: float = setting(0.1, "step size", 0, 1)
    gamma: float = setting(1.0, "discount", 0, 1)
    epsilon: Epsilon = setting(Epsilon.PUBLISHED, "how exploring ends: published, inverse (1/t)")
    agents: Agents = setting(Agents.JOINT, "one for both, or one each for CPUs and memory")
    penalty: Penalty = setting(Penalty.PRINTED, "of unused memory: as eq. 4.2, or as its text")
    trace: float = setting(0.0, "decay λ of eligibility traces; 0 = none", 0, 1)
    replay: int = setting(0, "earlier steps learned from again after each one", 0, 1000)
    sizes: int = setting(1, "classes of input size, each with values of its own", 1, 64)
    cpu_chunks: int = setting(2, "steps of CPUs per request", 1, 64)
    memory_chunks: int = setting(2, "steps of memory per request", 1, 64)
    reach: float = setting(1.5, "memory goes up to so many times the request", 1, 10)


class QLearning(Sizer):
    name = "q-learning"
    kind = QLearningParameters
    looks_again = False

    def __init__(self, parameters: QLearningParameters, rng: np.random.Generator) -> None:
        super().__init__(parameters, rng)
        self._parameters = parameters
        self._grid: Grid | None = None  # made when the request is known
        self._walkers: tuple[tuple[Walker, tuple[int, ...]], ...] = ()  # each with its axes
        self._unborn: list[Experience] = []
        self._state: State = ()
        self._steps: dict[State, tuple[State, Action]] = {}  # state → the step that led there last
        self._learned: State | None = None  # of the last attempt that was learned from
        self._runs: set[int] = set()
        self._mean_s, self._count = 0.0, 0

    def first(self, need: Need) -> Sized:
        grid = self._on(need)
        context = self._context(need.input_bytes)
        step: list[int] = [0] * len(grid.shape)
        reasons = []
        for walker, axes in self._walkers:
            place = tuple(self._state[axis] for axis in axes)
            action, why = walker.choose(context, place, self._epsilon(), self.rng)
            reasons.append(why)
            for axis, by in zip(axes, action, strict=True):
                step[axis] = by
        before, self._state = self._state, moved(self._state, tuple(step))
        self._steps[self._state] = (before, tuple(step))
        why = f"run {len(self._runs) + 1} of the agent: {', '.join(dict.fromkeys(reasons))}"
        return Sized(grid.allocation(self._state), why)

    def again(self, need: Need, failed: Allocation) -> Sized:
        """The next step of memory up, while there is one."""
        grid = self._on(need)
        higher = next((mb for mb in grid.memory_mb if mb > failed.memory_mb), 0)
        if not higher:
            return super().again(need, failed)
        why = f"{failed.memory_mb} MB were not enough: the next step, {higher} MB"
        return Sized(Allocation(failed.cpus, higher), why)

    def take(self, seen: Experience) -> None:
        if self._grid is None:
            self._unborn.append(seen)
            return
        self._runs.add(seen.run)
        if not seen.killed:
            self._count += 1
            self._mean_s += (seen.runtime_s - self._mean_s) / self._count
        state = self._grid.state(seen.allocation)
        if state is None:
            return
        before, step = self._steps.pop(state) if state in self._steps else self._step_to(state)
        self._learned = state
        context = self._context(seen.input_bytes)
        for walker, axes in self._walkers:
            action = tuple(step[axis] for axis in axes)
            place = tuple(before[axis] for axis in axes)
            then = tuple(state[axis] for axis in axes)
            if action in walker.actions(place):
                pair = (context, place, action)
                walker.learn(pair, self._reward(seen, axes), then, self.rng)

    def _step_to(self, state: State) -> tuple[State, Action]:
        """From the attempt before, when the history does not say which step was chosen."""
        before = self._learned or state
        self._state = state
        return before, tuple(now - then for now, then in zip(state, before, strict=True))

    def _reward(self, seen: Experience, axes: tuple[int, ...]) -> float:
        idle = max(0.1, seen.allocation.cpus - seen.cpus_used)
        slow = seen.runtime_s / self._mean_s if self._mean_s else 1.0
        given_mb, asked_mb = seen.allocation.memory_mb, seen.request.memory_mb
        memory = given_mb / (asked_mb or given_mb or 1)
        use = seen.peak_mb / given_mb if given_mb else 1.0
        printed = self._parameters.penalty is Penalty.PRINTED
        unused = max(0.0, 1 - (max(0.75, use) if printed else min(0.75, use)))
        if seen.killed:
            idle, slow, unused = float(seen.allocation.cpus), 1.0, 2.0
        cpu_part, memory_part = idle * slow, memory * unused
        if len(axes) == 2:
            return -cpu_part * memory_part  # eq. 4.2
        return -cpu_part if axes == (0,) else -memory_part

    def _epsilon(self) -> float:
        runs = len(self._runs)
        if self._parameters.epsilon is Epsilon.INVERSE:
            return 1 / max(1, runs)
        return 0.5 if runs < 50 else 0.25 if runs < 100 else 0.1

    def _context(self, input_bytes: int | None) -> int:
        if self._parameters.sizes == 1 or not input_bytes:
            return 0
        return min(input_bytes.bit_length() * self._parameters.sizes // 48, self._parameters.sizes)

    def _on(self, need: Need) -> Grid:
        if self._grid is None:
            parameters = self._parameters
            self._grid = grid = Grid.around(need, parameters)
            self._state = grid.state(need.request) or (0,) * 2
            learning = Learning(
                parameters.alpha, parameters.gamma, parameters.trace, parameters.replay
            )
            separate = parameters.agents is Agents.SEPARATE
            self._walkers = tuple(
                (Walker([grid.shape[axis] for axis in axes], learning), axes)
                for axes in (((0,), (1,)) if separate else ((0, 1),))
            )
            unborn, self._unborn = self._unborn, []
            for seen in unborn:
                self.take(seen)
        return self._grid


@dataclass(frozen=True, slots=True)
class Grid:
    """The allocations that there are to choose from."""

    cpus: tuple[int, ...]
    memory_mb: tuple[int, ...]

    @classmethod
    def around(cls, need: Need, parameters: QLearningParameters) -> Grid:
        asked, most = need.request, need.ceiling
        step = max(1, round(asked.cpus / parameters.cpu_chunks))
        cpus = range(step, min(2 * asked.cpus, most.cpus or 2 * asked.cpus) + 1, step)
        whole_mb = asked.memory_mb or most.memory_mb
        chunks = parameters.memory_chunks
        steps = range(1, max(1, int(parameters.reach * chunks)) + 1)
        memory_mb = {math.ceil(whole_mb * count / chunks) for count in steps}
        if most.memory_mb:
            memory_mb = {mb for mb in memory_mb if mb <= most.memory_mb} or {most.memory_mb}
        options = {*cpus, min(asked.cpus, most.cpus or asked.cpus)}
        return cls(tuple(sorted(options)), tuple(sorted(memory_mb)))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.cpus), len(self.memory_mb)

    def allocation(self, state: State) -> Allocation:
        return Allocation(self.cpus[state[0]], self.memory_mb[state[1]])

    def state(self, allocation: Allocation) -> State | None:
        try:
            return (
                self.cpus.index(allocation.cpus),
                self.memory_mb.index(allocation.memory_mb),
            )
        except ValueError:
            return None
