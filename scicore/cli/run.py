"""`scicumulus run`: plan if needed, start mpirun, show progress, say how it went."""

from __future__ import annotations

import re
import shlex
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scicore import config
from scicore.cli.options import replace_option, sizing_of, sizing_option, substitutes_option
from scicore.cli.output import database_option, json_option, print_json, say, undisturbed

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from scicore.cli.cloud_run import Rent
    from scicore.cli.hosts import Hosts
    from scicore.cli.loading import Specification
    from scicore.cli.supervision import Job
    from scicore.engine.launch import EarlyJob
    from scicore.model.plan import Plan
    from scicore.provenance.connection import Database
    from scicore.provenance.reader import RunSummary


@dataclass(frozen=True, slots=True)
class Wish:
    """How the user wants the run to be planned."""

    fleet: str | None
    plan_id: int | None
    algorithm: str | None
    seed: int
    dispatch: str = "adaptive"
    storage: str = ""
    replacements: int = 0
    substitutes: bool = False  # of another type, if one is short
    budget_usd: float | None = None
    hosts: Hosts | None = None
    sizing: str = ""


class Timing:
    """Where the time goes."""

    def __init__(self) -> None:
        # Python's own start counts, too: the process is older than this line.
        self._at = time.monotonic()
        self.laps: list[tuple[str, float]] = [("python", time.process_time())]

    def lap(self, what: str, seconds: float | None = None) -> None:
        now = time.monotonic()
        self.laps.append((what, now - self._at if seconds is None else seconds))
        self._at = now

    def show(self) -> None:
        for what, seconds in self.laps:
            say(f"{seconds:8.3f} s  {what}")


