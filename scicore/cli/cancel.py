"""`scicumulus cancel`: give up a run, an activity, or what certain tuples would cause."""

from __future__ import annotations

import click

from scicore.cli.output import database_option, json_option


@click.command(epilog="Example: scicumulus cancel last --activity fit --where 'DECADE < 1980'")
@click.argument("run")
@click.option("--activity", metavar="TAG", default="", help="Only this activity's activations.")
@click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Only what consumes a tuple like this, e.g. 'T1 >= 10'; several must all hold.",
)
@database_option
@json_option
def command(
    run: str, activity: str, where: tuple[str, ...], database_url: str | None, as_json: bool
) -> None:
    """Cancel RUN (a number, or `last`), or a part of it; recorded with who and when.

    A cancelled activation's program is ended; what it would have fed does not appear, and a
    REDUCE goes on without it.
    """
    from scicore.cli.steering import conditions, steer

    steer(run, "cancel", database_url, as_json, activity, conditions(where))
