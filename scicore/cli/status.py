"""`scicumulus status`: how far runs are, read from provenance."""

from __future__ import annotations

import click

from scicore.cli.output import database_option, json_option, print_json, print_table, say


@click.command(epilog="Example: scicumulus status last --json")
@click.argument("run", required=False)
@database_option
@json_option
def command(run: str | None, database_url: str | None, as_json: bool) -> None:
    """Show the recent runs, or the activities of one RUN (a number, or `last`)."""
    from scicore.cli.supervision import as_document
    from scicore.model.activation import ActivationState
    from scicore.provenance.connection import connect, reading
    from scicore.provenance.reader import recent_runs, resolve_run, run_summary

    with reading(connect(database_url).engine) as connection:
        if run is not None:
            summary = run_summary(connection, resolve_run(connection, run))
            if as_json:
                print_json(as_document(summary))
            else:
                from scicore.reports.terminal import print_summary

                print_summary(summary)
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
