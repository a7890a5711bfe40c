"""Planners that make a whole front; the single plan that they give is one of it."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

from scicore.model.front import Front
from scicore.model.objective import Goal, Objective
from scicore.model.parameters import Parameters
from scicore.model.plan import Plan, Policy
from scicore.model.problem import Problem
from scicore.planners.base import Budget, Planner, Report

P = TypeVar("P", bound=Parameters)


class FrontPlanner(Planner[P]):
    @property
    def objective(self) -> Objective:
        """Which plan of the front is `the` plan."""
        return Objective(Goal.BALANCED)

    @abstractmethod
    def front(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Front: ...

    def plan(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Plan:
        return self.front(problem, seed, budget, progress, policy).best(self.objective)
