"""The engine's entry point, one process per rank:

    mpirun -n N python -m mpi4py -m scicore RUN_ID [SEATS]

The run must have been prepared (`scicumulus run SPEC --prepare`, which prints this very command);
N is one master and a slave for each VM of its plan, or of SEATS, a file that says which VM each
rank is. `scicumulus run` does both, and may begin with the second: then a socket stands in RUN_ID's
place, where the master asks for it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scicore import config
from scicore.engine import slave
from scicore.errors import ScicumulusError, UsageError
from scicore.model.activation import ActivationState, RunState

if TYPE_CHECKING:
    from scicore.engine.master import Master
    from scicore.engine.spare import Spare
    from scicore.execution.allotment import Allotment
    from scicore.execution.core import Execution
    from scicore.execution.messages import Event
    from scicore.model.cloud import Fleet
    from scicore.provenance.connection import Database
    from scicore.provenance.store import StoredRun

EXIT_CODES = {RunState.FINISHED: 0, RunState.FAILED: 1, RunState.STOPPED: 4}
EVENT_LOG = "SCICUMULUS_EVENT_LOG"  # a file: every event is appended to it, for replay
PROGRESS_S = 2.0
SWITCH_S = 0.0005  # at most so long a master's ear waits for its writing hand (Python's own: 5 ms)
AGAIN = 75  # exit code: start the job again
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")


def main() -> None:
    """An exception in one rank ends all of them: the others would wait for ever."""
    gc.set_threshold(*config.SELDOM)
    spare = None
    if _told_rank() == "0":
        _get_ready()
    else:
        spare = _spare()  # before MPI is there
    from scicore.engine import mpi

    try:
        code = _master(sys.argv[1:]) if mpi.rank() == 0 else _slave(spare)
    except ScicumulusError as error:
        mpi.abort(code := exit_code(_told(error)))
    except slave.Terminated:
        mpi.abort(code := exit_code(4))
    except BaseException as error:
        if mpi.rank() != 0 or not isinstance(error, _silent()):
            traceback.print_exc()
            mpi.abort(code := AGAIN if mpi.rank() else exit_code(3))
        print(f"scicumulus: {error}", file=sys.stderr, flush=True)
        mpi.abort(code := AGAIN)
    mpi.leave(exit_code(code))


def exit_code(code: int) -> int:
    """As whoever started the job reads it."""
    ours = 0 < code < AGAIN and os.environ.get(config.SUPERVISED)
    return config.TOLD + code if ours else code


def _get_ready() -> None:
    """What a master imports is most of its start: while the other ranks start, and not after MPI
    has waited for all of them."""
    from scicore.engine import launch, master, seating  # noqa: F401
    from scicore.provenance import books, connection, office  # noqa: F401


def _told_rank() -> str:
    """As the launcher's variables have it; empty when they say nothing."""
    return next((os.environ[name] for name in _RANKS if name in os.environ), "")


def _spare() -> Spare:
    from scicore.engine.spare import Spare

    return Spare()


def _silent() -> type[Exception]:
    from scicore.engine.master import SilentSlave

    return SilentSlave


def _slave(spare: Spare | None) -> int:
    from scicore.engine.mpi import MpiSlave
    from scicore.engine.spare import reach

    slave.terminate_on_sigterm()
    supervised = bool(os.environ.get(config.SUPERVISED))
    makers = spare or _spare()
    slave.serve(MpiSlave(), lambda welcome: reach(welcome, makers), programs_go_on=supervised)
    return 0


def _told(error: ScicumulusError) -> int:
    print(f"error: {error}", file=sys.stderr, flush=True)
    return error.exit_code


