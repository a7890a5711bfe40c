"""A plan for several workflows that share their VMs, as one plan for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scicore.kernel.instance import instance_of
from scicore.model.estimate import Grounds
from scicore.model.plan import Assignment, Plan
from scicore.model.problem import Problem, parted
from scicore.planners.bounds import bounds_of


def split(plan: Plan, tags: Sequence[str]) -> list[Plan]:
    """One per workflow, in the order of their tags, on the same VMs and at the same times.

    What a workflow costs is its share of the whole, by the price of the slots that it uses and for
    how long. Its bound is that of the workflow alone: sharing makes nothing faster.
    """
    assert plan.grounds is not None
    parts = parted(plan.grounds.problem, tags)
    assignments = {tag: _own(plan, tag, part) for tag, part in parts.items()}
    used_usd = {tag: _used_usd(parts[tag], own) for tag, own in assignments.items()}
    whole_usd = sum(used_usd.values())
    return [
        replace(
            plan,
            assignments=own,
            makespan_s=max((each.finish_s for each in own), default=0.0),
            cost_usd=plan.cost_usd * used_usd[tag] / whole_usd if whole_usd else 0.0,
            lower_bound_s=bounds_of(instance_of(parts[tag])).makespan_ms / 1000,
            grounds=_grounds(plan.grounds, tag, parts[tag]),
        )
        for tag, own in assignments.items()
    ]


def _own(plan: Plan, tag: str, part: Problem) -> tuple[Assignment, ...]:
    names = {f"{tag}/{name}": name for name in part.activations}
    return tuple(
        replace(
            each,
            activation=names[each.activation],
            activity=each.activity.removeprefix(f"{tag}/"),
        )
        for each in plan.assignments
        if each.activation in names
    )


def _used_usd(part: Problem, own: Sequence[Assignment]) -> float:
    cpus = dict(zip(part.activations, part.cpus or (1,) * len(part.activations), strict=True))
    usd_per_slot_s = {
        vm.id: vm.type.price_usd_per_hour / vm.type.slots / 3600 for vm in part.fleet.vms
    }
    return sum(
        (each.finish_s - each.start_s) * cpus[each.activation] * usd_per_slot_s[each.vm]
        for each in own
    )


def _grounds(grounds: Grounds, tag: str, part: Problem) -> Grounds:
    activities = {f"{tag}/{activity}": activity for activity in part.activities}
    estimates = tuple(
        replace(each, activity=activities[each.activity])
        for each in grounds.estimates
        if each.activity in activities
    )
    return Grounds(part, estimates, grounds.bandwidths)
