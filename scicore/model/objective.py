"""What the user wants of a plan: time, money, both, and how much of either is too much."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scicore.errors import UsageError


class Goal(StrEnum):
    MAKESPAN = "makespan"  # as fast as possible
    COST = "cost"  # as cheap as possible
    BALANCED = "balanced"  # where giving up a share of one buys no larger share of the other
    PARETO = "pareto"  # all plans that no other one beats in both


@dataclass(frozen=True, slots=True)
class Objective:
    goal: Goal = Goal.MAKESPAN
    deadline_s: float | None = None  # None: any makespan will do
    max_cost_usd: float | None = None  # None: any cost will do

    def __post_init__(self) -> None:
        for what, value in (("deadline", self.deadline_s), ("highest cost", self.max_cost_usd)):
            if value is not None and not 0 < value < float("inf"):
                raise UsageError(f"found a {what} of {value:g}, expected more than 0")

    @property
    def constrained(self) -> bool:
        return self.deadline_s is not None or self.max_cost_usd is not None

    @property
    def wanted(self) -> Goal:
        """What is looked for among the plans that keep the constraints: under a budget the fastest,
        before a deadline the cheapest, unless the user says otherwise."""
        if self.goal is not Goal.PARETO:
            return self.goal
        if self.max_cost_usd is not None:
            return Goal.MAKESPAN
        return Goal.BALANCED if self.deadline_s is None else Goal.COST

    def meets(self, makespan_s: float, cost_usd: float) -> bool:
        return self.excess(makespan_s, cost_usd) <= 0

    def excess(self, makespan_s: float, cost_usd: float) -> float:
        """How far above what is allowed, as a share of it: 0.1 = 10% too slow or too dear.

        With two constraints, of the one that is missed by more; 0 = both are kept.
        """
        over = 0.0
        if self.deadline_s is not None:
            over = max(over, makespan_s / self.deadline_s - 1)
        if self.max_cost_usd is not None:
            over = max(over, cost_usd / self.max_cost_usd - 1)
        return over
