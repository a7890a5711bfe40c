"""`scicumulus simulate`: what a plan would do, before it costs anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scicore.cli.options import (
    algorithm_option,
    budget_option,
    problem_options,
    seed_option,
    settings_option,
    share,
)
from scicore.cli.output import database_option, json_option, print_json, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Engine

    from scicore.cli.loading import Specification
    from scicore.cli.planning import Wish
    from scicore.cli.preparation import Cloud
    from scicore.model.plan import Plan
    from scicore.model.problem import Problem
    from scicore.simulator.models import Slowdown


@click.command(
    epilog="Example: scicumulus simulate workflow.xml --fleet 8xt2.micro,1xt2.2xlarge "
    "--algorithm heft --repeat 1000 --noise 0.3 --gantt plan.svg"
)
@click.argument("specs", metavar="SPEC…", nargs=-1, required=True, type=click.Path(path_type=Path))
@problem_options
@click.option("--plan", "plan_id", type=int, metavar="ID", help="Simulate this stored plan.")
@algorithm_option
@seed_option
@budget_option
@settings_option
@click.option(
    "--repeat", default=1, show_default=True, type=click.IntRange(1), help="Simulate so often."
)
@click.option(
    "--noise", default=0.0, metavar="SIGMA", help="Log-normal noise on each runtime, e.g. 0.3."
)
@click.option(
    "--slowdown",
    metavar="SHARE:FACTOR[:SECONDS]",
    help="Slow VMs: 0.15:2 slows 15% of them down to half; with seconds, for such periods.",
)
@click.option("--failures", type=share, default="0", metavar="P", help="Attempts that fail.")
@click.option("--vm-loss", type=share, default="0", metavar="P", help="VMs lost during a run.")
@click.option(
    "--dispatch",
    type=click.Choice(["strict", "adaptive", "dynamic"]),
    default="strict",
    show_default=True,
    help="How closely the plan is followed.",
)
@click.option(
    "--gantt",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the (first) simulation as FILE.svg or FILE.png.",
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
    plan_id: int | None,
    algorithm: str | None,
    seed: int,
    budget: float | None,
    settings: tuple[str, ...],
    repeat: int,
    noise: float,
    slowdown: str | None,
    failures: float,
    vm_loss: float,
    dispatch: str,
    gantt: Path | None,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Simulate a plan for the workflow SPEC: makespan, cost, utilisation, and how sure they are.

    The execution core itself runs the plan, in virtual time: what it does here it does in a run.
    (Where that is much work, the planners' kernel does the same faster.) Nothing is stored.
    Several SPECs are planned and simulated together: their activations share the fleet.
    Figures of several simulations are means; P50 and P90 tell their spread.
    """
    from scicore.cli.loading import load
    from scicore.cli.planning import Wish, read_settings_option
    from scicore.cli.preparation import Cloud
    from scicore.cli.simulated import as_document, chart_of, print_simulated, repeat_simulation
    from scicore.model.activation import Dispatch
    from scicore.provenance.connection import connect
    from scicore.reports.picture import require_format
    from scicore.simulator.models import Uncertainty

    if gantt is not None:
        require_format(gantt, "--gantt plan.svg")
    uncertainty = Uncertainty(noise, _slowdown(slowdown), failures, vm_loss)
    specifications = [load(spec) for spec in specs]
    cloud = Cloud(fleet, catalog, transfer, not no_boot, processors)
    engine = connect(database_url).engine
    if plan_id is not None:
        tag = specifications[0].workflow.tag
        problem, plan = _stored(engine, specifications, plan_id, cloud, algorithm)
    else:
        wish = Wish(algorithm, seed, read_settings_option(settings), budget)
        tag, problem, plan = _made(engine, specifications, cloud, wish)
    attempts = max(_attempts(each) for each in specifications)
    simulated = repeat_simulation(
        problem, plan, uncertainty, seed, repeat, Dispatch(dispatch), attempts
    )
    chart = chart_of(simulated, tag)
    if gantt is not None:
        from scicore.reports.gantt import draw_gantt

        draw_gantt(chart, gantt)
        say(f"Gantt chart: {gantt}")
    if as_json:
        print_json(as_document(simulated, plan_id))
    else:
        print_simulated(simulated, chart)


