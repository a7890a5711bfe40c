"""`scicumulus watch`: look on while a run goes on, from any terminal; reads provenance alone."""

from __future__ import annotations

import contextlib
import time

import click

from scicore.cli.output import database_option, json_option, say


@click.command(epilog="Example: scicumulus watch last")
@click.argument("run", default="last")
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(0.1, 3600),
    default=0.5,
    show_default=True,
    metavar="SECONDS",
    help="How long between two looks.",
)
@database_option
@json_option
def command(run: str, every_s: float, database_url: str | None, as_json: bool) -> int:
    """Show RUN (a number, or `last`) live until it is over; then say how it ended.

    The exit code is the run's, as that of `scicumulus run`. Ctrl-C ends the watching, not the run.
    """
    from scicore.cli.supervision import LOOKING_IS_CHEAP, report
    from scicore.errors import DatabaseError
    from scicore.provenance.connection import connect, reading
    from scicore.provenance.moment import Watch
    from scicore.provenance.reader import resolve_run
    from scicore.reports.progress import Progress

    engine = connect(database_url).engine
    with reading(engine) as connection:
        run_id = resolve_run(connection, run)
        watch = Watch(run_id)
        moment = watch.look(connection)
    try:
        with Progress() as progress:
            progress.show(moment)
            took_s = 0.0
            while moment.going_on:
                time.sleep(max(every_s, LOOKING_IS_CHEAP * took_s))
                began = time.monotonic()
                # A database that is away is waited for: the run waits for it as well.
                with contextlib.suppress(DatabaseError), reading(engine) as connection:
                    moment = watch.look(connection)
                    progress.show(moment)
                took_s = time.monotonic() - began
    except KeyboardInterrupt:
        say(f"\nno longer watching; run {run_id} goes on")
        return 0
    return report(moment.summary, as_json=as_json)
