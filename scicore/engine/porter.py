"""The keeper's end of the line to the process that carries files. Nothing here ever blocks.

That process may die: it is started again, and what it had under way is asked for again; to bring
a file twice does no harm.
"""

from __future__ import annotations

import contextlib
import select
import signal
import socket
from pathlib import Path

import msgspec

from scicore.engine import process
from scicore.engine.link import Link
from scicore.engine.process import Environment, Process
from scicore.model.transfer import Delivery, Errand, Parcel, Transfer, Way

MOST_DEATHS = 3  # in a row, without a delivery


class Porter:
    def __init__(self, words: tuple[str, ...], directory: str, environment: Environment) -> None:
        """Nothing is started before there is something to carry."""
        self._words = words
        self._directory = Path(directory)
        self._environment = environment
        self._poll = select.epoll()
        self._link: Link | None = None
        self._process: Process | None = None
        self._under_way: dict[int, Errand] = {}
        self._number = 0
        self._deaths = 0

    def fileno(self) -> int:
        """Readable when something was delivered."""
        return self._poll.fileno()

    @property
    def pids(self) -> set[int]:
        return {self._process.pid} if self._process is not None else set()

    @property
    def unsent(self) -> bool:
        return self._link is not None and self._link.unsent

    def send(self, way: Way, parcels: tuple[Parcel, ...]) -> int:
        """The errand's number, by which its delivery is known."""
        self._number += 1
        errand = Errand(self._number, way, parcels)
        self._under_way[errand.number] = errand
        if self._link is None:
            self._start()
        else:
            self._link.send(msgspec.json.encode(errand))
        return errand.number

    def deliveries(self) -> list[Delivery]:
        if self._link is None:
            return []
        self._link.flush()
        found = [msgspec.json.decode(data, type=Delivery) for data in self._link.receive()]
        for delivery in found:
            self._under_way.pop(delivery.number, None)
        if found:
            self._deaths = 0
        if self._link.closed:
            found += self._begin_again()
        return found

    def close(self) -> None:
        if self._link is not None:
            self._link.close()  # its epoll forgets it, too
            self._link = None
        if self._process is not None:
            self._process.signal(signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                self._process.reap()
            self._process = None

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            self._process = process.spawn_warm(
                self._words, self._directory, self._environment, read=theirs.fileno(), out=2, err=2
            )
        finally:
            theirs.close()
        self._link = Link(ours)
        self._poll.register(ours.fileno(), select.EPOLLIN)
        for errand in self._under_way.values():
            self._link.send(msgspec.json.encode(errand))

    def _begin_again(self) -> list[Delivery]:
        """It has died. Errands that it dies of again and again are given up."""
        self.close()
        self._deaths += 1
        if self._deaths < MOST_DEATHS:
            if self._under_way:
                self._start()
            return []
        self._deaths = 0
        lost, self._under_way = list(self._under_way.values()), {}
        return [
            Delivery(
                each.number,
                Transfer(each.way, 0, 0, 0, 0.0),
                f"the process that carries files died {MOST_DEATHS} times; the keeper's log, "
                "beside its journal, has its last words",
            )
            for each in lost
        ]
