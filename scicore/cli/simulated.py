"""What `simulate` shows: figures of all repeats, a table of VMs and the Gantt chart."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click
import numpy as np

from scicore.cli.output import print_table, say
from scicore.model.activation import Dispatch, RunState
from scicore.model.plan import Plan
from scicore.model.problem import Problem
from scicore.reports.gantt import Bar, Chart
from scicore.reports.gantt_text import draw_gantt_text
from scicore.simulator.models import Uncertainty
from scicore.simulator.outcome import Outcome
from scicore.simulator.repeats import simulations

WIDE = 120  # columns of a chart when nobody's terminal limits it


@dataclass(frozen=True, slots=True)
class Simulated:
    problem: Problem
    plan: Plan
    dispatch: Dispatch
    outcomes: Sequence[Outcome]  # the first one has its attempts

    @property
    def finished(self) -> list[Outcome]:
        return [each for each in self.outcomes if each.state is RunState.FINISHED]

    def mean(self, what: str) -> float | None:
        """Over the runs that came to their end; None if none did."""
        values = [getattr(each, what) for each in self.finished]
        return float(np.mean(values)) if values else None

    def percentile_s(self, percent: float) -> float | None:
        values = [each.makespan_s for each in self.finished]
        return float(np.percentile(values, percent)) if values else None


def repeat_simulation(
    problem: Problem,
    plan: Plan,
    uncertainty: Uncertainty,
    seed: int,
    repeats: int,
    dispatch: Dispatch,
    max_attempts: int,
) -> Simulated:
    rng = np.random.default_rng(seed)
    outcomes = simulations(problem, plan, uncertainty, rng, repeats, dispatch, max_attempts)
    if repeats > 1 and sys.stderr.isatty():
        with click.progressbar(
            outcomes, length=repeats, label="simulating", file=sys.stderr
        ) as bar:
            return Simulated(problem, plan, dispatch, list(bar))
    return Simulated(problem, plan, dispatch, list(outcomes))


def as_document(simulated: Simulated, plan_id: int | None) -> dict[str, object]:
    """The stable keys of `simulate --json`."""
    vms = simulated.plan.fleet.vms
    busy_s = np.mean([each.busy_s for each in simulated.outcomes], axis=0)
    offered_s = np.mean([each.makespan_s for each in simulated.outcomes])
    return {
        "makespan_s": simulated.mean("makespan_s"),
        "cost_usd": simulated.mean("cost_usd"),
        "utilisation": simulated.mean("utilisation"),
        "p50_s": simulated.percentile_s(50),
        "p90_s": simulated.percentile_s(90),
        "repeats": len(simulated.outcomes),
        "finished": len(simulated.finished),
        "dispatch": simulated.dispatch,
        "plan_id": plan_id,
        "algorithm": simulated.plan.algorithm,
        "fleet": simulated.plan.fleet.text,
        "activations": len(simulated.problem.activations),
        "predicted_makespan_s": simulated.plan.makespan_s,
        "vms": [
            {
                "vm": vm.id,
                "slots": vm.type.slots,
                "busy_s": float(busy),
                "utilisation": float(busy / (vm.type.slots * offered_s)) if offered_s else 0.0,
            }
            for vm, busy in zip(vms, busy_s, strict=True)
        ],
    }


def chart_of(simulated: Simulated, tag: str) -> Chart:
    outcome = simulated.outcomes[0]
    assert outcome.attempts is not None
    problem = simulated.problem
    bars = tuple(
        Bar(
            problem.fleet.vms[vm].id,
            problem.activities[activation],
            start_ms / 1000,
            finish_ms / 1000,
            slots,
            finished,
        )
        for activation, vm, start_ms, finish_ms, slots, finished in zip(
            *(column.tolist() for column in outcome.attempts), strict=True
        )
    )
    return Chart(
        title=f"{tag} on {problem.fleet.text}",
        subtitle=(
            f"{simulated.plan.algorithm}, {simulated.dispatch}: {len(problem.activations)} "
            f"activations in {outcome.makespan_s:.2f} s, ${outcome.cost_usd:.4f}, "
            f"{outcome.utilisation:.0%} of all slots used"
        ),
        vms=tuple((vm.id, vm.type.slots) for vm in problem.fleet.vms),
        bars=bars,
    )


def print_simulated(simulated: Simulated, chart: Chart) -> None:
    on_terminal = sys.stdout.isatty()
    columns = shutil.get_terminal_size().columns if on_terminal else WIDE
    click.echo(draw_gantt_text(chart, columns, colour=on_terminal), color=on_terminal)
    click.echo()
    document = as_document(simulated, None)
    vms = document["vms"]
    assert isinstance(vms, list)
    print_table(
        ("VM", "slots", "busy slot s", "utilised"),
        [(vm["vm"], vm["slots"], vm["busy_s"], f"{vm['utilisation']:.0%}") for vm in vms],
    )
    repeats, finished = len(simulated.outcomes), len(simulated.finished)
    if not finished:
        say(f"none of {repeats} simulated runs came to its end: {simulated.outcomes[0].state}")
        return
    figures = (
        f"makespan {document['makespan_s']:.2f} s (predicted "
        f"{simulated.plan.makespan_s:.2f} s), ${document['cost_usd']:.4f}, "
        f"{document['utilisation']:.0%} of all slots used"
    )
    if repeats == 1:
        say(figures)
        return
    say(f"means of {repeats} simulations: {figures}")
    say(f"half of them take at most {document['p50_s']:.2f} s, 90% {document['p90_s']:.2f} s")
    if finished < repeats:
        say(f"{repeats - finished} of them did not come to their end, and are not counted")
