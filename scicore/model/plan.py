"""A schedule plan: which VM runs which activation, in which order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scicore.model.cloud import Fleet

if TYPE_CHECKING:  # a master follows plans without a word of what they rest on
    from scicore.model.estimate import Grounds

Policy = Mapping[str, object]
"""What a learner has learned: plain data that JSON can hold, made and read by one algorithm."""


@dataclass(frozen=True, slots=True)
class Assignment:
    activation: str  # name
    activity: str
    vm: str  # id within the plan's fleet
    start_s: float  # predicted, from the start of the run
    finish_s: float


@dataclass(frozen=True, slots=True)
class Plan:
    algorithm: str
    seed: int
    fleet: Fleet
    assignments: tuple[Assignment, ...]  # in the order of execution
    makespan_s: float  # predicted
    cost_usd: float  # predicted
    lower_bound_s: float  # no schedule on this fleet can be faster
    planning_s: float = 0.0  # how long planning took
    parameters: Mapping[str, str] = field(default_factory=dict)
    policy: Policy | None = None  # warm-starts the next learning for the same workflow
    curve: tuple[tuple[int, float], ...] = ()  # learning: episodes, best makespan_s by then
    grounds: Grounds | None = field(default=None, compare=False, repr=False)

    @property
    def gap(self) -> float:
        """How far the plan may be from the optimum: 0.1 = at most 10% longer than the bound."""
        return self.makespan_s / self.lower_bound_s - 1 if self.lower_bound_s > 0 else 0.0
