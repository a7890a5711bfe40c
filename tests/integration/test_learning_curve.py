"""How a plan got better is stored with what was learned, and does not disturb the next learning."""

from __future__ import annotations

import numpy as np
from sqlalchemy import Engine

from scicore.cli.planning import Wish, solve
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.estimate import Grounds
from scicore.model.problem import Problem
from scicore.provenance.connection import reading
from scicore.provenance.grounds import latest_policy, load_curve, save_policy
from scicore.provenance.plans import save_plan
from scicore.provenance.workflows import save_workflow
from tests.integration.known_runs import stars

FLEET = Fleet(
    (
        Vm("small-1", VmType("small", 1, 0, 1.0, 0.0)),
        Vm("large-1", VmType("large", 2, 0, 2.0, 0.0)),
    ),
    "1xsmall,1xlarge",
)


def test_a_learning_curve_is_stored_beside_the_policy(engine: Engine) -> None:
    count = 12
    runtime_s = np.linspace(1.0, 4.0, count)[:, None] * np.array([[1.0, 0.5]])
    problem = Problem(
        activations=tuple(f"measure.{n}" for n in range(count)),
        activities=("measure",) * count,
        edges=tuple((n, n + 3) for n in range(count - 3)),
        fleet=FLEET,
        runtime_s=runtime_s,
    )
    workflow = stars([])
    heard: list[int] = []
    plan = solve(
        workflow,
        Grounds(problem, ()),
        Wish("reassign", settings={"episodes": "20"}),
        report=lambda progress: heard.append(progress.episodes),
    )
    assert plan.curve[-1][0] == heard[-1] == 20
    best_s = [seconds for _, seconds in plan.curve]
    assert best_s == sorted(best_s, reverse=True)
    with engine.begin() as connection:
        workflow_id = save_workflow(connection, workflow, "<SciCumulus/>")
        plan_id = save_plan(connection, workflow_id, plan)
        save_policy(connection, plan_id, workflow.tag, plan)
    with reading(engine) as connection:
        assert load_curve(connection, plan_id) == plan.curve
        assert latest_policy(connection, workflow.tag, "reassign") == plan.policy
        assert load_curve(connection, plan_id + 1) == ()