@click.command(epilog="Example: scicumulus run workflow.xml --fleet 2xlocal --algorithm heft")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--fleet", metavar="FLEET", help="VMs, e.g. 2xlocal; default: one local per core.")
@click.option(
    "--hostfile",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Run on these hosts, reached by SSH; they are the plan's VMs.",
)
@click.option("--cluster", metavar="NAME", help="Run on the VMs that `cluster up` has launched.")
@click.option("--cloud", is_flag=True, help="Rent the plan's VMs for this run, and end them.")
@click.option("--provider", default="ec2", show_default=True, help="With --cloud: where.")
@click.option(
    "--budget",
    type=float,
    metavar="USD",
    help="With --cloud: refuse if more; with --replace: replace nothing beyond it.",
)
@click.option("--spot", is_flag=True, help="With --cloud: cheaper VMs that may be taken away.")
@click.option("--instance-profile", metavar="NAME", help="With --cloud: what VMs may do in AWS.")
@click.option("--yes", is_flag=True, help="With --cloud: do not ask before renting.")
@replace_option
@substitutes_option
@click.option(
    "--storage",
    default="",
    metavar="URL",
    help="Hosts share no directory: files are handed over in s3://BUCKET/PREFIX.",
)
@click.option("--plan", "plan_id", type=int, metavar="ID", help="Follow this stored plan.")
@click.option(
    "--algorithm",
    metavar="NAME",
    help="The planner; default: the workflow's, or ours.",
)
@click.option("--seed", default=0, show_default=True, help="Same seed, same plan.")
@click.option("--replay", is_flag=True, help="SPEC is a trace (DAX, WfFormat): play it again.")
@click.option("--time-scale", default=1.0, show_default=True, help="Replay: runtimes times this.")
@click.option("--size-scale", default=1.0, show_default=True, help="Replay: sizes times this.")
@click.option("--sleep", is_flag=True, help="Replay: sleep instead of using the CPU.")
@click.option(
    "--dispatch",
    type=click.Choice(["strict", "adaptive", "dynamic"]),
    default="adaptive",
    show_default=True,
    help="Follow the plan to the letter, leave it where that pays, or feed who is idle.",
)
@sizing_option
@click.option("--timing", is_flag=True, help="Say where the time before and after the run went.")
@click.option("--prepare", is_flag=True, help="Only store the run; print the mpirun that runs it.")
@database_option
@json_option
def command(
    spec: Path,
    fleet: str | None,
    hostfile: Path | None,
    cluster: str | None,
    cloud: bool,
    provider: str,
    budget: float | None,
    spot: bool,
    instance_profile: str | None,
    yes: bool,
    replacements: int,
    substitutes: bool,
    storage: str,
    plan_id: int | None,
    algorithm: str | None,
    seed: int,
    replay: bool,
    time_scale: float,
    size_scale: float,
    sleep: bool,
    dispatch: str,
    sizing: str | None,
    timing: bool,
    prepare: bool,
    database_url: str | None,
    as_json: bool,
) -> int:
    """Run the workflow SPEC: rank 0 is the master, every VM of the fleet one slave rank.

    Ctrl-C stops the run cleanly: what finished is recorded, nothing is left running.
    """
    clock = Timing()
    with undisturbed():
        from scicore.cli.loading import Replay, load
    if not replay:
        _refuse_trace(spec)
    specification = load(spec, Replay(time_scale, size_scale, sleep) if replay else None)
    clock.lap("specification")
    wish = Wish(
        fleet,
        plan_id,
        algorithm,
        seed,
        dispatch,
        storage,
        replacements,
        substitutes,
        budget,
        sizing=sizing_of(sizing, specification.workflow),
    )
    if storage:
        from scicore.cli.across import require_useful

        require_useful(storage, across=bool(cloud or cluster or hostfile))
    early: EarlyJob | None = None
    if not (cloud or cluster or hostfile or plan_id or prepare):
        early = _early_job(fleet, as_json)
    with early or nullcontext():
        with undisturbed():
            import scicore.cli.preparation  # noqa: F401 (what is slow to import counts as such)
            from scicore.cli.cloud_run import Rent
            from scicore.cli.supervision import report, see_through
            from scicore.errors import UsageError
            from scicore.provenance.connection import connect
        clock.lap("imports")
        database = connect(database_url)
        clock.lap("database")
        if cloud:
            if hostfile is not None or cluster is not None or prepare:
                raise UsageError(
                    "--cloud rents its own hosts: leave --hostfile, --cluster, --prepare out"
                )
            rent = Rent(provider, budget, yes, spot, instance_profile, substitutes)
            return _in_cloud(database, specification, wish, rent, database_url, as_json)
        if cluster is not None:
            from scicore.cli.across import bring_to, with_replacement
            from scicore.cli.leasing import kept_alive

            hostfile = bring_to(cluster, hostfile, specification, wish, database_url)
            clock.lap("cluster")
        job = _make_job(database, specification, wish, hostfile)
        clock.lap("plan and inputs")
        if prepare:
            _print_prepared(job.run_id, job.command(database, quiet=False), as_json)
            if database_url:
                say("(with SCICUMULUS_DATABASE_URL set to the same database)")
            return 0
        leased: AbstractContextManager[None] = nullcontext()
        if cluster is not None:
            job = with_replacement(job, database, specification, wish, cluster, database_url)
            leased = kept_alive(cluster, database_url)
        with leased:
            summary = see_through(database, job, to_stderr=as_json, early=early)
    clock.lap("mpirun, the run included")
    if timing:
        clock.lap("run", summary.makespan_s or 0.0)
        clock.show()
    return report(summary, as_json=as_json)


def _early_job(fleet: str | None, as_json: bool) -> EarlyJob | None:
    """Where it is plain how many VMs there will be, the MPI job starts while the plan is made."""
    from scicore.cli.loading import default_fleet
    from scicore.engine.launch import EarlyJob

    plain = re.fullmatch(r"(\d{1,4})xlocal", default_fleet() if fleet is None else fleet)
    if plain is None:
        return None
    return EarlyJob(int(plain[1]), {config.SUPERVISED: "1"}, to_stderr=as_json)


def _in_cloud(
    database: Database,
    specification: Specification,
    wish: Wish,
    rent: Rent,
    database_url: str | None,
    as_json: bool,
) -> int:
    from scicore.cli.across import bring_to, with_replacement
    from scicore.cli.cloud_run import in_cloud, show
    from scicore.cli.leasing import kept_alive
    from scicore.cli.preparation import store_plan
    from scicore.cli.supervision import EXIT_CODES, as_document, report, see_through

    with database.engine.begin() as connection:
        plan = _wanted_plan(connection, specification, wish)
        plan_id = wish.plan_id or store_plan(connection, specification, plan)[1]

    def go(cluster: str) -> RunSummary:
        hostfile = bring_to(cluster, None, specification, wish, database_url)
        planned = replace(wish, fleet=None, plan_id=plan_id, algorithm=None)
        hosts = _hosts(hostfile, specification, wish.storage)
        if hosts is not None and not hosts.are(plan.fleet):
            say("some VMs are of other types than planned: the run is planned anew for them")
            planned = replace(planned, plan_id=None, algorithm=plan.algorithm)
        job = _make_job(database, specification, planned, hostfile)
        job = with_replacement(job, database, specification, wish, cluster, database_url)
        with kept_alive(cluster, database_url):
            return see_through(database, job, to_stderr=True)

    summary, bill = in_cloud(rent, plan_id, database, database_url, go)
    if as_json:
        print_json({**as_document(summary), "bill": bill.document})
        return EXIT_CODES.get(summary.state, 3)
    code = report(summary, as_json=False)
    show(bill)
    return code


