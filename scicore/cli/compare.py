"""`scicumulus compare`: planners side by side on one problem."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scicore.cli.options import budget_option, problem_options, seed_option
from scicore.cli.output import database_option, json_option, print_json, print_table, say

if TYPE_CHECKING:
    from scicore.model.plan import Plan

# Not without being asked: slow, or for time and money rather than time.
SLOW = frozenset({"exact", "reassign-pareto", "dqn", "nsga2", "mopso", "gtbga", "ga", "mdp"})


@click.command(
    epilog="Example: scicumulus compare workflow.xml --fleet 8xt2.micro,1xt2.2xlarge "
    "--algorithms fcfs,heft,reassign,reassign-plus"
)
@click.argument("specs", metavar="SPEC…", nargs=-1, required=True, type=click.Path(path_type=Path))
@problem_options
@click.option(
    "--algorithms", metavar="A,B,…", help="Planners to compare; default: all but the slow ones."
)
@seed_option
@budget_option
@database_option
@json_option
def command(
    specs: tuple[Path, ...],
    fleet: str | None,
    catalog: Path | None,
    transfer: str | None,
    no_boot: bool,
    processors: bool,
    algorithms: str | None,
    seed: int,
    budget: float | None,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Plan the workflow SPEC with several planners and compare what comes out. Nothing is stored.

    Several SPECs are planned together: their activations share the fleet. The lower bound is what
    no schedule can beat; a gap of 5% means that at most 5% can be gained.
    """
    from scicore.cli.joint import as_one, joint_grounds
    from scicore.cli.loading import load
    from scicore.cli.planning import Wish, algorithm_of, policy_for, solve
    from scicore.cli.preparation import Cloud
    from scicore.planners import PLANNERS
    from scicore.provenance.connection import connect, reading

    workflows = [load(spec).workflow for spec in specs]
    workflow = as_one(workflows)
    wanted = (
        algorithms.split(",")
        if algorithms is not None
        else [name for name in PLANNERS if name not in SLOW]
    )
    names = list(dict.fromkeys(algorithm_of(name.strip(), workflow) for name in wanted))
    cloud = Cloud(fleet, catalog, transfer, not no_boot, processors)
    wishes = [Wish(name, seed, budget_s=budget) for name in names]
    with reading(connect(database_url).engine) as connection:
        policies = [policy_for(connection, workflow, wish) for wish in wishes]
        grounds = joint_grounds(connection, workflows, cloud)
    plans = []
    for wish, policy in zip(wishes, policies, strict=True):
        say(f"planning with {wish.algorithm} …")
        plans.append(solve(workflow, grounds, wish, policy))
    document = as_document(plans)
    if as_json:
        print_json(document)
        return
    _print(document)


def as_document(plans: list[Plan]) -> dict[str, object]:
    """The stable keys of `compare --json`. One planner may prove a better bound than others."""
    bound_s = max((plan.lower_bound_s for plan in plans), default=0.0)
    best_s = min((plan.makespan_s for plan in plans), default=0.0)
    return {
        "lower_bound_s": bound_s,
        "results": [
            {
                "algorithm": plan.algorithm,
                "makespan_s": plan.makespan_s,
                "cost_usd": plan.cost_usd,
                "gap": plan.makespan_s / bound_s - 1 if bound_s else 0.0,
                "planning_s": plan.planning_s,
                "ratio": plan.makespan_s / best_s if best_s else 1.0,
            }
            for plan in plans
        ],
    }


def _print(document: dict[str, object]) -> None:
    results = document["results"]
    assert isinstance(results, list)
    print_table(
        ("algorithm", "makespan s", "× best", "gap to bound", "cost USD", "planned in s"),
        [
            (
                row["algorithm"],
                f"{row['makespan_s']:.3f}",
                f"{row['ratio']:.4f}",
                f"{row['gap']:.2%}",
                f"{row['cost_usd']:.4f}",
                f"{row['planning_s']:.3f}",
            )
            for row in sorted(results, key=lambda row: (row["makespan_s"], row["planning_s"]))
        ],
    )
    say(f"no schedule is faster than {document['lower_bound_s']:.3f} s")
