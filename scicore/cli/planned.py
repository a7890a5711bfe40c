"""What `plan` shows: figures of the plan, a table of its VMs, and how to run it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scicore.cli.joint import Stored
from scicore.cli.output import print_table, say
from scicore.model.plan import Plan


def as_document(stored: Sequence[Stored], plan: Plan, tags: Sequence[str]) -> dict[str, object]:
    """The stable keys of `plan --json`. Of several workflows: those of all together, which no
    stored plan has, and below `plans` those of each."""
    if len(stored) == 1:
        return _figures(stored[0].plan_id, plan)
    return {
        **_figures(None, plan),
        "plans": [
            {"workflow": tag, **_figures(*each)} for tag, each in zip(tags, stored, strict=True)
        ],
    }


def _figures(plan_id: int | None, plan: Plan) -> dict[str, object]:
    return {
        "plan_id": plan_id,
        "algorithm": plan.algorithm,
        "seed": plan.seed,
        "fleet": plan.fleet.text,
        "activations": len(plan.assignments),
        "makespan_s": plan.makespan_s,
        "cost_usd": plan.cost_usd,
        "lower_bound_s": plan.lower_bound_s,
        "gap": plan.gap,
        "planning_s": plan.planning_s,
    }


def print_plan(stored: Sequence[Stored], plan: Plan, tags: Sequence[str]) -> None:
    _print_vms(plan)
    if len(stored) > 1:
        print_table(
            ("plan", "workflow", "activations", "until s", "share USD"),
            [
                (each.plan_id, tag, len(each.plan.assignments), each.plan.makespan_s,
                 f"{each.plan.cost_usd:.4f}")
                for tag, each in zip(tags, stored, strict=True)
            ],
        )  # fmt: skip
    named = "plans " if len(stored) > 1 else "plan "
    named += ", ".join(str(each.plan_id) for each in stored)
    say(
        f"{named} ({plan.algorithm}): {len(plan.assignments)} activations, "
        f"makespan {plan.makespan_s:.2f} s (at most {plan.gap:.1%} above the optimum), "
        f"${plan.cost_usd:.4f}, planned in {plan.planning_s:.3f} s"
    )
    say(f"why: scicumulus explain plan {stored[0].plan_id}")


def say_how_to_run(stored: Sequence[Stored], specs: Sequence[Path]) -> None:
    for each, spec in zip(stored, specs, strict=True):
        say(f"run it: scicumulus run {spec} --plan {each.plan_id}")
    if len(stored) > 1:
        say("they were planned for the same time: start them together")


def _print_vms(plan: Plan) -> None:
    cpus = dict.fromkeys((each.activation for each in plan.assignments), 1)
    if plan.grounds is not None and plan.grounds.problem.cpus:
        problem = plan.grounds.problem
        cpus = dict(zip(problem.activations, problem.cpus, strict=True))
    rows = []
    for vm in plan.fleet.vms:
        own = [each for each in plan.assignments if each.vm == vm.id]
        busy_s = sum((each.finish_s - each.start_s) * cpus[each.activation] for each in own)
        until_s = max((each.finish_s for each in own), default=0.0)
        offered_s = vm.type.slots * plan.makespan_s
        share = f"{busy_s / offered_s:.0%}" if offered_s else ""
        rows.append((vm.id, vm.type.slots, len(own), busy_s, share, until_s))
    print_table(("VM", "slots", "activations", "busy slot s", "utilised", "until s"), rows)
