"""`scicumulus resume`: let a paused run go on, or take up one whose MPI job is gone."""

from __future__ import annotations

import contextlib
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scicore.cli.output import database_option, json_option, say

if TYPE_CHECKING:
    from scicore.cli.hosts import Hosts
    from scicore.provenance.connection import Database
    from scicore.provenance.store import StoredRun

LOOK_S = 0.5


@click.command(epilog="Example: scicumulus resume last")
@click.argument("run")
@click.option(
    "--hostfile",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Hosts to go on with: some may be gone, others new; default: as it was started.",
)
@database_option
@json_option
def command(run: str, hostfile: Path | None, database_url: str | None, as_json: bool) -> int:
    """Let RUN (a number, or `last`) go on: one that is paused, or one that was stopped,
    interrupted or left alone by a crash. What has finished is not run again; programs that are
    still running are watched again.
    """
    from scicore.cli.steering import steer
    from scicore.cli.supervision import Job, report, see_through
    from scicore.errors import UsageError
    from scicore.model.activation import RunState
    from scicore.provenance.connection import connect
    from scicore.provenance.hold import is_held
    from scicore.provenance.reader import resolve_run, run_summary
    from scicore.provenance.store import close_run, load_run

    database = connect(database_url)
    with database.engine.connect() as connection:
        run_id = resolve_run(connection, run)
        stored = load_run(connection, run_id, whole=False)
        held = is_held(connection, run_id)
    if held and stored.state is RunState.PAUSED:
        steer(str(run_id), "resume", database_url, as_json)
        return 0
    if stored.state in (RunState.FINISHED, RunState.FAILED):
        raise UsageError(
            f"run {run_id} is {stored.state}: there is nothing left to run",
            "start it anew with `scicumulus run`",
        )
    if held:
        say(f"run {run_id} has a master that is at work; waiting for it")
        _wait_for_master(database, run_id)
    fleet, directory = stored.plan.fleet, stored.directory
    hosts = _hosts(stored, hostfile)
    with database.engine.connect() as connection:
        summary = run_summary(connection, run_id)
    if summary.state is RunState.PAUSED:  # with nobody there to be told that it goes on
        close_run(database.engine, run_id, RunState.INTERRUPTED)
    if summary.state not in (RunState.FINISHED, RunState.FAILED):
        job = Job(run_id, directory, fleet, hosts)
        with _lease(hosts, database_url):
            summary = see_through(database, job, to_stderr=as_json)
    return report(summary, as_json=as_json)


def _hosts(stored: StoredRun, hostfile: Path | None) -> Hosts | None:
    """None: the run is on this machine. What hosts need is slow to import."""
    if hostfile is None and all(vm.type.name == "local" for vm in stored.plan.fleet.vms):
        from scicore.engine.seating import last

        if last(stored.directory) is None:
            return None
    from scicore.cli.hosts import hosts_of_run
    from scicore.cli.preparation import catalog_of, require_local

    hosts = hosts_of_run(stored.directory, hostfile, catalog_of(None, stored.workflow))
    if hosts is None:
        require_local(stored.plan.fleet)
    return hosts


def _lease(hosts: Hosts | None, database_url: str | None) -> AbstractContextManager[None]:
    """Rented VMs must not end under the run."""
    if hosts is None:
        return nullcontext()
    from scicore.cli.leasing import cluster_of, kept_alive

    return kept_alive(cluster_of(hosts.file), database_url)


def _wait_for_master(database: Database, run_id: int) -> None:
    from scicore.errors import DatabaseError
    from scicore.provenance.hold import is_held
    from scicore.provenance.moment import Watch
    from scicore.reports.terminal import Progress

    watch = Watch(run_id)
    with Progress() as progress:
        held = True
        while held:
            time.sleep(LOOK_S)
            with contextlib.suppress(DatabaseError), database.engine.connect() as connection:
                held = is_held(connection, run_id)
                progress.show(watch.look(connection))
