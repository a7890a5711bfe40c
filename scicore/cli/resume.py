"""`scicumulus resume`: let a paused run go on, or take up one whose MPI job is gone."""

from __future__ import annotations

import contextlib
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scicore.cli.options import replace_option, substitutes_option
from scicore.cli.output import database_option, json_option, say

if TYPE_CHECKING:
    from scicore.cli.hosts import Hosts
    from scicore.cli.replacing import Replacement
    from scicore.provenance.connection import Database
    from scicore.provenance.store import StoredRun

LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user allows for VMs that are lost."""

    replacements: int
    substitutes: bool  # of another type, if one is short
    budget_usd: float | None
    yes: bool


@click.command(
    epilog="Examples: scicumulus resume last;  scicumulus resume 7 --replace 2 --budget 1.50"
)
@click.argument("run")
@click.option(
    "--hostfile",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Hosts to go on with: some may be gone, others new; default: as it was started.",
)
@replace_option
@substitutes_option
@click.option(
    "--budget", type=float, metavar="USD", help="With --replace: replace nothing beyond it."
)
@click.option("--yes", is_flag=True, help="With --replace: do not ask.")
@database_option
@json_option
def command(
    run: str,
    hostfile: Path | None,
    replacements: int,
    substitutes: bool,
    budget: float | None,
    yes: bool,
    database_url: str | None,
    as_json: bool,
) -> int:
    """Let RUN (a number, or `last`) go on: one that is paused, or one that was stopped,
    interrupted or left alone by a crash. What has finished is not run again; programs that are
    still running are watched again.

    With --replace N, VMs of its cluster that are gone are replaced first, once you agree to the
    price; later on, those that are lost.
    """
    from scicore.cli.steering import steer
    from scicore.cli.supervision import Job, report, see_through, standing, steady
    from scicore.errors import UsageError
    from scicore.model.activation import RunState
    from scicore.provenance.connection import connect
    from scicore.provenance.hold import is_held
    from scicore.provenance.reader import resolve_run
    from scicore.provenance.store import load_run, reopen_run

    database = connect(database_url)

    def look() -> tuple[int, StoredRun, bool]:
        with database.engine.connect() as connection:
            run_id = resolve_run(connection, run)
            stored = load_run(connection, run_id, whole=False)
            return run_id, stored, is_held(connection, run_id)

    run_id, stored, held = steady(database, look)
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
    summary = steady(database, lambda: standing(database, run_id))
    if summary.state not in (RunState.FINISHED, RunState.FAILED):
        wish = Wish(replacements, substitutes, budget, yes)
        with _lease(hosts, database_url):
            mending = _replacement(stored, hosts, wish, database, database_url)
            job = Job(run_id, directory, fleet, hosts, mending)
            steady(database, lambda: reopen_run(database.engine, run_id))
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


def _replacement(
    stored: StoredRun,
    hosts: Hosts | None,
    wish: Wish,
    database: Database,
    database_url: str | None,
) -> Replacement | None:
    """With the VMs that are gone already replaced."""
    if not wish.replacements:
        return None
    from scicore.cli.across import terms_of
    from scicore.cli.leasing import cluster_of
    from scicore.cli.replacing import Replacement
    from scicore.errors import UsageError

    cluster = cluster_of(hosts.file) if hosts is not None else None
    if hosts is None or cluster is None:
        raise UsageError(
            f"run {stored.id} is not on VMs that we have rented: none can be replaced",
            "leave --replace out; hosts of your own are changed with --hostfile FILE",
        )
    fetched = _inputs(database, stored.id) if hosts.storage else frozenset()
    terms = terms_of(stored.workflow, cluster, wish, fetched)
    mending = Replacement(terms, database, database_url, stored.id)
    mending.catch_up(yes=wish.yes)
    return mending


def _inputs(database: Database, run_id: int) -> frozenset[Path]:
    """Files that hosts get from the run's storage."""
    from scicore.cli.preparation import input_paths
    from scicore.provenance.store import load_run

    with database.engine.connect() as connection:
        return input_paths(load_run(connection, run_id).workflow)


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
    from scicore.reports.progress import Progress

    watch = Watch(run_id)
    with Progress() as progress:
        held = True
        while held:
            time.sleep(LOOK_S)
            with contextlib.suppress(DatabaseError), database.engine.connect() as connection:
                held = is_held(connection, run_id)
                progress.show(watch.look(connection))
