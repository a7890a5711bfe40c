"""Schedules that none of the others beats in both time and money, while a planner searches."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, NamedTuple

import numpy as np

from scicore.kernel.instance import Instance, Ints
from scicore.model.front import Front, front_of
from scicore.model.plan import Policy
from scicore.model.problem import Problem
from scicore.planners.base import Planner, to_plan
from scicore.planners.bounds import bounds_of

MOST = 100  # plans in a front that is handed out; the search may know more


class Candidate(NamedTuple):
    order: Ints
    vm_of: Ints
    makespan_ms: int
    cost_usd: float


class Archive:
    def __init__(self) -> None:
        self.members: list[Candidate] = []  # ever slower, ever cheaper

    def add(self, order: Ints, vm_of: Ints, makespan_ms: int, cost_usd: float) -> bool:
        """Keep it unless one that is kept is as good in both; forget those that it beats."""
        place = bisect_right(self.members, makespan_ms, key=_makespan_ms)
        if place and self.members[place - 1].cost_usd <= cost_usd:
            return False
        first = bisect_left(self.members, makespan_ms, key=_makespan_ms)
        last = first
        while last < len(self.members) and self.members[last].cost_usd >= cost_usd:
            last += 1
        self.members[first:last] = [Candidate(order.copy(), vm_of.copy(), makespan_ms, cost_usd)]
        return True

    def front(
        self,
        planner: Planner[Any],
        seed: int,
        problem: Problem,
        instance: Instance,
        policy: Policy | None = None,
    ) -> Front:
        """As plans; of very many, evenly spread ones with both ends."""
        places = np.linspace(0, len(self.members) - 1, min(MOST, len(self.members)))
        chosen = [self.members[place] for place in np.rint(places).astype(int)]
        bound_ms = bounds_of(instance).makespan_ms
        return front_of(
            to_plan(planner, seed, problem, instance, each.order, each.vm_of, policy, bound_ms)
            for each in chosen
        )


def _makespan_ms(candidate: Candidate) -> int:
    return candidate.makespan_ms
