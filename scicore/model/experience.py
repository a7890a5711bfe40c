"""What a solver brought about in a real run: when it was chosen, what it cost, how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Result(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"  # activations failed, or a deadline or a budget was missed


@dataclass(frozen=True, slots=True)
class Moment:
    """What is seen of the world when a plan is made, and again when its run has ended."""

    hour: int  # of the day, 0 to 23, where the program runs
    load: float  # activations that run or wait for a slot, per slot of all runs that go on
    result: Result = Result.SUCCESS  # of the latest run


@dataclass(frozen=True, slots=True)
class Experience:
    solver: str
    before: Moment
    after: Moment
    cost_usd: float
    makespan_s: float
