"""Plans that belong together: those of a front, and those of workflows that share their VMs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, select, update

from scicore.provenance import tables


class Group(StrEnum):
    """The column that has the number of the first plan of the group."""

    FRONT = "front_id"  # one of them is chosen
    JOINT = "joint_id"  # all of them are meant to run at the same time


@dataclass(frozen=True, slots=True)
class Member:
    plan_id: int
    workflow: str  # tag
    fleet: str
    makespan_s: float
    cost_usd: float


def save_group(connection: Connection, group: Group, plan_ids: Sequence[int]) -> None:
    """Of plans that are stored already; one alone is no group."""
    if len(plan_ids) > 1:
        together = tables.plan.c.plan_id.in_(plan_ids)
        connection.execute(update(tables.plan).where(together).values({group: min(plan_ids)}))


def load_group(connection: Connection, group: Group, plan_id: int) -> list[Member]:
    """All plans of the plan's group, itself included, as they were stored; empty: it has none.

    In a front of plans for several workflows, those for its own.
    """
    plan, workflow = tables.plan.c, tables.workflow.c
    own = connection.execute(
        select(plan[group], plan.joint_id).where(plan.plan_id == plan_id)
    ).one()
    if own[0] is None:
        return []
    found = connection.execute(
        select(
            plan.joint_id, plan.plan_id, workflow.tag, plan.fleet, plan.makespan_s, plan.cost_usd
        )
        .join(tables.workflow, workflow.workflow_id == plan.workflow_id)
        .where(plan[group] == own[0])
        .order_by(plan.plan_id)
    )
    joint: dict[int | None, list[Member]] = {}
    for joint_id, *row in found:
        joint.setdefault(joint_id, []).append(Member(*row))
    mine = joint[own.joint_id]
    if group is Group.JOINT or own.joint_id is None:
        return mine
    # The same workflow may be there twice: its place tells which one it is.
    place = [each.plan_id for each in mine].index(plan_id)
    return [members[place] for members in joint.values()]
