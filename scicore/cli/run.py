"""`scicumulus run`: plan if needed, start mpirun, show progress, say how it went."""

from __future__ import annotations

import contextlib
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scicore.cli.output import database_option, json_option, print_json, say, undisturbed

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from scicore.cli.preparation import Specification
    from scicore.model.plan import Plan
    from scicore.provenance.connection import Database
    from scicore.provenance.reader import RunSummary

EXIT_CODES = {"finished": 0, "failed": 1, "stopped": 4}  # any other state: 3, infrastructure
POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class _Wish:
    """How the user wants the run to be planned."""

    fleet: str | None
    plan_id: int | None
    algorithm: str | None
    seed: int


@click.command(epilog="Example: scicumulus run workflow.xml --fleet 2xlocal --algorithm heft")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--fleet", metavar="FLEET", help="VMs, e.g. 2xlocal; default: one local per core.")
@click.option("--plan", "plan_id", type=int, metavar="ID", help="Follow this stored plan.")
@click.option("--algorithm", metavar="NAME", help="fcfs or heft; default: the workflow's, or heft.")
@click.option("--seed", default=0, show_default=True, help="Same seed, same plan.")
@click.option("--replay", is_flag=True, help="SPEC is a trace (DAX, WfFormat): play it again.")
@click.option("--time-scale", default=1.0, show_default=True, help="Replay: runtimes times this.")
@click.option("--size-scale", default=1.0, show_default=True, help="Replay: sizes times this.")
@click.option("--sleep", is_flag=True, help="Replay: sleep instead of using the CPU.")
@click.option("--prepare", is_flag=True, help="Only store the run; print the mpirun that runs it.")
@database_option
@json_option
def command(
    spec: Path,
    fleet: str | None,
    plan_id: int | None,
    algorithm: str | None,
    seed: int,
    replay: bool,
    time_scale: float,
    size_scale: float,
    sleep: bool,
    prepare: bool,
    database_url: str | None,
    as_json: bool,
) -> int:
    """Run the workflow SPEC: rank 0 is the master, every VM of the fleet one slave rank.

    Ctrl-C stops the run cleanly: what finished is recorded, nothing is left running.
    """
    with undisturbed():
        from scicore.cli.preparation import Replay, load
        from scicore.provenance.connection import connect

    if not replay:
        _refuse_trace(spec)
    specification = load(spec, Replay(time_scale, size_scale, sleep) if replay else None)
    database = connect(database_url)
    wish = _Wish(fleet, plan_id, algorithm, seed)
    with database.engine.begin() as connection:
        run_id, slaves = _prepare(connection, specification, wish)
    if prepare:
        _print_prepared(run_id, slaves, as_json)
        if database_url:
            say("(with SCICUMULUS_DATABASE_URL set to the same database)")
        return 0
    try:
        summary = _launch(run_id, slaves, database, as_json=as_json)
    except KeyboardInterrupt:  # it came before mpirun was there to be asked
        from scicore.model.activation import RunState
        from scicore.provenance.store import close_run

        close_run(database.engine, run_id, RunState.STOPPED)
        raise
    if as_json:
        print_json(as_document(summary))
    else:
        from scicore.reports.terminal import print_summary

        print_summary(summary)
    return EXIT_CODES.get(summary.state, 3)


def _refuse_trace(spec: Path) -> None:
    from scicore.errors import UsageError
    from scicore.spec.trace import kind_of

    if kind_of(spec) != "scicumulus":
        raise UsageError(
            f"{spec} is a trace: its programs are not here to be run",
            "play it again with --replay, e.g. --replay --time-scale 0.01",
        )


