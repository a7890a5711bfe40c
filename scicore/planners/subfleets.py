"""Fewer VMs cost less: parts of a fleet, and any planner's plans on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from scicore.kernel.billing import evaluate, prices_of
from scicore.kernel.instance import NEVER, Instance, Ints, instance_of
from scicore.kernel.jit import suited
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.front import Front, Point, front_of, non_dominated
from scicore.model.plan import Plan, Policy
from scicore.model.problem import Problem
from scicore.planners.base import Budget, Planner, Report, validated
from scicore.planners.heft import schedule

MOST_PARTS = 240  # of a fleet that are looked at by HEFT
MANY = 100  # calls of HEFT pay for compiling it, unless there are very few activations
MOST_PLANNED = 8  # of these that the planner itself is asked about


def text_of(vms: Sequence[Vm]) -> str:
    """As the user writes it: COUNTxTYPE,…"""
    counts: dict[str, int] = {}
    for vm in vms:
        counts[_word(vm)] = counts.get(_word(vm), 0) + 1
    return ",".join(f"{count}x{word}" for word, count in counts.items())


def _word(vm: Vm) -> str:
    kind = vm.type
    if kind.name != "local" or (kind.slots == 1 and not kind.memory_mb):
        return kind.name
    return f"local:{kind.slots}" + (f":{kind.memory_mb}mb" if kind.memory_mb else "")


def restricted(problem: Problem, vms: Sequence[int]) -> Problem:
    """The same activations on these VMs alone."""
    chosen = tuple(problem.fleet.vms[index] for index in vms)
    return replace(
        problem,
        fleet=Fleet(chosen, text_of(chosen)),
        runtime_s=np.ascontiguousarray(problem.runtime_s[:, list(vms)]),
    )


def without_idle(problem: Problem, plan: Plan) -> tuple[Problem, Plan]:
    """Plan and problem without the VMs that are given nothing: nobody need rent them.

    The others are numbered as if the user had asked for these alone."""
    used = {each.vm for each in plan.assignments}
    vms = [index for index, vm in enumerate(problem.fleet.vms) if vm.id in used]
    if not vms or len(vms) == len(problem.fleet.vms):
        return problem, plan
    smaller = restricted(problem, vms)
    numbered = fleet_of([vm.type for vm in smaller.fleet.vms])
    name = {old.id: new.id for old, new in zip(smaller.fleet.vms, numbered.vms, strict=True)}
    assignments = tuple(replace(each, vm=name[each.vm]) for each in plan.assignments)
    return (
        replace(smaller, fleet=numbered),
        replace(plan, fleet=numbered, assignments=assignments),
    )


def fleet_of(types: Sequence[VmType]) -> Fleet:
    """One VM for each, with the ids that `parse_fleet` gives."""
    seen: dict[str, int] = {}
    vms = []
    for kind in types:
        seen[kind.name] = seen.get(kind.name, 0) + 1
        vms.append(Vm(f"{kind.name}-{seen[kind.name]}", kind))
    return Fleet(tuple(vms), text_of(vms))


def parts_of(instance: Instance) -> Iterator[list[int]]:
    """Parts of a fleet, as indices of VMs: so many of each class of equal VMs, largest first.

    Of a class that is large, not every number is tried: all, two thirds, half, …, 1, none.
    """
    members = [np.flatnonzero(instance.vm_type == kind).tolist() for kind in _kinds(instance)]
    ladders = [_ladder(len(each)) for each in members]
    while np.prod([float(len(each)) for each in ladders]) > MOST_PARTS:
        longest = max(range(len(ladders)), key=lambda index: len(ladders[index]))
        if len(ladders[longest]) <= 2:
            break
        del ladders[longest][-2 if len(ladders[longest]) % 2 else 1]
    mixes = sorted(product(*ladders), key=lambda counts: -sum(counts))
    if len(mixes) > MOST_PARTS:  # many classes: evenly over all sizes
        mixes = [mixes[round(at)] for at in np.linspace(0, len(mixes) - 1, MOST_PARTS)]
    for counts in mixes:
        if any(counts):
            yield [vm for each, count in zip(members, counts, strict=True) for vm in each[:count]]


def _kinds(instance: Instance) -> range:
    return range(int(instance.vm_type.max()) + 1)


def _ladder(count: int) -> list[int]:
    steps = {round(count * share) for share in (1, 2 / 3, 1 / 2, 1 / 3, 1 / 4, 1 / 8, 1 / 16, 0)}
    return sorted(steps | {0, 1}, reverse=True)


class Part(NamedTuple):
    """HEFT's plan on some VMs of a fleet."""

    vms: list[int]
    point: Point
    order: Ints
    vm_of: Ints  # within the whole fleet


def by_heft(problem: Problem, vms: Sequence[int]) -> Part | None:
    """The plan and what it takes; None where something fits none of the VMs.

    `vms` are their numbers within the fleet that they are a part of."""
    instance = instance_of(problem)
    if not (instance.runtime_ms != NEVER).any(axis=1).all():
        return None
    order, vm_of = schedule(instance, MANY)
    times = np.zeros((2, len(order)), dtype=np.int64)
    run = suited(evaluate, MANY * len(order))
    makespan_ms, usd = run(instance, prices_of(problem), order, vm_of, times[0], times[1])
    point = int(makespan_ms) / 1000, float(usd)
    return Part(list(vms), point, order, np.array(vms, dtype=np.int64)[vm_of])


def quick_parts(problem: Problem, instance: Instance) -> list[Part]:
    """Parts of the fleet that beat each other in time or money under HEFT, fastest first."""
    parts = []
    for vms in parts_of(instance):
        part = by_heft(restricted(problem, vms), vms)
        if part is not None:
            parts.append(part)
    return [parts[index] for index in non_dominated([part.point for part in parts])]


def front_over_parts(
    planner: Planner[Any],
    problem: Problem,
    seed: int,
    budget: Budget | None,
    progress: Report | None,
    policy: Policy | None,
) -> Front:
    """What the planner makes of the whole fleet, and of the parts that HEFT finds promising."""
    instance = validated(problem)
    share = None if budget is None else budget.seconds / (MOST_PLANNED + 1)
    first = planner.plan(problem, seed, _part(budget, share), progress, policy)
    if not problem.activations or not any(vm.type.price_usd_per_hour for vm in problem.fleet.vms):
        return front_of([first])  # nothing costs anything
    plans = [first]
    whole = len(problem.fleet.vms)
    promising = [each for each in quick_parts(problem, instance) if len(each.vms) < whole]
    for at in np.linspace(0, len(promising) - 1, min(MOST_PLANNED, len(promising))):
        part = restricted(problem, promising[round(at)].vms)
        plan = planner.plan(part, seed, _part(budget, share), None, policy)
        plans.append(replace(plan, fleet=problem.fleet, lower_bound_s=first.lower_bound_s))
    return front_of(plans)


def _part(budget: Budget | None, seconds: float | None) -> Budget | None:
    if budget is None or seconds is None:
        return None
    return Budget(max(0.0, min(seconds, budget.left_s)), budget.clock)
