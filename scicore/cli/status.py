"""`scicumulus status`: how far runs are, read from provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from scicore.cli.output import database_option, json_option, print_json, print_table, say

if TYPE_CHECKING:
    from scicore.provenance.moment import Moment


@click.command(epilog="Example: scicumulus status last --json")
@click.argument("run", required=False)
@database_option
@json_option
def command(run: str | None, database_url: str | None, as_json: bool) -> None:
    """Show the recent runs, or the activities of one RUN (a number, or `last`)."""
    from scicore.cli.supervision import as_document
    from scicore.model.activation import ActivationState
    from scicore.provenance.connection import connect, reading
    from scicore.provenance.moment import Watch
    from scicore.provenance.reader import recent_runs, resolve_run, run_summary

    with reading(connect(database_url).engine) as connection:
        if run is not None:
            moment = Watch(resolve_run(connection, run)).look(connection)
            if as_json:
                now = _now(moment) if moment.going_on else {}
                print_json({**as_document(moment.summary), **now})
            elif moment.going_on:
                from scicore.reports.terminal import print_moment

                print_moment(moment)
                say(f"watch it: scicumulus watch {moment.summary.run_id}")
            else:
                from scicore.reports.terminal import print_summary

                print_summary(moment.summary)
            return
        summaries = [run_summary(connection, run_id) for run_id in recent_runs(connection)]
    if as_json:
        print_json({"runs": [as_document(summary) for summary in summaries]})
        return
    if not summaries:
        say("no run yet; start with: scicumulus run SPEC")
        return
    print_table(
        ("run", "workflow", "state", "finished", "activations", "started", "makespan s", "fleet"),
        [
            (
                summary.run_id,
                summary.workflow,
                summary.state,
                summary.count(ActivationState.FINISHED),
                summary.activations,
                summary.started_at,
                summary.makespan_s,
                summary.fleet,
            )
            for summary in summaries
        ],
    )


def _now(moment: Moment) -> dict[str, object]:
    """What `status --json` says beyond `run --json` while the run goes on."""
    from scicore.reports.how_far import run_left_s

    elapsed_s = moment.summary.makespan_s
    return {
        "attended": moment.attended,
        "vms": [
            {name: getattr(vm, name) for name in ("vm", "vm_type", "slots", "state", "running")}
            for vm in moment.vms
        ],
        "rates_per_s": moment.rates_per_s,
        "behind_plan_s": None if elapsed_s is None else moment.clock.lag_s(elapsed_s, moment.done),
        "left_s": run_left_s(moment),
    }