def _refuse_trace(spec: Path) -> None:
    from scicore.errors import UsageError
    from scicore.spec.trace import kind_of

    if kind_of(spec) != "scicumulus":
        raise UsageError(
            f"{spec} is a trace: its programs are not here to be run",
            "play it again with --replay, e.g. --replay --time-scale 0.01",
        )


def _make_job(
    database: Database, specification: Specification, wish: Wish, hostfile: Path | None
) -> Job:
    """The run is stored, and its inputs are where its hosts will find them."""
    wish = replace(wish, hosts=_hosts(hostfile, specification, wish.storage))
    with database.engine.begin() as connection:
        job = _prepare(connection, specification, wish)
    if wish.storage:
        from scicore.cli.storing import store_inputs

        store_inputs(database, job.run_id, wish.storage)
    return job


def _hosts(file: Path | None, specification: Specification, storage: str) -> Hosts | None:
    if file is None:
        return None
    from scicore.cli.hosts import Hosts
    from scicore.cli.preparation import catalog_of

    return Hosts(file, catalog_of(None, specification.workflow), storage)


def _prepare(connection: Connection, specification: Specification, wish: Wish) -> Job:
    """Store everything that the master will need."""
    from scicore.cli.preparation import input_files, require_local, store_plan
    from scicore.cli.programs import programs
    from scicore.cli.supervision import Job
    from scicore.model.activation import Dispatch
    from scicore.provenance.store import prepare_run
    from scicore.provenance.workflows import save_workflow

    workflow = specification.workflow
    plan = _wanted_plan(connection, specification, wish)
    if wish.hosts is None:
        require_local(plan.fleet)
    else:
        wish.hosts.check(plan.fleet)
    if wish.plan_id is None:
        workflow_id, plan_id = store_plan(connection, specification, plan)
    else:
        workflow_id = save_workflow(connection, workflow, specification.source)
        plan_id = wish.plan_id
    files = input_files(workflow)
    run_id, directory = prepare_run(
        connection,
        workflow_id,
        plan_id,
        workflow,
        plan,
        files,
        Dispatch(wish.dispatch),
        wish.sizing,
        programs(workflow),
    )
    return Job(run_id, directory, plan.fleet, wish.hosts)


def _wanted_plan(connection: Connection, specification: Specification, wish: Wish) -> Plan:
    from scicore.cli.preparation import fleet_of, make_plan, within_limits
    from scicore.errors import UsageError
    from scicore.provenance.plans import load_plan
    from scicore.provenance.workflows import save_workflow

    workflow = specification.workflow
    if wish.plan_id is None:
        if wish.hosts is None or wish.fleet:
            fleet = fleet_of(wish.fleet, workflow)
        else:
            fleet = within_limits(wish.hosts.fleet(), workflow)
        return make_plan(connection, workflow, fleet, wish.algorithm, wish.seed, wish.sizing)
    if wish.fleet or wish.algorithm:
        raise UsageError("--plan brings its own fleet and algorithm: leave the other options out")
    planned_workflow_id, plan = load_plan(connection, wish.plan_id)
    if planned_workflow_id != save_workflow(connection, workflow, specification.source):
        raise UsageError(
            f"plan {wish.plan_id} was made for another workflow, or for this one before it changed",
            "make a new plan with `scicumulus plan`",
        )
    return plan


def _print_prepared(run_id: int, words: list[str], as_json: bool) -> None:
    if as_json:
        print_json({"run_id": run_id, "state": "prepared", "mpirun": words})
    else:
        say(f"run {run_id} is prepared; start it with:")
        click.echo(shlex.join(words))
