"""`scicumulus plan`: which VM should run which activation."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import click

from scicore.cli.output import database_option, json_option, print_json, print_table, say


@click.command(
    epilog="Example: scicumulus plan workflow.xml --fleet 8xt2.micro,1xt2.2xlarge --algorithm heft"
)
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--fleet", metavar="FLEET", help="VMs, as COUNTxTYPE,…; default: one local per core.")
@click.option("--algorithm", metavar="NAME", help="fcfs or heft; default: the workflow's, or heft.")
@click.option("--seed", default=0, show_default=True, help="Same seed, same plan.")
@database_option
@json_option
def command(
    spec: Path,
    fleet: str | None,
    algorithm: str | None,
    seed: int,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Make a schedule plan for the workflow SPEC and store it in the provenance database."""
    from scicore.cli.preparation import fleet_of, load, make_plan, store_plan
    from scicore.provenance.connection import connect

    specification = load(spec)
    vms = fleet_of(fleet, specification.workflow)
    with connect(database_url).engine.begin() as connection:
        plan = make_plan(connection, specification.workflow, vms, algorithm, seed)
        _, plan_id = store_plan(connection, specification, plan)
    if as_json:
        print_json(
            {
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
        )
        return
    counts: defaultdict[str, int] = defaultdict(int)
    finish_s: defaultdict[str, float] = defaultdict(float)
    for assignment in plan.assignments:
        counts[assignment.vm] += 1
        finish_s[assignment.vm] = max(finish_s[assignment.vm], assignment.finish_s)
    print_table(
        ("VM", "slots", "activations", "until s"),
        [(vm.id, vm.type.slots, counts[vm.id], finish_s[vm.id]) for vm in plan.fleet.vms],
    )
    say(
        f"plan {plan_id} ({plan.algorithm}): {len(plan.assignments)} activations, "
        f"makespan {plan.makespan_s:.2f} s (at most {plan.gap:.1%} above the optimum), "
        f"${plan.cost_usd:.4f}, planned in {plan.planning_s:.3f} s"
    )
    say(f"run it: scicumulus run {spec} --plan {plan_id}")
