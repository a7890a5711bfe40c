"""The line over MPI: the only file that imports mpi4py.

Sends are non-blocking and receives are probed, because a blocking receive burns a core per rank.
One probe lets MPI progress and the next one matches, hence the second look. Between two looks a
rank sleeps; those of its host wake it up by its bell, whose name is in front of each message.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from typing import NoReturn

from mpi4py import MPI

from scicore.engine.bell import NAME_BYTES, Bell
from scicore.engine.wire import ToMaster, ToSlave, decode_to_master, encode
from scicore.errors import LaunchError

_LAST_WORDS_S = 0.3  # for mpirun to forward what was printed: after an abort it reads no more


PAUSE_S = (0.0005, 0.01)  # between two looks: at first, at most
RUNG_S = (0.01, 0.05)  # the same when everybody rings


class _Line:
    def __init__(self, peers: int) -> None:
        self._world = MPI.COMM_WORLD
        self._status = MPI.Status()  # of the message that was looked at last
        self._under_way: list[tuple[MPI.Request, bytes]] = []  # with what must stay alive till then
        self._bell = Bell()
        self._peers = peers
        self._bells: dict[int, bytes] = {}  # of those that have been heard
        self._hear_us: set[int] = set()  # so they can ring, too: they have a message of ours
        self._deaf: set[int] = set()  # on other hosts
        self._pause_s = PAUSE_S[0]
        self._look = True  # there may be a message
        self._poll = select.poll()
        self._waits_for: tuple[int, ...] | None = None

    def wait(self, *others: int) -> bool:
        """Until there may be a message, or one of the other descriptors is readable (True), but
        not for long."""
        if others != self._waits_for:
            self._waits_for = others
            self._poll = select.poll()
            for descriptor in (self._bell.fileno(), *others):
                self._poll.register(descriptor, select.POLLIN)
        self._let_go()
        pause_s = PAUSE_S[0] if self._under_way else self._pause_s
        ready = [descriptor for descriptor, _ in self._poll.poll(pause_s * 1000)]
        self._pause_s = min(1.5 * self._pause_s, self._pauses_s[1])
        if self._bell.fileno() in ready:
            self._bell.silence()
            ready.remove(self._bell.fileno())
            self._look = True
        else:  # nobody has rung: whoever can ring has sent nothing
            self._look = not ready or self._pauses_s is not RUNG_S
        return bool(ready)

    @property
    def _pauses_s(self) -> tuple[float, float]:
        return RUNG_S if len(self._hear_us) == self._peers else PAUSE_S

    def _probe(self) -> tuple[int, bytes] | None:
        status = self._status
        for _ in range(2 if self._look else 0):
            message = self._world.Improbe(status=status)
            if message is not None:
                buffer = bytearray(status.Get_count(MPI.BYTE))
                message.Recv([buffer, MPI.BYTE])
                source = status.Get_source()
                self._bells[source] = bytes(buffer[:NAME_BYTES])
                self._pause_s = self._pauses_s[0]
                return source, bytes(memoryview(buffer)[NAME_BYTES:])
        return None

    def _send(self, rank: int, data: bytes) -> None:
        self._let_go()
        data = self._bell.name + data
        self._under_way.append((self._world.Isend([data, MPI.BYTE], dest=rank), data))
        if rank in self._bells and rank not in self._deaf:
            heard = self._bell.ring(self._bells[rank])
            (self._hear_us if heard else self._deaf).add(rank)
        self._pause_s = self._pauses_s[0]

    def _let_go(self) -> None:
        if self._under_way:
            self._under_way = [(sent, kept) for sent, kept in self._under_way if not sent.Test()]

    def close(self) -> None:
        for request, _ in self._under_way:
            request.Wait()
        self._under_way.clear()
        self._bell.close()


class MpiMaster(_Line):
    def __init__(self) -> None:
        super().__init__(self.slaves)

    @property
    def slaves(self) -> int:
        return MPI.COMM_WORLD.Get_size() - 1

    def receive(self) -> tuple[int, ToMaster] | None:
        arrived = self._probe()
        return (arrived[0], decode_to_master(arrived[1])) if arrived else None

    def send(self, rank: int, message: ToSlave) -> None:
        self._send(rank, encode(message))


class MpiSlave(_Line):
    def __init__(self) -> None:
        super().__init__(1)

    def receive(self) -> bytes | None:
        arrived = self._probe()
        return arrived[1] if arrived else None

    def send(self, data: bytes) -> None:
        self._send(0, data)


def rank() -> int:
    return MPI.COMM_WORLD.Get_rank()


def on_one_host() -> bool:
    """All ranks, as the launcher says; one that does not say is not asked."""
    return os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE") == str(MPI.COMM_WORLD.Get_size())


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
