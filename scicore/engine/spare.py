"""Finding the keeper of a VM, or making one.

Keepers are forked by a spare process that a slave makes before it knows of MPI: small, quick to
fork, and not within reach of the launcher when that ends its ranks.
"""

from __future__ import annotations

import ctypes
import math
import os
import signal
import socket
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from scicore.engine import limits, process
from scicore.engine.calling import ANSWER_S, HOUSE, address, call, first_word, kill, peer
from scicore.engine.journal import Journal, JournalTaken
from scicore.engine.keeper import Keeper
from scicore.engine.link import Link
from scicore.engine.wire import Welcome, decode_to_slave
from scicore.errors import LaunchError

_SUBREAPER = 36  # prctl: orphans below this process become its children


class Spare:
    """The process that forks keepers, and one that waits for being needed."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            self._socket.close()
            _serve(theirs)
            os._exit(0)
        theirs.close()
        self._waiting: socket.socket | None = self._fork()

    def close(self) -> None:
        """Keepers go on, but for the one that was not needed."""
        if self._waiting is not None:
            self._waiting.close()
        self._socket.close()
        os.waitpid(self.pid, 0)

    def keeper(self) -> socket.socket:
        """A new keeper's line; it waits for its welcome."""
        ready, self._waiting = self._waiting, None
        return ready or self._fork()

    def _fork(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        socket.send_fds(self._socket, [b"k"], [theirs.fileno()])
        theirs.close()
        return ours


def reach(welcome: bytes, spare: Spare) -> tuple[Link, bytes]:
    """The line to the VM's keeper, and its first word; none: we belong to a job of the past."""
    message = decode_to_slave(welcome)
    assert isinstance(message, Welcome)
    for connection in _candidates(message, spare):
        link = Link(connection)
        link.send(welcome)
        first = first_word(link)
        if first is not None:
            return link, first
        link.close()
    raise LaunchError(
        f"the keeper of VM {message.vm} does not start",
        f"see {Path(message.run_directory, HOUSE, f'{message.vm}.log')}",
    )


def _candidates(welcome: Welcome, spare: Spare) -> Iterator[socket.socket]:
    """The keeper that is there; if it does not answer, another in its place."""
    living = call(address(welcome.run_directory, welcome.vm))
    if living is not None:
        pid = peer(living)
        yield living
        kill(pid)
    yield spare.keeper()


# --- in the spare process, and in its children ---------------------------------------------------


def _serve(control: socket.socket) -> None:
    os.setsid()
    os.chdir("/")  # nobody's directory is kept busy
    _close_everything_but(control.fileno())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are nobody's business
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        os.set_inheritable(descriptors[0], False)  # it came without: programs would have it
        if os.fork() == 0:
            control.close()
            os.setsid()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _keep(socket.socket(fileno=descriptors[0]))
            os._exit(0)
        os.close(descriptors[0])


def _close_everything_but(kept: int) -> None:
    """Also what belongs to the launcher: it waits until nobody holds its pipes."""
    null = os.open(os.devnull, os.O_RDWR)
    for target in range(3):
        os.dup2(null, target)
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))


def _keep(connection: socket.socket) -> None:
    link = Link(connection)
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    process.memory_bytes()  # it takes a moment, and is known from now on
    first = first_word(link, math.inf)
    if not first:
        return
    received_at = time.time()
    welcome = decode_to_slave(first)
    assert isinstance(welcome, Welcome)
    limits.keep_to(limits.own_cores(welcome, sorted(os.sched_getaffinity(0))))
    house = Path(welcome.run_directory, HOUSE)
    journal = _take_journal(house / f"{welcome.vm}.journal")
    log = os.open(house / f"{welcome.vm}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 2)
    os.close(log)
    signal.signal(signal.SIGTERM, _leave)
    place = address(welcome.run_directory, welcome.vm)
    place.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place))
    listener.listen()
    try:
        keeper = Keeper(welcome, journal, link, listener, adopts_orphans=True)
        keeper.greet(received_at)
        keeper.run()
    except Exception:  # whatever it is: the keeper's log is the only place where it can be told
        traceback.print_exc()
    finally:
        place.unlink(missing_ok=True)


def _leave(_number: int, _frame: object) -> None:
    raise SystemExit(0)


def _take_journal(path: Path) -> Journal:
    """Its last holder was killed or is leaving."""
    deadline = time.monotonic() + ANSWER_S
    while True:
        try:
            return Journal(path)
        except JournalTaken:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
