"""What `run` and `resume` have in common: a run is seen through to its end, over as many MPI jobs
as it takes.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from scicore import config
from scicore.cli.output import print_json, say

if TYPE_CHECKING:
    from scicore.cli.hosts import Hosts
    from scicore.cli.replacing import Replacement
    from scicore.engine.launch import EarlyJob, Outcome
    from scicore.model.activation import RunState
    from scicore.model.cloud import Fleet
    from scicore.provenance.connection import Database
    from scicore.provenance.reader import RunSummary

EXIT_CODES = {"finished": 0, "failed": 1, "stopped": 4}  # any other state: 3, infrastructure
POLL_S = 0.2  # between two looks at the provenance, for the progress
LOOKING_IS_CHEAP = 9  # of ten seconds, at most one is spent on looking
IN_VAIN = 3  # jobs in a row that died without having recorded anything
GOING_ON = ("prepared", "running", "paused")
# Exit codes of a job whose master has said what is wrong. 0 says nothing: so ends a run that is
# over, but also a job whose master could not even take the run. Any other is mpirun's own.
_TOLD = range(config.TOLD + 1, config.TOLD + 6)
_INFRASTRUCTURE = config.TOLD + 3
_VANISH_S = 2.0  # until the session of a master that has left is gone
_CLOSE_S = 10.0  # a database that is away does not keep somebody who wants to leave for longer
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


LOOK_S = 1.0  # between two looks at the hostfile

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Job:
    """The MPI jobs of a run, one after the other."""

    run_id: int
    directory: str
    fleet: Fleet  # the plan's
    hosts: Hosts | None = None  # None: all ranks are on this machine
    replacement: Replacement | None = None  # for VMs that are lost

    def command(self, database: Database, *, quiet: bool = True) -> list[str]:
        from scicore.engine.launch import mpirun_command
        from scicore.errors import LaunchError

        if self.hosts is not None:
            place = (database, self.run_id, self.directory, self.fleet)
            try:
                return self.hosts.command(*place, quiet=quiet)
            except LaunchError:  # no host is left
                if self.replacement is None or not self.replacement.rescue(self.hosts.vms()):
                    raise
                return self.hosts.command(*place, quiet=quiet)
        words = ("-m", "scicore", str(self.run_id))
        return mpirun_command(len(self.fleet.vms), *words, quiet=quiet)

    def end_keepers(self) -> None:
        from scicore.engine.calling import end_keepers

        end_keepers(self.directory)
        if self.hosts is not None:
            self.hosts.end(self.directory)


def see_through(
    database: Database, job: Job, *, to_stderr: bool, early: EarlyJob | None = None
) -> RunSummary:
    """Start the MPI job, unless it is there already, and again and again if it dies; the provenance
    says when the run is over.

    Whatever happens, no program is left behind.
    """
    from scicore.errors import LaunchError
    from scicore.model.activation import RunState

    with _keepers_end(job):
        try:
            summary = _see_through(database, job, to_stderr, early)
            _learn_from(database, summary)
            return summary
        except KeyboardInterrupt:  # it came while no mpirun was there to be asked
            _close(database, job.run_id, RunState.STOPPED)
            raise
        except LaunchError:  # no host is left
            _close(database, job.run_id, RunState.INTERRUPTED)
            raise


def _learn_from(database: Database, summary: RunSummary) -> None:
    """A planner that learns from real runs is told; if the database is away, next time."""
    if summary.algorithm != "mdp":
        return
    from scicore.cli.experienced import learn_from_runs
    from scicore.provenance.patience import AWAY

    with contextlib.suppress(*AWAY), database.engine.begin() as connection:
        learn_from_runs(connection)


@contextmanager
def _keepers_end(job: Job) -> Iterator[None]:
    """However this ends; only somebody else's run is left alone."""
    from scicore.errors import UsageError

    for number in _SIGNALS:
        signal.signal(number, signal.default_int_handler)
    ours = True
    try:
        yield
    except UsageError:
        ours = False
        raise
    finally:
        for number in _SIGNALS:  # all that is left to do is to tell how it went
            signal.signal(number, signal.SIG_IGN)
        if job.replacement is not None:
            job.replacement.close()
        if ours:
            job.end_keepers()