def _slowdown(text: str | None) -> Slowdown | None:
    from scicore.errors import UsageError
    from scicore.simulator.models import Slowdown

    if text is None:
        return None
    try:
        figures = [float(part.strip().removesuffix("s")) for part in text.split(":")]
        return Slowdown(*figures)
    except (ValueError, TypeError):
        raise UsageError(
            f"--slowdown {text}: expected SHARE:FACTOR or SHARE:FACTOR:SECONDS, e.g. 0.15:2:60"
        ) from None


def _stored(
    engine: Engine,
    specifications: Sequence[Specification],
    plan_id: int,
    cloud: Cloud,
    algorithm: str | None,
) -> tuple[Problem, Plan]:
    """The plan as it was made, on the problem that it was made for."""
    from dataclasses import replace

    from scicore.cli.preparation import planned_grounds
    from scicore.errors import UsageError
    from scicore.model.problem import Transfer
    from scicore.provenance.connection import reading
    from scicore.provenance.grounds import load_problem
    from scicore.provenance.groups import Group, load_group
    from scicore.provenance.plans import load_plan

    if cloud.fleet or algorithm:
        raise UsageError("--plan brings its own fleet and algorithm: leave the other options out")
    if len(specifications) > 1:
        raise UsageError(
            f"a stored plan is for one workflow, found {len(specifications)}",
            "name one SPEC, or an --algorithm instead of --plan",
        )
    specification = specifications[0]
    with reading(engine) as connection:
        _, plan = load_plan(connection, plan_id)
        problem = load_problem(connection, plan_id, plan.fleet)
        others = [each.plan_id for each in load_group(connection, Group.JOINT, plan_id)]
        if problem is None:  # made before problems were stored
            workflow = specification.workflow
            problem = planned_grounds(connection, workflow, plan.fleet, cloud).problem
            problem = replace(problem, fleet=plan.fleet)  # as it was known then
    known = {activity.tag for activity in specification.workflow.activities}
    if not {each.activity for each in plan.assignments} <= known:
        raise UsageError(
            f"plan {plan_id} was made for another workflow than {specification.workflow.tag}",
            "make a new plan with `scicumulus plan`",
        )
    if others:
        together = ", ".join(str(other) for other in others if other != plan_id)
        say(f"plan {plan_id} shares its VMs with plan {together}: here it has them alone")
    if cloud.transfer is not None:
        problem = replace(problem, transfer=Transfer(cloud.transfer))
    return (problem if cloud.boot else replace(problem, boot=False)), plan


def _made(
    engine: Engine, specifications: Sequence[Specification], cloud: Cloud, wish: Wish
) -> tuple[str, Problem, Plan]:
    from scicore.cli.joint import as_one, joint_grounds
    from scicore.cli.planning import policy_for, solve
    from scicore.provenance.connection import reading
    from scicore.reports.learning import Learning

    workflows = [each.workflow for each in specifications]
    together = as_one(workflows)
    with reading(engine) as connection:
        policy = policy_for(connection, together, wish)
        grounds = joint_grounds(connection, workflows, cloud)
    with Learning(wish.budget_s) as learning:
        plan = solve(together, grounds, wish, policy, lambda each: learning.step(*each))
    return together.tag, grounds.problem, plan


def _attempts(specification: Specification) -> int:
    """As often as the workflow allows; a trace does not say, so as often as it takes."""
    from scicore.simulator.cloud import UNLIMITED

    workflow = specification.workflow
    traced = any(activity.parents_field for activity in workflow.activities)
    return UNLIMITED if traced and workflow.max_attempts == 1 else workflow.max_attempts
