"""`--fleet auto`: the VMs themselves are chosen, within what the workflow and the account allow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from scicore.cli.joint import joint_grounds
from scicore.cli.output import say
from scicore.cli.preparation import Cloud, catalog_of
from scicore.errors import UsageError
from scicore.model.cloud import VmType
from scicore.model.cluster import ClusterRecord, Intent
from scicore.model.estimate import Grounds
from scicore.model.front import Point, hypervolume
from scicore.model.objective import Objective
from scicore.model.workflow import Workflow
from scicore.planners.mixes import Mix, Room, best_mixes, mixed
from scicore.planners.subfleets import fleet_of

AUTO = "auto"
MOST_VMS = 20  # where the workflow says nothing
MOST_PLANNED = 6  # mixes that the planner itself is asked about
DEFAULT_QUOTA = 32  # vCPUs


def rentable(workflow: Workflow, cloud: Cloud) -> list[VmType]:
    """The workflow's own VM types, if it names any; else those of the catalog."""
    types = workflow.machine_types or tuple(catalog_of(cloud.catalog, workflow).values())
    priced = [each for each in types if each.price_usd_per_hour > 0]
    if not priced:
        raise UsageError(
            "--fleet auto: no VM type has a price, so that nothing can be chosen by it",
            "give financial_cost in <machineTypes>, or price_usd_per_hour in the catalog",
        )
    return priced


def room_of(workflow: Workflow, quota: int | None, clusters: Iterable[ClusterRecord]) -> Room:
    """What max_vm_amount allows and the quota leaves beside the clusters that are up in EC2."""
    allowed = DEFAULT_QUOTA if quota is None else quota
    rented = sum(
        intent.vm_type.slots * _alive(intent)
        for record in clusters
        if record.provider == "ec2"
        for intent in record.intents
    )
    if rented >= allowed:
        raise UsageError(
            f"--fleet auto: {rented} vCPUs are rented, and the quota is {allowed}",
            "end clusters with `scicumulus cluster down NAME`, or say --quota VCPUS",
        )
    if rented:
        say(f"{rented} of {allowed} vCPUs are rented already")
    return Room(workflow.max_vm_amount or MOST_VMS, allowed - rented)


def _alive(intent: Intent) -> int:
    """VMs that are there, or may be on their way."""
    if intent.outcome is None:
        return len(intent.vms)
    return sum(instance.ended_at is None for instance in intent.instances)


def mixes_for(
    connection: Connection,
    workflows: Sequence[Workflow],
    cloud: Cloud,
    room: Room,
    objective: Objective,
) -> list[Grounds]:
    """What a planner is asked for each mix of VMs that may be the right one."""
    if cloud.processors:
        raise UsageError(
            "--fleet auto: VMs that are rented have slots; --processors is for comparisons",
            "name the fleet, or leave --processors out",
        )
    types = rentable(workflows[0], cloud)
    for other in workflows[1:]:
        if rentable(other, cloud) != types:
            raise UsageError(
                f"--fleet auto: {other.tag} names other VM types than {workflows[0].tag}",
                "give them the same <machineTypes>, or name the fleet",
            )
    # Who sizes activations looks at the largest VM that they may get.
    one_of_each = fleet_of([each for each in types if each.slots <= room.slots] or types)
    grounds = joint_grounds(connection, workflows, cloud, one_of_each)
    wanted = _worth_planning(best_mixes(grounds.problem, room), objective)
    return [replace(grounds, problem=mixed(grounds.problem, each.counts)) for each in wanted]


def _worth_planning(mixes: list[Mix], objective: Objective) -> list[Mix]:
    """Some of those that are left when none is beaten: those at the constraints, and the most
    telling of the others."""
    points = [mix.point for mix in mixes]
    kept = {0, len(mixes) - 1}
    inside = [place for place, point in enumerate(points) if objective.meets(*point)]
    if objective.constrained and inside:
        near = (inside[0] - 1, inside[0], inside[-1], inside[-1] + 1)
        kept |= {place for place in near if 0 <= place < len(mixes)}
    while len(kept) < min(MOST_PLANNED, len(mixes)):
        rest = [place for place in range(len(mixes)) if place not in kept]
        kept.add(max(rest, key=lambda place: _worth(points, {*kept, place})))
    return [mixes[place] for place in sorted(kept)]


def _worth(points: list[Point], places: set[int]) -> float:
    reference = points[-1][0], points[0][1]
    return hypervolume([points[place] for place in places], reference)
