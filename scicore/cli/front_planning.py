"""`plan --objective`: from a workflow to the stored plans of a front and the one that is meant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Engine

from scicore.cli.auto_fleet import AUTO, mixes_for, room_of
from scicore.cli.fronted import (
    UNMET,
    as_front_document,
    chart_of,
    print_front,
    say_constraint,
    say_neighbours,
)
from scicore.cli.loading import Specification, load
from scicore.cli.output import print_json, say
from scicore.cli.planning import Wish, before_deadline, policy_for, solve_front
from scicore.cli.preparation import Cloud, prepare_grounds, store_plan
from scicore.cli.rental import ledger_of
from scicore.cli.tradeoff import Choice, Doubt, choose
from scicore.model.estimate import Grounds
from scicore.model.objective import Objective
from scicore.model.plan import Plan, Policy
from scicore.provenance.groups import Group, save_group
from scicore.reports.front import draw_front
from scicore.reports.learning import Learning

LEARNER = "reassign-pareto"  # where neither user nor workflow name a planner


@dataclass(frozen=True, slots=True)
class Asked:
    spec: Path
    cloud: Cloud
    wish: Wish
    objective: Objective
    doubt: Doubt
    quota: int | None  # vCPUs

    @property
    def auto(self) -> bool:
        return self.cloud.fleet == AUTO


def plan_front(
    asked: Asked, picture: Path | None, database_url: str | None, *, as_json: bool
) -> int:
    from scicore.provenance.connection import connect

    specification = load(asked.spec)
    if not (specification.workflow.algorithm or asked.wish.algorithm):
        asked = replace(asked, wish=replace(asked.wish, algorithm=LEARNER))
    deadline_s = asked.objective.deadline_s
    asked = replace(asked, wish=before_deadline(asked.wish, specification.workflow, deadline_s))
    engine = connect(database_url).engine
    asked_for, policy = _grounds(asked, specification, engine, database_url)
    plans: list[Plan] = []
    wish = asked.wish
    if wish.budget_s is not None:
        wish = replace(wish, budget_s=wish.budget_s / len(asked_for))
    with Learning(asked.wish.budget_s) as learning:
        for grounds in asked_for:
            workflow = specification.workflow
            plans += solve_front(workflow, grounds, wish, policy, lambda it: learning.step(*it))
    choice = choose(plans, asked.objective, asked.doubt)
    plan_ids = _stored(engine, specification, choice)
    if picture is not None:
        draw_front(chart_of(choice, specification.workflow.tag), picture)
        say(f"picture of the front: {picture}")
    chosen_id = plan_ids[choice.chosen]
    if as_json:
        from scicore.cli.plan import as_document

        own = as_document(chosen_id, choice.plan)
        print_json({**own, **as_front_document(choice, plan_ids, auto=asked.auto)})
    else:
        print_front(choice, plan_ids, specification.workflow.tag)
    say_constraint(choice)
    if asked.auto:
        say_neighbours(choice)
    say(f"plan {chosen_id}: scicumulus run {asked.spec} --plan {chosen_id}")
    return 0 if choice.kept else UNMET


def _grounds(
    asked: Asked, specification: Specification, engine: Engine, database_url: str | None
) -> tuple[list[Grounds], Policy | None]:
    """What the planner is asked: one fleet, or the mixes that may be right."""
    from scicore.provenance.connection import reading

    workflow = specification.workflow
    room = None
    if asked.auto:
        room = room_of(workflow, asked.quota, ledger_of(database_url).all_open())
    with reading(engine) as connection:
        policy = policy_for(connection, workflow, asked.wish)
        if room is None:
            return [prepare_grounds(connection, workflow, asked.cloud)], policy
        return mixes_for(connection, workflow, asked.cloud, room, asked.objective), policy


def _stored(engine: Engine, specification: Specification, choice: Choice) -> list[int]:
    """All plans of the front; what was learned is stored once, with the chosen one. What mdp keeps
    is which solver made the plan: every plan's own."""
    plan_ids = []
    with engine.begin() as connection:
        for candidate in choice.candidates:
            plan = candidate.plan
            if plan is not choice.plan and plan.algorithm != "mdp":
                plan = replace(plan, policy=None)
            plan_ids.append(store_plan(connection, specification, plan)[1])
        save_group(connection, Group.FRONT, plan_ids)
    return plan_ids
