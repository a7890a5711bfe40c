"""What `explain plan` says about the plans that a plan belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import click
from sqlalchemy import Connection

from scicore.provenance.groups import Group, Member, load_group

Groups = Mapping[Group, Sequence[Member]]


def groups_of(connection: Connection, plan_id: int) -> Groups:
    return {group: load_group(connection, group, plan_id) for group in Group}


def groups_document(groups: Groups) -> dict[str, object]:
    """Keys beside those of the plan itself; empty where it belongs to nobody."""
    return {
        "front": [asdict(each) for each in groups[Group.FRONT]],
        "joint": [asdict(each) for each in groups[Group.JOINT]],
    }


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