def _master(arguments: list[str]) -> int:
    """Rank 0: load the run, take it, drive it, leave nothing unrecorded."""
    from scicore.engine import mpi, seating
    from scicore.engine.launch import call_back
    from scicore.engine.master import KEEP_S, LEASE_S, Master, Run, dismiss, require_ranks
    from scicore.provenance.books import load_books
    from scicore.provenance.connection import connect
    from scicore.provenance.hold import Hold
    from scicore.provenance.office import DatabaseOffice
    from scicore.provenance.patience import AWAY, PATIENCE_S
    from scicore.provenance.recorder import DatabaseRecorder
    from scicore.provenance.sandbox import sweep
    from scicore.provenance.store import close_run, load_run

    line = mpi.MpiMaster()
    url: str | None = None  # of the database; None: as the environment says
    try:
        mpi.require_one_world()
        if arguments and arguments[0].startswith("/"):  # started early
            told = call_back(arguments[0])
            if told is None:
                dismiss(line)
                return 0
            arguments, url = [str(told[0])], told[1]
        run_id, seats = _run_id(arguments)
        database = connect(url)
        engine = database.engine
        with engine.connect() as connection:
            run = load_run(connection, run_id)
        seated = seating.load(seats) if seats else seating.Seating(run.plan.fleet.vms)
        plan = replace(run.plan, fleet=seated.joined_to(run.plan.fleet))
        vms = tuple(vm.id for vm in seated.vms)
        require_ranks(line, plan.fleet, vms)
        hold = Hold(engine, run_id, config.seconds(config.DATABASE_PATIENCE, PATIENCE_S))
        books = None
        if hold.launches > 1:
            sweep(database.url, run_id)
            with engine.connect() as connection:
                books = load_books(connection, run, time.time())
        job = Run(
            run.workflow,
            plan,
            run.directory,
            run.dispatch,
            books,
            launch=hold.launches,
            lease_s=config.seconds(config.LEASE, LEASE_S),
            keep_s=config.seconds(config.KEEP, KEEP_S),
            vms=vms,
            allotment=_allotment(database, run, plan.fleet),
            porter=_porter(seated.storage, run_id),
            notices=seated.notices,
            one_host=mpi.on_one_host(),
        )
        recorder = DatabaseRecorder(engine, run, hold)
        log = _event_log(os.environ.get(EVENT_LOG))
        office = DatabaseOffice(engine, database.url, run, recorder)
        master = Master(job, line, recorder, office, log)
    except (ScicumulusError, *AWAY) as error:
        dismiss(line)  # the run cannot even start: the slaves are sent home, not killed
        if isinstance(error, AWAY) and os.environ.get(config.SUPERVISED):
            return AGAIN  # whoever started us waits until the database is back
        if isinstance(error, ScicumulusError):
            return _told(error)
        raise
    _stop_on_signals(master)
    gc.freeze()  # all that is there by now stays
    sys.setswitchinterval(SWITCH_S)
    try:
        state = master.run(_progress_printer())
        recorder.close()
    except BaseException as error:
        recorder.give_up()
        terminated = isinstance(error, slave.Terminated)  # the launcher gives us a moment
        goes_on = isinstance(error, _silent()) or (terminated and os.environ.get(config.SUPERVISED))
        if not goes_on:
            with contextlib.suppress(*AWAY):  # its loss may be the very reason
                close_run(engine, run_id, RunState.STOPPED if terminated else RunState.INTERRUPTED)
        raise
    _say(f"run {run_id} {state}: {run.directory}")
    return EXIT_CODES.get(state, 3)


def _allotment(database: Database, run: StoredRun, fleet: Fleet) -> Allotment | None:
    """With all that earlier runs teach; None where the run is not sized."""
    if not run.sizing:
        return None
    from scicore.engine.process import memory_bytes
    from scicore.execution.allotment import Allotment
    from scicore.model.sizing import largest
    from scicore.provenance.sizes import experiences, not_enough, programs_of, tuple_bytes
    from scicore.sizing import Sizing
    from scicore.sizing.book import Book

    book = Book(Sizing(run.sizing), run.id)
    # Where a VM type does not say how much memory it has, it is this machine.
    ceiling = largest(fleet, memory_bytes() // 2**20)
    with database.engine.connect() as connection:
        programs = programs_of(connection, run.id)
        for activity, seen in experiences(connection, run.workflow.tag, programs, run.id):
            book.learn(activity, seen)
        sizes, failed = tuple_bytes(connection, run.id), not_enough(connection, run.id)
    return Allotment(book, ceiling, run.id, sizes, failed)


def _run_id(arguments: list[str]) -> tuple[int, Path | None]:
    if len(arguments) not in (1, 2) or not arguments[0].isdecimal():
        raise UsageError(
            f"found the arguments {arguments}, expected a run id and maybe a file of seats",
            "prepare a run with `scicumulus run SPEC --prepare`; it prints the command to use",
        )
    return int(arguments[0]), Path(arguments[1]) if arguments[1:] else None


def _porter(storage: str, run_id: int) -> tuple[str, ...]:
    """As it is started on every host, where Python is in the same place."""
    words = (sys.executable, "-m", "provisioning.porter", storage, str(run_id))
    return words if storage else ()


def _stop_on_signals(master: Master) -> None:
    """SIGUSR1 (forwarded by mpirun) asks for a clean stop; SIGTERM means mpirun is ending us."""
    signal.signal(signal.SIGUSR1, lambda number, frame: master.request_stop())
    signal.signal(signal.SIGINT, lambda number, frame: master.request_stop())
    signal.signal(signal.SIGTERM, slave.terminate)


def _event_log(path: str | None) -> Callable[[Event], None]:
    if path is None:
        return lambda event: None
    from scicore.execution.replay import to_line

    def append(event: Event) -> None:
        with Path(path).open("ab") as stream:
            stream.write(to_line(event))

    return append


def _progress_printer() -> Callable[[Execution], None]:
    """A line now and then, when nobody else shows how far the run is."""
    if os.environ.get(config.SUPERVISED):
        return lambda execution: None
    next_at = time.monotonic() + PROGRESS_S

    def show(execution: Execution) -> None:
        nonlocal next_at
        if time.monotonic() >= next_at:
            next_at = time.monotonic() + PROGRESS_S
            counts = execution.ledger.counts
            _say(
                ", ".join(f"{counts[state]} {state}" for state in ActivationState if counts[state])
            )

    return show


def _say(message: str) -> None:
    if not os.environ.get(config.SUPERVISED):
        print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