def _see_through(
    database: Database, job: Job, to_stderr: bool, early: EarlyJob | None
) -> RunSummary:
    from scicore.engine.launch import supervise
    from scicore.errors import DatabaseError
    from scicore.model.activation import RunState
    from scicore.provenance.moment import Watch
    from scicore.reports.progress import Progress

    run_id = job.run_id
    watch, show_at, hosts_at = Watch(run_id), 0.0, time.monotonic() + LOOK_S

    def show(*, at_last: bool = False) -> None:
        nonlocal show_at
        began = time.monotonic()
        if not at_last and (began < show_at or not progress.due):
            return
        try:
            with database.engine.connect() as connection:
                progress.show(watch.look(connection))
        except DatabaseError:  # the master notices, too, and decides
            _revive(database)
        now = time.monotonic()
        show_at = now + LOOKING_IS_CHEAP * (now - began)

    def poll() -> bool:
        """True: the hosts are not the same any more, and another job must be started."""
        nonlocal hosts_at
        show()
        if job.hosts is None or time.monotonic() < hosts_at:
            return False
        hosts_at = time.monotonic() + LOOK_S
        if job.replacement is not None:
            job.replacement.look()
        return job.hosts.changed()

    in_vain, recorded = 0, -1
    begun = early.take(run_id, database.url) if early is not None else None
    with Progress() as progress:
        while True:
            outcome = supervise(
                job.command(database),
                {"SCICUMULUS_DATABASE_URL": database.url, config.SUPERVISED: "1"},
                poll=poll,
                poll_s=POLL_S,
                stdout=sys.stderr.fileno() if to_stderr else None,
                begun=begun,
            )
            begun = None
            waited = outcome.exit_code == _INFRASTRUCTURE  # the master has been patient already
            summary = _take_stock(database, run_id, outcome, 0.0 if waited else None)
            if summary.state not in GOING_ON:
                break
            if outcome.left and not outcome.stop_asked:
                say("the hostfile has changed; the MPI job is started again, programs go on")
                continue
            in_vain = in_vain + 1 if summary.attempts == recorded else 1
            recorded = summary.attempts
            if outcome.stop_asked or outcome.exit_code in _TOLD or in_vain >= IN_VAIN:
                state = RunState.STOPPED if outcome.stop_asked else RunState.INTERRUPTED
                summary = _close(database, run_id, state)
                break
            say(
                f"the MPI job ended (exit code {outcome.exit_code}) before the run did; it is "
                "started again, programs go on meanwhile"
            )
        show(at_last=True)
    if summary.state is RunState.INTERRUPTED:
        say(
            f"error: the MPI job ended (exit code {outcome.exit_code}) before run {run_id} did\n"
            f"  go on with: scicumulus resume {run_id}"
        )
    return summary


def _take_stock(
    database: Database, run_id: int, outcome: Outcome, patience_s: float | None
) -> RunSummary:
    """How far the run is, now that its job has ended; a database that is away is waited for."""
    from scicore.errors import DatabaseError, UsageError
    from scicore.provenance.patience import AWAY, reason
    from scicore.provenance.store import try_to_write

    def look() -> RunSummary:
        summary = standing(database, run_id)
        if summary.state in GOING_ON:
            try_to_write(database.engine, run_id)  # the next master must be able to
        return summary

    try:
        summary = steady(database, look, patience_s)
        if summary.state in GOING_ON and outcome.exit_code == 0 and _held(database, run_id):
            raise UsageError(
                f"run {run_id} is being executed by another master",
                f"wait for it with `scicumulus resume {run_id}`",
            )
    except AWAY as error:
        message = error.message if isinstance(error, DatabaseError) else reason(error)
        raise DatabaseError(
            f"run {run_id} was left: {message}",
            "nothing that has ended is lost; when the database is back, go on with: "
            f"scicumulus resume {run_id}",
        ) from error
    return summary


def _close(database: Database, run_id: int, state: RunState) -> RunSummary:
    """A run that still counts as going on ended like this; how it stands now."""
    from scicore.provenance.store import close_run

    def close() -> RunSummary:
        close_run(database.engine, run_id, state)
        return standing(database, run_id)

    return steady(database, close, _CLOSE_S)


def _held(database: Database, run_id: int) -> bool:
    from scicore.provenance.hold import is_held

    def look() -> bool:
        with database.engine.connect() as connection:
            return is_held(connection, run_id)

    deadline = time.monotonic() + _VANISH_S
    while True:
        if not steady(database, look):
            return False
        if time.monotonic() > deadline:
            return True
        time.sleep(0.1)


def steady(database: Database, work: Callable[[], _T], patience_s: float | None = None) -> _T:
    """What `work` answers; a database that is away, or cuts us off meanwhile, is waited for."""
    from scicore.provenance.patience import PATIENCE_S, patiently

    if patience_s is None:
        patience_s = config.seconds(config.DATABASE_PATIENCE, PATIENCE_S)
    return patiently(
        work,
        patience_s,
        meanwhile="programs go on, the run is taken up again when it does",
        again=lambda: _revive(database),
    )


def _revive(database: Database) -> None:
    """An embedded server that has crashed is started again; one that was stopped is not."""
    from scicore.errors import DatabaseError

    if database.server is not None and database.server.crashed():
        say("the embedded PostgreSQL server is gone, though nobody stopped it; it is started again")
        with contextlib.suppress(DatabaseError):  # say, its disk is full: later, perhaps
            database.server.start()


def standing(database: Database, run_id: int) -> RunSummary:
    from scicore.provenance.reader import run_summary

    with database.engine.connect() as connection:
        return run_summary(connection, run_id)


def report(summary: RunSummary, *, as_json: bool) -> int:
    """Say how the run ended; the exit code."""
    if as_json:
        print_json(as_document(summary))
    else:
        from scicore.reports.terminal import print_summary

        print_summary(summary)
    return EXIT_CODES.get(summary.state, 3)


def as_document(summary: RunSummary) -> dict[str, object]:
    """The stable keys of `run --json` and `status --json`."""
    from scicore.model.activation import ActivationState as State

    return {
        "run_id": summary.run_id,
        "workflow": summary.workflow,
        "state": summary.state,
        "reason": summary.reason,
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
