"""The engine within one process, for tests: queues instead of MPI, threads instead of keepers."""

from __future__ import annotations

import select
import socket
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from scicore.engine.calling import HOUSE, first_word
from scicore.engine.journal import Journal
from scicore.engine.keeper import Keeper
from scicore.engine.link import Link
from scicore.engine.wire import (
    ToMaster,
    ToSlave,
    Welcome,
    decode_to_master,
    decode_to_slave,
    encode,
)

_PAUSE_S = 0.0005  # between two looks


class LocalWorld:
    """A master's end and as many slaves' ends as wanted, connected."""

    def __init__(self, slaves: int) -> None:
        self._inbox: SimpleQueue[tuple[int, bytes]] = SimpleQueue()
        self._outboxes = {rank: SimpleQueue[bytes]() for rank in range(1, slaves + 1)}

    def master(self) -> LocalMaster:
        return LocalMaster(self._inbox, self._outboxes)

    def slave(self, rank: int) -> LocalSlave:
        return LocalSlave(rank, self._inbox, self._outboxes[rank])

    def unread(self) -> int:
        """Messages that nobody took: a run that ended well leaves none."""
        return self._inbox.qsize() + sum(outbox.qsize() for outbox in self._outboxes.values())


class LocalMaster:
    def __init__(
        self, inbox: SimpleQueue[tuple[int, bytes]], outboxes: dict[int, SimpleQueue[bytes]]
    ) -> None:
        self._inbox = inbox
        self._outboxes = outboxes

    @property
    def slaves(self) -> int:
        return len(self._outboxes)

    def receive(self) -> tuple[int, ToMaster] | None:
        try:
            rank, data = self._inbox.get_nowait()
        except Empty:
            return None
        return rank, decode_to_master(data)

    def wait(self) -> None:
        time.sleep(_PAUSE_S)

    def send(self, rank: int, message: ToSlave) -> None:
        self._outboxes[rank].put(encode(message))

    def close(self) -> None:
        pass


class LocalSlave:
    def __init__(
        self, rank: int, inbox: SimpleQueue[tuple[int, bytes]], outbox: SimpleQueue[bytes]
    ) -> None:
        self._rank = rank
        self._inbox = inbox
        self._outbox = outbox

    def receive(self) -> bytes | None:
        try:
            return self._outbox.get_nowait()
        except Empty:
            return None

    def wait(self, *others: int) -> bool:
        return bool(select.select(others, (), (), _PAUSE_S)[0])

    def send(self, data: bytes) -> None:
        self._inbox.put((self._rank, data))

    def close(self) -> None:
        pass


def keeper_in_thread(welcome: bytes) -> tuple[Link, bytes]:
    """What `spare.reach` does, with a thread in place of a process."""
    ours, theirs = socket.socketpair()
    message = decode_to_slave(welcome)
    assert isinstance(message, Welcome)
    journal = Journal(Path(message.run_directory, HOUSE, f"{message.vm}.journal"))

    def keep() -> None:
        keeper = Keeper(message, journal, Link(theirs))
        keeper.greet(time.time())
        keeper.run()
        journal.close()

    Thread(target=keep, daemon=True).start()
    link = Link(ours)
    return link, first_word(link) or b""
