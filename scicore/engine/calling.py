"""The keepers of a run on this host, as others see them: where they listen, and how they are ended.

python -m scicore.engine.calling DIRECTORY    ends those of the run in this directory
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import signal
import socket
import struct
import sys
import time
from pathlib import Path

from scicore.engine.link import Link
from scicore.engine.private import private_place
from scicore.engine.process import end_marked
from scicore.engine.wire import Orders, encode
from scicore.execution.messages import Stop

HOUSE = ".scicumulus"  # below the run's directory: the keepers' journals
ANSWER_S = 10.0  # a keeper that says nothing for so long is stopped or stuck


def end_keepers(run_directory: str) -> None:
    """Tell all keepers of this host to end their programs and leave; wait until they have."""
    for journal in sorted(Path(run_directory, HOUSE).glob("*.journal")):
        place = address(run_directory, journal.stem)
        connection = call(place)
        if connection is not None:
            pid = peer(connection)
            link = Link(connection)
            link.send(encode(Orders((Stop(journal.stem),))))
            if not _ended(link):
                kill(pid)
                end_marked(f"{run_directory} {journal.stem} ")
            link.close()
        place.unlink(missing_ok=True)  # one that was killed left it behind


def address(run_directory: str, vm: str) -> Path:
    """Where the keeper listens: short, because socket paths are."""
    name = hashlib.blake2b(f"{run_directory}\0{vm}".encode(), digest_size=12).hexdigest()
    return private_place() / name


def call(place: Path) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(place))
    except OSError:
        connection.close()
        return None
    return connection


def first_word(link: Link, patience_s: float = ANSWER_S) -> bytes | None:
    """What the other side says first; None if it takes too long, or leaves without a word."""
    deadline = time.monotonic() + patience_s
    while not link.closed and (left_s := deadline - time.monotonic()) > 0:
        select.select([link], [link] if link.unsent else [], [], min(left_s, ANSWER_S))
        link.flush()
        for first in link.receive():
            return first
    return None


def _ended(link: Link) -> bool:
    deadline = time.monotonic() + ANSWER_S
    while not link.closed and (left_s := deadline - time.monotonic()) > 0:
        select.select([link], [], [], left_s)
        for _ in link.receive():
            pass
    return link.closed


def peer(connection: socket.socket) -> int:
    """The process that listens at the other end."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid: int = struct.unpack("3i", credentials)[0]
    return pid


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":  # over SSH
    end_keepers(sys.argv[1])
