"""`scicumulus report`: a run as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from scicore.cli.output import database_option, json_option, print_json, say


@click.command(epilog="Example: scicumulus report last -o report.html")
@click.argument("run", default="last")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to; default: run-ID.html in the current directory. An older report is replaced.",
)
@database_option
@json_option
def command(run: str, output: Path | None, database_url: str | None, as_json: bool) -> None:
    """Write RUN (a number, or `last`) as one HTML file that opens offline in any browser.

    Summary, where the time went, plan and run side by side, activities, VMs, cost, failures,
    outputs and their lineage, the learning curve, versions. A run that goes on is shown as it is
    at this moment. Passwords in commands and messages are masked.
    """
    from scicore.provenance.account import read_account
    from scicore.provenance.connection import connect
    from scicore.reports.html.page import render, save

    account = read_account(connect(database_url).engine, run)
    run_id = account.summary.run_id
    path = output or Path(f"run-{run_id}.html")
    save(render(account), path)
    if as_json:
        print_json(
            {
                "run_id": run_id,
                "state": account.summary.state,
                "path": str(path.absolute()),
                "size_bytes": path.stat().st_size,
            }
        )
        return
    say(f"run {run_id} ({account.summary.state}), for any browser:")
    click.echo(path)
