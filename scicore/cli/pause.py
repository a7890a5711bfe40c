"""`scicumulus pause`: let a run start nothing new for a while."""

from __future__ import annotations

import click

from scicore.cli.output import database_option, json_option


@click.command(epilog="Example: scicumulus pause last")
@click.argument("run")
@database_option
@json_option
def command(run: str, database_url: str | None, as_json: bool) -> None:
    """Pause RUN (a number, or `last`): what runs goes on, nothing new is started."""
    from scicore.cli.steering import steer

    steer(run, "pause", database_url, as_json)
