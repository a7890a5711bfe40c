"""A plan for several workflows, taken apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.estimate import Estimate, Grounds, Source
from scicore.model.plan import Plan
from scicore.model.problem import Problem, joined
from scicore.planners import planner
from scicore.planners.sharing import split

DEAR = VmType("dear", 4, 0, 2.0, 7.2)
CHEAP = VmType("cheap", 1, 0, 1.0, 0.36)
FLEET = Fleet((Vm("dear-1", DEAR), Vm("cheap-1", CHEAP)), "1xdear,1xcheap")
TIMES_S = np.array([[50.0, 100.0], [30.0, 60.0], [20.0, 40.0]])
ONE = Problem(("a.1", "a.2", "b.1"), ("a", "a", "b"), ((0, 2), (1, 2)), FLEET, TIMES_S)
OTHER = replace(ONE, activations=("a.1", "c.1", "c.2"), activities=("a", "c", "c"), cpus=(4, 1, 2))
TAGS = ("one", "other")


def planned(one: Problem, other: Problem) -> Plan:
    problem = joined(dict(zip(TAGS, (one, other), strict=True)))
    estimates = tuple(
        Estimate(activity, "dear", Source.PRIOR, 1.0, 0, None, ())
        for activity in dict.fromkeys(problem.activities)
    )
    plan = planner("heft").plan(problem, seed=3)
    return replace(plan, grounds=Grounds(problem, estimates))


def test_each_part_is_a_plan_of_its_own_at_the_times_of_the_whole() -> None:
    plan = planned(ONE, OTHER)
    parts = split(plan, TAGS)
    for tag, part, problem in zip(TAGS, parts, (ONE, OTHER), strict=True):
        assert part.grounds is not None
        assert part.grounds.problem.activations == problem.activations
        assert part.grounds.problem.edges == problem.edges
        assert {each.activity for each in part.grounds.estimates} == set(problem.activities)
        there = {
            (each.activation, each.vm, each.start_s, each.finish_s) for each in plan.assignments
        }
        for each in part.assignments:
            assert (f"{tag}/{each.activation}", each.vm, each.start_s, each.finish_s) in there
        assert [each.start_s for each in part.assignments] == sorted(
            each.start_s for each in part.assignments
        )
        assert part.fleet == FLEET
        assert 0 < part.lower_bound_s <= part.makespan_s
    assert sum(len(part.assignments) for part in parts) == len(plan.assignments)
    assert max(part.makespan_s for part in parts) == plan.makespan_s


def test_what_all_cost_is_shared_by_what_each_uses() -> None:
    plan = planned(ONE, OTHER)
    one, other = split(plan, TAGS)
    assert one.cost_usd + other.cost_usd == pytest.approx(plan.cost_usd)
    assert other.cost_usd > one.cost_usd  # it takes more slots
    alike = split(planned(ONE, ONE), TAGS)
    assert sum(each.cost_usd for each in alike) > 0
    gift = Fleet((Vm("local-1", replace(CHEAP, price_usd_per_hour=0.0)),), "1xlocal")
    free = replace(ONE, fleet=gift, runtime_s=TIMES_S[:, :1])
    assert [each.cost_usd for each in split(planned(free, free), TAGS)] == [0, 0]


def test_a_workflow_without_activations_has_an_empty_plan() -> None:
    nothing = Problem((), (), (), FLEET, np.zeros((0, 2)))
    one, none = split(planned(ONE, nothing), TAGS)
    assert len(one.assignments) == 3
    assert (none.assignments, none.makespan_s, none.cost_usd) == ((), 0.0, 0.0)
