"""Which planner is asked, for how long, and what it starts from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from sqlalchemy import Engine

from scicore.cli.joint import as_one, joint_grounds, store_joint
from scicore.cli.loading import Specification
from scicore.cli.planning import LEARNER, SHARE_OF_RUN, Wish, algorithm_of, policy_for, solve
from scicore.cli.preparation import Cloud, make_plan, prepare_grounds, store_plan
from scicore.model.cloud import parse_fleet
from scicore.model.estimate import Grounds
from scicore.model.parameters import Parameters
from scicore.model.plan import Plan, Policy
from scicore.model.problem import Problem
from scicore.model.workflow import Workflow
from scicore.planners.base import Budget, Planner, Report, validated
from scicore.planners.heft import Heft
from tests.integration.known_runs import stars

ROWS = [(str(n), f"{n}.fits") for n in range(1, 6)]


class Learner(Planner[Parameters]):
    """Counts its lessons, and remembers what it was told."""

    name = LEARNER
    told: ClassVar[list[tuple[float | None, Policy | None]]] = []

    def plan(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Plan:
        validated(problem)
        self.told.append((None if budget is None else budget.seconds, policy))
        lessons = 1 + int(str(policy["lessons"])) if policy else 1
        plan = Heft().plan(problem, seed)
        return replace(plan, algorithm=self.name, policy={"lessons": lessons})


@pytest.fixture
def learner(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float | None, Policy | None]]:
    monkeypatch.setattr("scicore.planners.reassign_plus.ReassignPlus", Learner)
    Learner.told.clear()
    return Learner.told


def planned(engine: Engine, workflow: Workflow, fleet: str, wish: Wish) -> Any:
    with engine.begin() as connection:
        grounds = prepare_grounds(connection, workflow, Cloud(fleet))
        plan = solve(workflow, grounds, wish, policy_for(connection, workflow, wish))
        store_plan(connection, Specification(workflow, "<SciCumulus/>"), plan)
    return plan.policy


def test_a_learner_goes_on_from_its_last_lesson_on_another_fleet_and_other_inputs(
    engine: Engine, learner: list[tuple[float | None, Policy | None]]
) -> None:
    lessons = [
        planned(engine, stars(ROWS), "2xlocal", Wish()),
        planned(engine, stars(ROWS[:2]), "1xlocal:4", Wish()),
        planned(engine, replace(stars(ROWS), tag="others"), "2xlocal", Wish()),
        planned(engine, replace(stars(ROWS), max_attempts=9), "3xlocal", Wish(budget_s=0.5)),
    ]
    assert [each["lessons"] for each in lessons] == [1, 2, 1, 3]
    assert [budget for budget, _ in learner] == [None, None, None, 0.5]


def test_what_is_learned_about_workflows_together_is_not_taken_for_one_of_them(
    engine: Engine, learner: list[tuple[float | None, Policy | None]]
) -> None:
    one, other = replace(stars(ROWS), tag="near"), replace(stars(ROWS[:2]), tag="far")
    cloud = Cloud("2xlocal")

    def lessons(*workflows: Workflow) -> int:
        together = as_one(workflows)
        with engine.begin() as connection:
            grounds = joint_grounds(connection, workflows, cloud)
            policy = policy_for(connection, together, Wish())
            plan = solve(together, grounds, Wish(), policy)
            specifications = [Specification(each, f"<{each.tag}/>") for each in workflows]
            stored = store_joint(connection, specifications, plan)
        assert [len(each.plan.assignments) for each in stored] == [11, 5][: len(workflows)]
        assert plan.policy is not None
        return int(str(plan.policy["lessons"]))

    assert [lessons(one, other), lessons(one), lessons(one, other), lessons(one)] == [1, 1, 2, 2]
    assert as_one([one, other]).tag == "near + far"
    assert as_one([one, one]).tag == "near + near#2"
    assert as_one([replace(one, algorithm="heft"), other]).algorithm == "heft"
    disagreeing = [replace(one, algorithm="heft"), replace(other, algorithm="peft")]
    assert as_one(disagreeing).algorithm == ""
    assert as_one([replace(one, max_vm_amount=3), other]).max_vm_amount == 3


def test_before_a_run_planning_takes_a_small_share_of_it_or_no_time(
    engine: Engine, learner: list[tuple[float | None, Policy | None]]
) -> None:
    uneven = parse_fleet("1xlocal,1xlocal:2", {})
    with engine.connect() as connection:
        tight = make_plan(connection, stars(ROWS), parse_fleet("9xlocal:9", {}), None, seed=0)
        loose = make_plan(connection, stars(ROWS), uneven, None, seed=0)
        make_plan(connection, stars(ROWS), uneven, "heft", seed=0)
    assert tight.makespan_s == tight.lower_bound_s
    assert loose.makespan_s > loose.lower_bound_s
    assert [budget for budget, _ in learner] == [
        0.0,
        pytest.approx(SHARE_OF_RUN * loose.makespan_s),
    ]


def test_the_learner_is_asked_unless_another_is_named(
    learner: list[tuple[float | None, Policy | None]],
) -> None:
    workflow = stars(ROWS)
    assert algorithm_of(None, workflow) == LEARNER
    assert algorithm_of(None, replace(workflow, algorithm="q-learning")) == LEARNER
    assert algorithm_of("Q-Learning", workflow) == LEARNER
    assert algorithm_of(None, replace(workflow, algorithm="reassign")) == "reassign"
    assert algorithm_of("fcfs", replace(workflow, algorithm="q-learning")) == "fcfs"


def test_a_plan_brings_the_grounds_that_it_was_made_on(engine: Engine) -> None:
    with engine.connect() as connection:
        grounds = prepare_grounds(connection, stars(ROWS), Cloud("2xlocal"))
        plan = solve(stars(ROWS), grounds, Wish("heft"))
    assert isinstance(plan.grounds, Grounds)
    problem = plan.grounds.problem
    assert problem.runtime_s.shape == (11, 2)
    assert np.all(problem.runtime_s == 1.0)  # nothing is known
    assert problem.memory_mb[0] == 512
    assert {each.activity for each in plan.grounds.estimates} == {"measure", "check", "merge"}