def _prepare(connection: Connection, specification: Specification, wish: _Wish) -> tuple[int, int]:
    """Store everything that the master will need; returns the run's id and its slaves."""
    from scicore.cli.preparation import input_files, require_local, store_plan
    from scicore.provenance.store import prepare_run, save_workflow

    workflow = specification.workflow
    plan = _wanted_plan(connection, specification, wish)
    require_local(plan.fleet)
    if wish.plan_id is None:
        workflow_id, plan_id = store_plan(connection, specification, plan)
    else:
        workflow_id = save_workflow(connection, workflow, specification.source)
        plan_id = wish.plan_id
    files = input_files(workflow)
    run_id = prepare_run(connection, workflow_id, plan_id, workflow, plan, files)
    return run_id, len(plan.fleet.vms)


def _wanted_plan(connection: Connection, specification: Specification, wish: _Wish) -> Plan:
    from scicore.cli.preparation import fleet_of, make_plan
    from scicore.errors import UsageError
    from scicore.provenance.store import load_plan, save_workflow

    workflow = specification.workflow
    if wish.plan_id is None:
        fleet = fleet_of(wish.fleet, workflow)
        return make_plan(connection, workflow, fleet, wish.algorithm, wish.seed)
    if wish.fleet or wish.algorithm:
        raise UsageError("--plan brings its own fleet and algorithm: leave the other options out")
    planned_workflow_id, plan = load_plan(connection, wish.plan_id)
    if planned_workflow_id != save_workflow(connection, workflow, specification.source):
        raise UsageError(
            f"plan {wish.plan_id} was made for another workflow, or for this one before it changed",
            "make a new plan with `scicumulus plan`",
        )
    return plan


def _print_prepared(run_id: int, slaves: int, as_json: bool) -> None:
    from scicore.engine.launch import mpirun_command

    words = mpirun_command(slaves, "-m", "scicore", str(run_id))
    if as_json:
        print_json({"run_id": run_id, "state": "prepared", "mpirun": words})
    else:
        say(f"run {run_id} is prepared; start it with:")
        click.echo(shlex.join(words))


def _launch(run_id: int, slaves: int, database: Database, *, as_json: bool) -> RunSummary:
    from scicore.engine.launch import mpirun_command, supervise
    from scicore.errors import DatabaseError
    from scicore.model.activation import RunState
    from scicore.provenance.reader import run_summary
    from scicore.provenance.store import close_run
    from scicore.reports.terminal import Progress

    def read() -> RunSummary:
        with database.engine.connect() as connection:
            return run_summary(connection, run_id)

    def show() -> None:
        with contextlib.suppress(DatabaseError):  # the master notices, too, and decides
            progress.show(read())

    with Progress() as progress:
        outcome = supervise(
            mpirun_command(slaves, "-m", "scicore", str(run_id), quiet=True),
            {"SCICUMULUS_DATABASE_URL": database.url, "SCICUMULUS_SUPERVISED": "1"},
            poll=show,
            poll_s=POLL_S,
            stdout=sys.stderr.fileno() if as_json else None,
        )
        interrupted = RunState.STOPPED if outcome.stop_asked else RunState.INTERRUPTED
        close_run(database.engine, run_id, interrupted)
        summary = read()
        progress.show(summary)
    if summary.state is RunState.INTERRUPTED:
        say(f"error: the MPI job ended (exit code {outcome.exit_code}) before run {run_id} did")
    return summary


def as_document(summary: RunSummary) -> dict[str, object]:
    """The stable keys of `run --json` and `status --json`."""
    from scicore.model.activation import ActivationState as State

    return {
        "run_id": summary.run_id,
        "workflow": summary.workflow,
        "state": summary.state,
        "activations": summary.activations,
        "finished": summary.count(State.FINISHED),
        "failed": summary.count(State.FAILED),
        "blocked": summary.count(State.BLOCKED),
        "attempts": summary.attempts,
        "makespan_s": summary.makespan_s,
        "plan_id": summary.plan_id,
        "predicted_makespan_s": summary.predicted_makespan_s,
        "directory": summary.directory,
        "activities": [
            {"activity": progress.activity, **progress.counts} for progress in summary.activities
        ],
    }
