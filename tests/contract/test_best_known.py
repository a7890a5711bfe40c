"""What ReASSIGN+ promises, on the benchmark's workflows: never above HEFT, near the best."""

from __future__ import annotations

import statistics

import pytest

from bench.best_known import case_of, known, read
from bench.instances import FLEETS, fleet
from bench.shapes import SHAPES
from scicore.model.problem import Problem, Transfer
from scicore.planners.heft import Heft
from scicore.planners.reassign_plus import ReassignPlus, ReassignPlusParameters

SIZE = 50
HARD = [  # the bound leaves a gap there
    ("montage", "S16"),
    ("montage", "P64"),
    ("cybershake", "P16"),
    ("inspiral", "P32"),
    ("inspiral", "H9"),
    ("layered", "P16"),
]


def learner(episodes: int) -> ReassignPlus:
    return ReassignPlus(ReassignPlusParameters(episodes=episodes))


def task_of(shape: str, place: str, transfer: Transfer = Transfer.NONE) -> Problem:
    return SHAPES[shape](SIZE, 1).problem(fleet(place), transfer)


@pytest.mark.parametrize("transfer", [Transfer.NONE, Transfer.EDGE])
def test_on_no_workflow_and_no_fleet_it_is_worse_than_heft(transfer: Transfer) -> None:
    few = learner(500)
    for shape in SHAPES:
        for place in FLEETS:
            task = task_of(shape, place, transfer)
            ours, heft = few.plan(task, 0), Heft().plan(task, 0)
            assert ours.makespan_s <= heft.makespan_s, (shape, place)
            assert ours.makespan_s >= ours.lower_bound_s


def test_it_comes_near_the_best_makespans_that_are_known() -> None:
    kept, gaps = read(), {}
    for shape, place in HARD:
        task = task_of(shape, place)
        best = known(kept, case_of(SHAPES[shape](SIZE, 1).name, place, Transfer.NONE), task)
        assert best is not None, f"{shape} on {place} has changed: run bench/best_known.py"
        plan = learner(150_000).plan(task, 0)
        assert plan.makespan_s >= best.bound_s - 1e-9
        gaps[shape, place] = plan.makespan_s / best.makespan_s - 1
    assert max(gaps.values()) <= 0.02, gaps
    assert statistics.mean(gaps.values()) <= 0.0025, gaps
