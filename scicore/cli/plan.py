"""`scicumulus plan`: which VM should run which activation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scicore.cli.money_options import doubt_of, front_options, objective_of
from scicore.cli.options import (
    algorithm_option,
    budget_option,
    problem_options,
    seed_option,
    settings_option,
    sizing_option,
)
from scicore.cli.output import database_option, json_option, print_json, say

if TYPE_CHECKING:
    from scicore.model.plan import Plan
    from scicore.reports.learning import Learning


@click.command(
    epilog="Example: scicumulus plan workflow.xml --fleet 8xt2.micro,1xt2.2xlarge --budget 5s"
)
@click.argument("specs", metavar="SPEC…", nargs=-1, required=True, type=click.Path(path_type=Path))
@problem_options
@algorithm_option
@seed_option
@budget_option
@settings_option
@sizing_option
@front_options
@click.option(
    "--curve",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the learning curve as FILE.svg or FILE.png.",
)
@database_option
@json_option
def command(
    specs: tuple[Path, ...],
    fleet: str | None,
    catalog: Path | None,
    transfer: str | None,
    no_boot: bool,
    processors: bool,
    algorithm: str | None,
    seed: int,
    budget: float | None,
    settings: tuple[str, ...],
    sizing: str | None,
    objective: str | None,
    deadline: float | None,
    max_cost: float | None,
    confidence: float,
    noise: float,
    quota: int | None,
    picture: Path | None,
    curve: Path | None,
    database_url: str | None,
    as_json: bool,
) -> int:
    """Make a schedule plan for the workflow SPEC and store it in the provenance database.

    SPEC is SciCumulus XML, DAX or WfFormat. Runtimes are learned from earlier runs; `scicumulus
    explain plan ID` says how. A learner starts from what it learned last for this workflow.

    Several SPECs are planned together: their activations share the fleet. Each workflow gets a plan
    of its own, to be run at the same time as the others.

    With --objective, --deadline or --max-cost, all plans that trade time for money are made, shown
    and stored, and one is chosen; exit code 4 if none keeps the limits. `--fleet auto` chooses the
    VMs, too.
    """
    from scicore.cli.auto_fleet import AUTO
    from scicore.cli.joint import as_one, joint_grounds, store_joint, tags_of
    from scicore.cli.loading import load
    from scicore.cli.planned import as_document, print_plan, say_how_to_run
    from scicore.cli.planning import Wish, policy_for, read_settings_option, solve
    from scicore.cli.preparation import Cloud
    from scicore.provenance.connection import connect, reading
    from scicore.reports.learning import Learning
    from scicore.reports.picture import require_format

    if curve is not None:
        require_format(curve, "--curve learning.png")
    if picture is not None:
        require_format(picture, "--picture front.png")
    wish = Wish(algorithm, seed, read_settings_option(settings), budget)
    cloud = Cloud(fleet, catalog, transfer, not no_boot, processors, sizing)
    if fleet == AUTO or any(each is not None for each in (objective, deadline, max_cost, picture)):
        from scicore.cli.front_planning import Asked, plan_front
        from scicore.errors import UsageError

        if curve is not None:
            raise UsageError(
                "--curve shows how one plan is learned, not a front",
                "leave it out, or draw the front with --picture FILE",
            )
        goal = objective_of(objective, deadline, max_cost)
        asked = Asked(specs, cloud, wish, goal, doubt_of(confidence, noise, seed), quota)
        return plan_front(asked, picture, database_url, as_json=as_json)
    specifications = [load(spec) for spec in specs]
    workflows = [each.workflow for each in specifications]
    together = as_one(workflows)
    engine = connect(database_url).engine
    with reading(engine) as connection:
        grounds = joint_grounds(connection, workflows, cloud)
        policy = policy_for(connection, together, wish)
    with Learning(budget) as learning:
        plan = solve(together, grounds, wish, policy, lambda progress: learning.step(*progress))
    with engine.begin() as connection:
        stored = store_joint(connection, specifications, plan)
    if curve is not None:
        _draw(learning, plan, together.tag, curve)
    if as_json:
        print_json(as_document(stored, plan, tags_of(workflows)))
        return 0
    print_plan(stored, plan, tags_of(workflows))
    say_how_to_run(stored, specs)
    return 0


def _draw(learning: Learning, plan: Plan, tag: str, file: Path) -> None:
    from scicore.reports.curves import Curve, draw_curve, draw_curve_text

    points = learning.points
    if not points:
        say(f"{plan.algorithm} does not learn: its curve is its one plan")
    title = f"Learning to plan {tag} on {plan.fleet.text}"
    subtitle = (
        f"{plan.algorithm}, seed {plan.seed}: {plan.makespan_s:.2f} s, "
        f"at most {plan.gap:.1%} above the optimum, in {plan.planning_s:.2f} s"
    )
    draw_curve(Curve(title, subtitle, points, plan.lower_bound_s), file)
    if points:
        say(draw_curve_text(points))
    say(f"learning curve: {file}")
