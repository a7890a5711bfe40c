"""What `explain` says about the plans that a plan belongs to, and makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import click
from sqlalchemy import Connection

from scicore.model.plan import Plan
from scicore.model.problem import Problem, joined
from scicore.planners.alternatives import Choice, choices
from scicore.provenance.grounds import load_problem
from scicore.provenance.groups import Group, Member, load_group
from scicore.provenance.plans import load_plan

Groups = Mapping[Group, Sequence[Member]]


def groups_of(connection: Connection, plan_id: int) -> Groups:
    return {group: load_group(connection, group, plan_id) for group in Group}


def groups_document(groups: Groups) -> dict[str, object]:
    """Keys beside those of the plan itself; empty where it belongs to nobody."""
    return {
        "front": [asdict(each) for each in groups[Group.FRONT]],
        "joint": [asdict(each) for each in groups[Group.JOINT]],
    }


def choices_of(
    connection: Connection, plan_id: int, plan: Plan, problem: Problem, wanted: frozenset[str]
) -> list[Choice]:
    """Why VMs were chosen; what other workflows have on the same VMs stays there, too."""
    problems, assignments = {}, []
    for member in load_group(connection, Group.JOINT, plan_id):
        tag = str(member.plan_id)
        _, other = load_plan(connection, member.plan_id)
        asked = load_problem(connection, member.plan_id, other.fleet)
        assert asked is not None  # joint plans have always been stored with their problems
        problems[tag] = asked
        assignments += [
            replace(each, activation=f"{tag}/{each.activation}") for each in other.assignments
        ]
    if not problems:
        return choices(problem, plan, wanted)
    own = f"{plan_id}/"
    together = replace(plan, assignments=tuple(assignments))
    made = choices(joined(problems), together, frozenset(f"{own}{name}" for name in wanted))
    return [
        replace(
            each,
            activation=each.activation.removeprefix(own),
            activity=each.activity.removeprefix(own),
        )
        for each in made
    ]


def print_groups(plan_id: int, groups: Groups) -> None:
    if groups[Group.FRONT]:
        click.echo(
            f"plan {plan_id} is one of a front, time against money: "
            + ", ".join(
                f"{each.plan_id} ({each.makespan_s:.1f} s, ${each.cost_usd:.4f})"
                for each in groups[Group.FRONT]
            )
        )
    others = [each for each in groups[Group.JOINT] if each.plan_id != plan_id]
    if others:
        click.echo(
            f"plan {plan_id} shares its VMs with: "
            + ", ".join(f"plan {each.plan_id} of {each.workflow}" for each in others)
        )
