"""`scicumulus whatif`: what several fleets and planners would take, before anything is launched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scicore.cli.money_options import (
    deadline_option,
    max_cost_option,
    noise_option,
    objective_of,
)
from scicore.cli.options import budget_option, cloud_options, seed_option
from scicore.cli.output import database_option, json_option, print_json, print_table, say

if TYPE_CHECKING:
    from scicore.model.estimate import Grounds
    from scicore.model.objective import Objective
    from scicore.model.plan import Plan
    from scicore.simulator.odds import Odds


@click.command(
    epilog="Example: scicumulus whatif workflow.xml --fleet 4xt3.large --fleet 2xc5.2xlarge "
    "--algorithms heft,reassign-plus --deadline 2h"
)
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--fleet",
    "fleets",
    multiple=True,
    metavar="FLEET",
    help="VMs, as COUNTxTYPE,…; give it once for each fleet.",
)
@cloud_options
@click.option(
    "--algorithms", metavar="A,B,…", help="Planners; default: the workflow's, or our learner."
)
@seed_option
@budget_option
@click.option(
    "--repeat", default=400, show_default=True, type=click.IntRange(1), help="Simulate so often."
)
@noise_option
@deadline_option
@max_cost_option
@database_option
@json_option
def command(
    spec: Path,
    fleets: tuple[str, ...],
    catalog: Path | None,
    transfer: str | None,
    no_boot: bool,
    processors: bool,
    algorithms: str | None,
    seed: int,
    budget: float | None,
    repeat: int,
    noise: float,
    deadline: float | None,
    max_cost: float | None,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Time and money of the workflow SPEC on several fleets, by several planners. Nothing is
    stored.

    Every plan is simulated many times. Runtimes scatter as earlier runs of the workflow did,
    activity by activity and VM type by VM type; --noise stands in where there were none. P50: half
    of all runs take at most this; P90: nine of ten.
    """
    from scicore.cli.loading import load
    from scicore.cli.planning import Wish, algorithm_of, policy_for, solve
    from scicore.cli.preparation import Cloud, prepare_grounds
    from scicore.cli.tradeoff import Doubt, weighed
    from scicore.provenance.connection import connect, reading

    workflow = load(spec).workflow
    objective = objective_of(None, deadline, max_cost)
    doubt = Doubt(noise=noise, repeats=repeat, seed=seed)
    asked = algorithms.split(",") if algorithms else [None]
    names = list(dict.fromkeys(algorithm_of(name and name.strip(), workflow) for name in asked))
    wishes = [Wish(name, seed, budget_s=budget) for name in names]
    clouds = [
        Cloud(fleet, catalog, transfer, not no_boot, processors) for fleet in fleets or (None,)
    ]
    with reading(connect(database_url).engine) as connection:
        policies = [policy_for(connection, workflow, wish) for wish in wishes]
        known = [prepare_grounds(connection, workflow, cloud) for cloud in clouds]
    rows = []
    for grounds in known:
        for wish, policy in zip(wishes, policies, strict=True):
            say(f"{grounds.problem.fleet.text}: planning with {wish.algorithm} …")
            plan = solve(workflow, grounds, wish, policy)
            rows.append(_row(plan, grounds, weighed(plan, grounds, doubt), objective))
    document = {
        "repeats": repeat,
        "deadline_s": deadline,
        "max_cost_usd": max_cost,
        "results": rows,
    }
    if as_json:
        print_json(document)
        return
    _print(rows, objective)
    measured, activities = rows[0]["measured_activities"], rows[0]["activities"]
    say(
        f"{repeat} simulated runs each; {measured} of {activities} activities scatter as measured, "
        f"the others by a sigma of {noise:g}"
    )


def _row(plan: Plan, grounds: Grounds, odds: Odds, objective: Objective) -> dict[str, Any]:
    """The stable keys of `whatif --json`."""
    measured = {each.activity for each in grounds.estimates if each.spread is not None}
    return {
        "fleet": plan.fleet.text,
        "algorithm": plan.algorithm,
        "makespan_s": plan.makespan_s,
        "cost_usd": plan.cost_usd,
        "p50_s": odds.time_s(0.5),
        "p90_s": odds.time_s(0.9),
        "p50_usd": odds.money_usd(0.5),
        "p90_usd": odds.money_usd(0.9),
        "probability": odds.keeps(objective) if objective.constrained else None,
        "planning_s": plan.planning_s,
        "activities": len(set(grounds.problem.activities)),
        "measured_activities": len(measured),
    }


def _print(rows: list[dict[str, Any]], objective: Objective) -> None:
    from scicore.reports.figures import time_text

    columns = ["fleet", "planner", "planned", "P50", "P90", "planned USD", "P50 USD", "P90 USD"]
    print_table(
        [*columns, *(["limits kept"] if objective.constrained else [])],
        [
            (
                row["fleet"],
                row["algorithm"],
                *(time_text(row[name]) for name in ("makespan_s", "p50_s", "p90_s")),
                *(f"{row[name]:.4f}" for name in ("cost_usd", "p50_usd", "p90_usd")),
                *([f"{row['probability']:.0%}"] if objective.constrained else []),
            )
            for row in rows
        ],
    )
