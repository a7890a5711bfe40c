"""`scicumulus resume`: let a paused run go on."""

from __future__ import annotations

import click

from scicore.cli.output import database_option, json_option


@click.command(epilog="Example: scicumulus resume last")
@click.argument("run")
@database_option
@json_option
def command(run: str, database_url: str | None, as_json: bool) -> None:
    """Let the paused RUN (a number, or `last`) go on."""
    from scicore.cli.steering import steer

    steer(run, "resume", database_url, as_json)
