"""Several workflows that share their VMs: what a planner is asked, and how its plan is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import Connection

from scicore.cli.loading import Specification
from scicore.cli.planning import MDP
from scicore.cli.preparation import Cloud, planned_grounds, prepare_grounds, store_plan
from scicore.model.cloud import Fleet
from scicore.model.estimate import Grounds
from scicore.model.plan import Plan
from scicore.model.problem import joined
from scicore.model.workflow import Workflow
from scicore.planners.sharing import split
from scicore.provenance.groups import Group, save_group


class Stored(NamedTuple):
    plan_id: int
    plan: Plan


def tags_of(workflows: Sequence[Workflow]) -> list[str]:
    """Told apart where they are the same."""
    tags: list[str] = []
    for place, workflow in enumerate(workflows):
        alike = sum(other.tag == workflow.tag for other in workflows[:place])
        tags.append(f"{workflow.tag}#{alike + 1}" if alike else workflow.tag)
    return tags


def as_one(workflows: Sequence[Workflow]) -> Workflow:
    """Stands for all of them where one is asked about: what they are called together, so that what
    is learned about all is not taken for what is learned about one; the planner that they agree
    on; how many VMs each of them allows."""
    if len(workflows) == 1:
        return workflows[0]
    algorithms = {each.algorithm for each in workflows if each.algorithm}
    limits = [each.max_vm_amount for each in workflows if each.max_vm_amount]
    return replace(
        workflows[0],
        tag=" + ".join(tags_of(workflows)),
        algorithm=algorithms.pop() if len(algorithms) == 1 else "",
        max_vm_amount=min(limits, default=0),
    )


def joint_grounds(
    connection: Connection, workflows: Sequence[Workflow], cloud: Cloud, fleet: Fleet | None = None
) -> Grounds:
    """What a planner is asked about all of them, on a fleet that is known or as the user says."""
    parts = [
        prepare_grounds(connection, each, cloud)
        if fleet is None
        else planned_grounds(connection, each, fleet, cloud)
        for each in workflows
    ]
    if len(parts) == 1:
        return parts[0]
    tagged = dict(zip(tags_of(workflows), parts, strict=True))
    estimates = tuple(
        replace(each, activity=f"{tag}/{each.activity}")
        for tag, part in tagged.items()
        for each in part.estimates
    )
    problem = joined({tag: part.problem for tag, part in tagged.items()})
    return Grounds(problem, estimates, parts[0].bandwidths)  # of the VMs, which all share


def store_joint(
    connection: Connection,
    specifications: Sequence[Specification],
    plan: Plan,
    *,
    learned: bool = True,
) -> list[Stored]:
    """A plan per workflow. What was `learned` is stored once, with the first: what mdp keeps is
    which solver made the plan, every plan's own."""
    workflows = [each.workflow for each in specifications]
    parts = [plan] if len(workflows) == 1 else split(plan, tags_of(workflows))
    about = as_one(workflows).tag
    stored = []
    for place, (specification, part) in enumerate(zip(specifications, parts, strict=True)):
        keeps = part.algorithm == MDP or (learned and place == 0)
        own = part if keeps else replace(part, policy=None)
        stored.append(Stored(store_plan(connection, specification, own, about)[1], part))
    save_group(connection, Group.JOINT, [each.plan_id for each in stored])
    return stored
