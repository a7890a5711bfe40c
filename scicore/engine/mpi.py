"""The line over MPI: the only file that imports mpi4py.

Sends are non-blocking and receives are probed, because a blocking receive burns a core per rank.
One probe lets MPI progress and the next one matches, hence the second look.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import NoReturn

from mpi4py import MPI

from scicore.engine.wire import ToMaster, ToSlave, decode_to_master, encode
from scicore.errors import LaunchError

_LAST_WORDS_S = 0.3  # for mpirun to forward what was printed: after an abort it reads no more


class _Line:
    def __init__(self) -> None:
        self._world = MPI.COMM_WORLD
        self._under_way: list[tuple[MPI.Request, bytes]] = []  # with what must stay alive till then

    def _probe(self) -> tuple[int, bytes] | None:
        for _ in range(2):
            status = MPI.Status()
            message = self._world.improbe(status=status)
            if message is not None:
                buffer = bytearray(status.Get_count(MPI.BYTE))
                matched: MPI.Message = message
                matched.Recv([buffer, MPI.BYTE])
                return status.Get_source(), bytes(buffer)
        return None

    def _send(self, rank: int, data: bytes) -> None:
        self._under_way = [(sent, kept) for sent, kept in self._under_way if not sent.Test()]
        self._under_way.append((self._world.Isend([data, MPI.BYTE], dest=rank), data))

    def close(self) -> None:
        for request, _ in self._under_way:
            request.Wait()
        self._under_way.clear()


class MpiMaster(_Line):
    @property
    def slaves(self) -> int:
        return self._world.Get_size() - 1

    def receive(self) -> tuple[int, ToMaster] | None:
        arrived = self._probe()
        return (arrived[0], decode_to_master(arrived[1])) if arrived else None

    def send(self, rank: int, message: ToSlave) -> None:
        self._send(rank, encode(message))


class MpiSlave(_Line):
    def receive(self) -> bytes | None:
        arrived = self._probe()
        return arrived[1] if arrived else None

    def send(self, data: bytes) -> None:
        self._send(0, data)


def rank() -> int:
    return MPI.COMM_WORLD.Get_rank()


def abort(exit_code: int) -> None:
    """End every rank of the job, now."""
    time.sleep(_LAST_WORDS_S)
    MPI.COMM_WORLD.Abort(exit_code)


def leave(exit_code: int) -> NoReturn:
    """End this rank in peace: after MPI's own farewell, a non-zero code is no reason to abort."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the launcher cannot hurry us any more
    sys.stdout.flush()
    sys.stderr.flush()
    MPI.Finalize()
    os._exit(exit_code)


def require_one_world() -> None:
    """A launcher of another MPI starts N strangers, each the only rank of its own world."""
    if MPI.COMM_WORLD.Get_size() >= 2:
        return
    with contextlib.suppress(MPI.Exception):
        library = MPI.Get_library_version().split(",")[0].split("\n")[0]
    raise LaunchError(
        "this MPI world has 1 rank; a run needs a master and at least one slave "
        f"(MPI library: {library})",
        "start it with `scicumulus run`, or with -n 2 or more under the mpirun that stands "
        "beside this Python; an mpirun of another MPI gives every process a world of its own",
    )
