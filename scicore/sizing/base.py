"""What every sizer is: one per activity; it sizes the next attempt and learns from ended ones.

Whatever an algorithm says is kept within the largest VM, and a retry after a death for lack of
memory always gets more, as long as there is more.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from scicore.model.parameters import Parameters
from scicore.model.sizing import Allocation, Experience, Need, Sized

MORE = 2  # times the memory that was not enough


class Sizer(ABC):
    """For the activations of one activity. Its state is a function of what it was told and asked,
    and of its random generator."""

    name: ClassVar[str]
    kind: ClassVar[type[Parameters]] = Parameters
    looks_again: ClassVar[bool] = True  # who waits may be sized again; False: a draw is a draw

    def __init__(self, parameters: Parameters, rng: np.random.Generator) -> None:
        assert isinstance(parameters, self.kind)
        self.rng = rng

    def size(self, need: Need) -> Sized:
        """For the first attempt, or after one that died for lack of memory."""
        if need.failed is None:
            return _within(self.first(need), need)
        sized = _within(self.again(need, need.failed), need)
        if sized.allocation.memory_mb in range(1, need.failed.memory_mb + 1):
            allocation = Allocation(sized.allocation.cpus, MORE * need.failed.memory_mb)
            because = f"{need.failed.memory_mb} MB were not enough: {MORE} times as much"
            sized = _within(Sized(allocation, because), need)
        return sized

    def learn(self, seen: Experience) -> None:
        """From an ended attempt; nonsense is not learned from."""
        if is_sane(seen):
            self.take(seen)

    @abstractmethod
    def first(self, need: Need) -> Sized: ...

    def again(self, need: Need, failed: Allocation) -> Sized:
        """Twice what was not enough, or the request if that is still more."""
        memory_mb = max(MORE * failed.memory_mb, need.request.memory_mb)
        why = f"{failed.memory_mb} MB were not enough: {memory_mb} MB"
        return Sized(Allocation(failed.cpus, memory_mb), why)

    @abstractmethod
    def take(self, seen: Experience) -> None: ...


def is_sane(seen: Experience) -> bool:
    """A program that ran has used some memory and some time; a lost measurement has not."""
    figures = (seen.runtime_s, seen.cpu_s, seen.peak_mb)
    return (
        all(map(math.isfinite, figures)) and seen.runtime_s > 0 <= seen.cpu_s and seen.peak_mb > 0
    )


def _within(sized: Sized, need: Need) -> Sized:
    """At least a core, at most the largest VM; no memory at all means no limit."""
    asked, most = sized.allocation, need.ceiling
    cpus = max(1, min(asked.cpus, most.cpus) if most.cpus else asked.cpus)
    memory_mb = max(0, asked.memory_mb)
    if most.memory_mb and memory_mb:
        memory_mb = min(memory_mb, most.memory_mb)
    because = sized.because
    if memory_mb < asked.memory_mb or cpus < asked.cpus:
        because += "; the largest VM has no more"
    return Sized(Allocation(cpus, memory_mb), because)
