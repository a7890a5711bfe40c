"""`plan --objective`: from a workflow to the stored plans of a front and the one that is meant."""

from __future__ import annotations

from collections.abc import Sequence
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
from scicore.cli.joint import Stored, as_one, joint_grounds, store_joint, tags_of
from scicore.cli.loading import Specification, load
from scicore.cli.output import print_json, say
from scicore.cli.planned import as_document, say_how_to_run
from scicore.cli.planning import Wish, before_deadline, policy_for, solve_front
from scicore.cli.preparation import Cloud
from scicore.cli.rental import ledger_of
from scicore.cli.tradeoff import Choice, Doubt, choose
from scicore.model.estimate import Grounds
from scicore.model.objective import Objective
from scicore.model.plan import Plan, Policy
from scicore.model.workflow import Workflow
from scicore.provenance.groups import Group, save_group
from scicore.reports.front import draw_front
from scicore.reports.learning import Learning

LEARNER = "reassign-pareto"  # where neither user nor workflow name a planner


@dataclass(frozen=True, slots=True)
class Asked:
    specs: Sequence[Path]  # several share the VMs
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

    specifications = [load(spec) for spec in asked.specs]
    workflows = [each.workflow for each in specifications]
    together = as_one(workflows)
    if not (together.algorithm or asked.wish.algorithm):
        asked = replace(asked, wish=replace(asked.wish, algorithm=LEARNER))
    deadline_s = asked.objective.deadline_s
    asked = replace(asked, wish=before_deadline(asked.wish, together, deadline_s))
    engine = connect(database_url).engine
    asked_for, policy = _grounds(asked, workflows, engine, database_url)
    plans: list[Plan] = []
    wish = asked.wish
    if wish.budget_s is not None:
        wish = replace(wish, budget_s=wish.budget_s / len(asked_for))
    with Learning(asked.wish.budget_s) as learning:
        for grounds in asked_for:
            plans += solve_front(together, grounds, wish, policy, lambda it: learning.step(*it))
    choice = choose(plans, asked.objective, asked.doubt)
    stored = _stored(engine, specifications, choice)
    if picture is not None:
        draw_front(chart_of(choice, together.tag), picture)
        say(f"picture of the front: {picture}")
    own = stored[choice.chosen]
    plan_ids = [[each.plan_id for each in parts] for parts in stored]
    if as_json:
        print_json(
            {
                **as_document(own, choice.plan, tags_of(workflows)),
                **as_front_document(choice, plan_ids, auto=asked.auto),
            }
        )
    else:
        print_front(choice, plan_ids, together.tag)
    say_constraint(choice)
    if asked.auto:
        say_neighbours(choice)
    say_how_to_run(own, asked.specs)
    return 0 if choice.kept else UNMET


def _grounds(
    asked: Asked, workflows: Sequence[Workflow], engine: Engine, database_url: str | None
) -> tuple[list[Grounds], Policy | None]:
    """What the planner is asked: one fleet, or the mixes that may be right."""
    from scicore.provenance.connection import reading

    together = as_one(workflows)
    room = None
    if asked.auto:
        room = room_of(together, asked.quota, ledger_of(database_url).all_open())
    with reading(engine) as connection:
        policy = policy_for(connection, together, asked.wish)
        if room is None:
            return [joint_grounds(connection, workflows, asked.cloud)], policy
        return mixes_for(connection, workflows, asked.cloud, room, asked.objective), policy


def _stored(
    engine: Engine, specifications: Sequence[Specification], choice: Choice
) -> list[list[Stored]]:
    """All plans of the front; what was learned is stored with the chosen one."""
    with engine.begin() as connection:
        stored = [
            store_joint(connection, specifications, each.plan, learned=each.plan is choice.plan)
            for each in choice.candidates
        ]
        save_group(connection, Group.FRONT, [each.plan_id for parts in stored for each in parts])
    return stored
