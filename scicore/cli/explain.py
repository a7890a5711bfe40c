"""`scicumulus explain`: why things are as they are."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

import click

from scicore.cli.explained import ActivationOrPlan, explain_activation
from scicore.cli.explained_solver import print_solver, solver_document
from scicore.cli.output import database_option, json_option, print_json, print_table, say

if TYPE_CHECKING:
    from scicore.model.estimate import Bandwidth, Estimate
    from scicore.model.plan import Plan
    from scicore.planners.alternatives import Choice, Option

LOOKED_AT = 200  # activations of each activity, of those that the plan starts first


@click.group(
    cls=ActivationOrPlan,
    epilog="Examples: scicumulus explain plan 7;  scicumulus explain mProject.3 --run last",
)
def command() -> None:
    """Why things are as they are: a plan's choices, or what happens to an ACTIVATION (a name such
    as mProject.3, or its number).
    """


command.add_command(explain_activation)


@command.command("plan", epilog="Example: scicumulus explain plan 7 --activation mProject.3")
@click.argument("plan_id", type=int, metavar="ID")
@click.option(
    "--activation", metavar="NAME", help="Only this one, with every VM it could have had."
)
@database_option
@json_option
def explain_plan(
    plan_id: int, activation: str | None, database_url: str | None, as_json: bool
) -> None:
    """Where each activity's runtime estimate comes from, and why its VM was chosen.

    With mdp, first which solver was chosen, and why; then the plans that it belongs to: of its
    front, or of workflows that share its VMs. All as it was when plan ID was made. A choice
    is compared with every other VM while all else stays as planned.
    """
    from scicore.cli.explained_groups import choices_of, groups_document, groups_of, print_groups
    from scicore.errors import UsageError
    from scicore.provenance.connection import connect, reading
    from scicore.provenance.grounds import (
        load_bandwidths,
        load_estimates,
        load_policy,
        load_problem,
    )
    from scicore.provenance.plans import load_plan

    with reading(connect(database_url).engine) as connection:
        _, plan = load_plan(connection, plan_id)
        estimates = load_estimates(connection, plan_id)
        bandwidths = load_bandwidths(connection, plan_id)
        problem = load_problem(connection, plan_id, plan.fleet)
        policy = load_policy(connection, plan_id) if plan.algorithm == "mdp" else None
        groups = groups_of(connection, plan_id)
        if problem is None:
            raise UsageError(
                f"plan {plan_id} was made by a version that did not keep what plans rest on",
                "make a new one with `scicumulus plan`",
            )
        if activation is not None and activation not in problem.activations:
            raise UsageError(f"plan {plan_id} has no activation {activation!r}")
        made = choices_of(connection, plan_id, plan, problem, _looked_at(plan, activation))
    if activation is not None:
        estimates = tuple(each for each in estimates if each.activity == made[0].activity)
    if as_json:
        solver = {} if policy is None else {"solver": solver_document(policy)}
        own = _document(plan_id, plan, estimates, made)
        network = {"bandwidths": _as_documents(bandwidths)}
        print_json({**own, **network, **groups_document(groups), **solver})
        return
    if policy is not None:
        print_solver(policy)
    print_groups(plan_id, groups)
    _print_estimates(estimates)
    click.echo()
    if bandwidths:
        _print_bandwidths(bandwidths)
        click.echo()
    if activation is not None:
        _print_options(made[0])
    else:
        _print_choices(plan, made)


def _looked_at(plan: Plan, activation: str | None) -> frozenset[str]:
    if activation is not None:
        return frozenset({activation})
    seen: Counter[str] = Counter()
    wanted = set()
    for each in plan.assignments:
        if seen[each.activity] < LOOKED_AT:
            seen[each.activity] += 1
            wanted.add(each.activation)
    return frozenset(wanted)


def because(choice: Choice) -> str:
    """The choice in words."""
    chosen = choice.chosen
    if not choice.others:
        return "it fits no other VM"
    best = choice.others[0]
    told = f"finishes at {chosen.finish_s:.2f} s there"
    if choice.margin_s > 0:
        return f"{told}, on {best.vm} only at {best.finish_s:.2f} s{_what_differs(chosen, best)}"
    if choice.margin_s == 0:
        return f"{told}, and no other VM would finish it earlier"
    return (
        f"{told}; alone it would be done {-choice.margin_s:.2f} s earlier on {best.vm}, "
        "which the plan does not need or uses for others"
    )


def _what_differs(chosen: Option, best: Option) -> str:
    reasons = []
    if best.runtime_s >= chosen.runtime_s + 0.01:
        reasons.append(f"takes {best.runtime_s:.2f} s instead of {chosen.runtime_s:.2f} s")
    if best.ready_s >= chosen.ready_s + 0.01:
        reasons.append(f"its data arrive {best.ready_s - chosen.ready_s:.2f} s later")
    if best.start_s > max(chosen.start_s, best.ready_s):
        reasons.append(f"no slot is free before {best.start_s:.2f} s")
    return f" ({', '.join(reasons)})" if reasons else ""


def _by_activity(made: list[Choice]) -> dict[str, list[Choice]]:
    grouped: defaultdict[str, list[Choice]] = defaultdict(list)
    for choice in made:
        grouped[choice.activity].append(choice)
    return grouped


def _document(
    plan_id: int, plan: Plan, estimates: tuple[Estimate, ...], made: list[Choice]
) -> dict[str, object]:
    counts = Counter(each.activity for each in plan.assignments)
    vms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in plan.assignments:
        vms[each.activity][each.vm] += 1
    return {
        "plan_id": plan_id,
        "algorithm": plan.algorithm,
        "fleet": plan.fleet.text,
        "makespan_s": plan.makespan_s,
        "estimates": _as_documents(estimates),
        "activities": [
            {
                "activity": activity,
                "activations": counts[activity],
                "vms": dict(vms[activity]),
                "looked_at": len(group),
                "finish_earliest_there": sum(choice.margin_s >= 0 for choice in group),
                "median_margin_s": median(choice.margin_s for choice in group),
            }
            for activity, group in _by_activity(made).items()
        ],
        "choices": [
            {
                "activation": choice.activation,
                "activity": choice.activity,
                "vm": choice.chosen.vm,
                "start_s": choice.chosen.start_s,
                "finish_s": choice.chosen.finish_s,
                "because": because(choice),
                "alternatives": [
                    {"vm": other.vm, "start_s": other.start_s, "finish_s": other.finish_s}
                    for other in choice.others
                ],
            }
            for choice in made
        ],
    }


def _as_documents(known: Sequence[Estimate] | Sequence[Bandwidth]) -> list[dict[str, object]]:
    return [{name: getattr(each, name) for name in each.__dataclass_fields__} for each in known]


def _print_bandwidths(bandwidths: tuple[Bandwidth, ...]) -> None:
    print_table(
        ("VM type", "network MB/s", "from", "transfers", "spread"),
        [
            (each.vm_type, each.mb_per_s, each.source, each.samples, _spread(each.spread))
            for each in bandwidths
        ],
    )


def _spread(sigma: float | None) -> str:
    return "" if sigma is None else f"± {sigma:.0%}"


def _print_estimates(estimates: tuple[Estimate, ...]) -> None:
    print_table(
        ("activity", "VM type", "estimate s", "from", "samples", "spread", "measured on"),
        [
            (
                each.activity,
                each.vm_type,
                each.runtime_s,
                each.source,
                each.samples,
                _spread(each.spread),
                ", ".join(each.measured_on),
            )
            for each in estimates
        ],
    )


def _print_choices(plan: Plan, made: list[Choice]) -> None:
    types = {vm.id: vm.type.name for vm in plan.fleet.vms}
    chosen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in plan.assignments:
        chosen[each.activity][types[each.vm]] += 1
    print_table(
        ("activity", "VM types chosen", "earliest there", "for example"),
        [
            (
                activity,
                ", ".join(f"{count} × {name}" for name, count in chosen[activity].most_common()),
                f"{sum(choice.margin_s >= 0 for choice in group)} of {len(group)}",
                f"{group[0].activation} on {group[0].chosen.vm}: {because(group[0])}",
            )
            for activity, group in _by_activity(made).items()
        ],
    )
    say("one activation, all its VMs: --activation NAME")


def _print_options(choice: Choice) -> None:
    click.echo(f"{choice.activation} on {choice.chosen.vm}: {because(choice)}")
    rows = [("chosen", choice.chosen), *(("", other) for other in choice.others)]
    print_table(
        ("", "VM", "data there s", "start s", "finish s", "takes s"),
        [
            (mark, option.vm, option.ready_s, option.start_s, option.finish_s, option.runtime_s)
            for mark, option in rows
        ],
    )
