"""The keeper of a VM: the process that runs its programs and outlives its slave.

When the MPI job dies, programs go on under their keeper, and what ends meanwhile is kept. The
slave of the next job finds the keeper at its address, and hears what has happened. A keeper whose
slave does not come back in time ends its programs and itself.
"""

from __future__ import annotations

import select
import socket
import time
from collections import deque
from collections.abc import Collection, Iterable

from scicore.engine import process
from scicore.engine.carriage import Carriage
from scicore.engine.journal import Durable, Ended, Journal
from scicore.engine.link import Link
from scicore.engine.runner import Runner
from scicore.engine.wire import Joined, Orders, Request, Welcome, decode_to_slave, encode
from scicore.engine.workbench import mark
from scicore.execution.messages import AttemptEnded, Cancel, Claim, Start, Stop

_TURN_S = 1.0  # at most between two looks at the clock
MOST_BYTES = 4 << 20  # of results in the journal that are in the database already
SELDOM = 100  # results; that they are there is noted once for so many: it only saves claims
TELL_S = 0.02  # while there is enough to do, results wait so long for company on their way


class Keeper:
    def __init__(
        self,
        welcome: Welcome,
        journal: Journal,
        link: Link,
        listener: socket.socket | None = None,
        *,
        adopts_orphans: bool = False,
    ) -> None:
        self._welcome = welcome
        self._journal = journal
        self._link = link
        self._listener = listener
        self._callers: list[Link] = []  # slaves that have not said yet of which job they are
        self._launch = welcome.launch
        self._heard_at = time.monotonic()
        self._results: deque[Ended] = deque()  # not known to be in the database yet
        self._count = 0  # results so far
        self._least_bytes = 0  # of the journal when it began anew
        self._noted = 0  # results that are in the database, as the journal has it
        self._untold: list[AttemptEnded] = []  # in the journal, and not on their way yet
        self._tell_at = 0.0  # monotonic
        self._names: dict[tuple[int, int], str] = {}  # of the attempts under way
        self._poll = select.poll()
        self._heeded: tuple[object, ...] = ()  # for whom that is
        self._leaving = False
        self._recover()
        runner = Runner(welcome, adopts_orphans=adopts_orphans)
        self._runner = Carriage(runner, welcome) if welcome.porter else runner

    def run(self) -> None:
        """Until a slave says stop, or none comes back."""
        try:
            while not self._leaving:
                self._turn()
        finally:
            self._runner.kill_all()
            while self._runner.busy:
                self._runner.wait(0.1)
            self._link.say_goodbye()

    def _turn(self) -> None:
        self._heed()
        ready = [descriptor for descriptor, _ in self._poll.poll(self._patience_ms())]
        if ready and ready != [self._runner.fileno()]:
            self._hear(ready)
        self._watch()
        self._tell()
        if time.monotonic() - self._heard_at > self._welcome.keep_s:
            self._leaving = True

    def _patience_ms(self) -> int:
        patience_s = min(_TURN_S, self._runner.patience_s())
        if self._untold:
            patience_s = min(patience_s, max(0.0, self._tell_at - time.monotonic()))
        return round(patience_s * 1000) + 1

    def _heed(self) -> None:
        """Listen to whom there is to listen to; that seldom changes."""
        link = self._link
        heeded = (link, link.closed, link.unsent, *self._callers)
        if heeded == self._heeded:
            return
        self._heeded = heeded
        self._poll = select.poll()
        self._poll.register(self._runner.fileno(), select.POLLIN)
        if not link.closed:
            self._poll.register(link.fileno(), select.POLLIN | select.POLLOUT * link.unsent)
        for caller in self._callers:
            self._poll.register(caller.fileno(), select.POLLIN)
        if self._listener is not None:
            self._poll.register(self._listener.fileno(), select.POLLIN)

    def _hear(self, ready: Collection[int]) -> None:
        if self._listener is not None and self._listener.fileno() in ready:
            connection, _ = self._listener.accept()
            self._callers.append(Link(connection))
        for caller in [each for each in self._callers if each.fileno() in ready]:
            self._take_call(caller)
        if not self._link.closed and self._link.fileno() in ready:
            self._link.flush()
            self._listen(self._link.receive())

    # --- the slave -----------------------------------------------------------------------------

    def _take_call(self, caller: Link) -> None:
        """A slave of this job, or of a later one, takes the place of the one before; one of an
        earlier job is a ghost, and is sent away."""
        words = list(caller.receive())
        if not words and not caller.closed:
            return
        self._callers.remove(caller)
        first = decode_to_slave(words[0]) if words else None
        if isinstance(first, Welcome) and first.launch < self._launch:
            caller.say_goodbye()
        elif first is None:
            caller.close()
        else:
            self._link.close()
            self._link = caller
            self._listen(words)

    def _listen(self, words: Iterable[bytes]) -> None:
        for data in words:
            self._heard_at = time.monotonic()
            match decode_to_slave(data):
                case Welcome(launch=launch):
                    self._launch = launch
                    self.greet(time.time())
                case Orders(orders=orders, durable=durable):
                    self._forget(durable)
                    self._obey(orders)
        if self._link.closed:
            self._link.close()

    def greet(self, received_at: float) -> None:
        running = (
            Claim(order.name, order.activation, order.number) for order in self._runner.granted
        )
        done = (
            Claim(end.name, end.attempt.activation, end.attempt.number, end.attempt)
            for end in self._results
        )
        claims = (*running, *done)
        self._untold.clear()  # told herewith
        self._link.send(encode(Joined(received_at, time.time(), claims, self._count)))

    def _obey(self, orders: Iterable[Start | Cancel | Stop]) -> None:
        starts: list[Start] = []
        for order in orders:
            match order:
                case Start():
                    self._names[order.activation, order.number] = order.name
                    starts.append(order)
                case Cancel():
                    self._runner.start(*starts)  # it may be one of them
                    starts.clear()
                    self._runner.cancel(order.activation, order.number)
                case Stop():
                    self._leaving = True
        self._runner.start(*starts)

    def _forget(self, durable: int) -> None:
        forgotten = False
        while self._results and self._results[0].count <= durable:
            self._results.popleft()
            forgotten = True
        if not forgotten:
            return
        if self._journal.size_bytes > MOST_BYTES + self._least_bytes:
            self._journal.begin_anew(Durable(durable), *self._results)
            self._least_bytes = self._journal.size_bytes
        elif durable >= self._noted + SELDOM:
            self._journal.write(Durable(durable))
        else:
            return
        self._noted = durable

    # --- the programs --------------------------------------------------------------------------

    def _watch(self) -> None:
        """Into the journal first: what is told to the master must survive this process."""
        ended = self._runner.wait(0)
        if not ended:
            return
        if not self._untold:
            self._tell_at = time.monotonic() + TELL_S
        self._untold.extend(ended)
        results = []
        for attempt in ended:
            self._count += 1
            name = self._names.pop((attempt.activation, attempt.number), "")
            results.append(Ended(self._count, name, attempt))
        self._results.extend(results)
        self._journal.write(*results)

    def _tell(self) -> None:
        """At once, if a slot may soon be waiting for what the master says to it."""
        if not self._untold:
            return
        enough = max(self._welcome.slots, len(self._untold) + 1)
        if self._runner.waiting < enough or time.monotonic() >= self._tell_at:
            self._link.send(encode(Request(tuple(self._untold), self._count)))
            self._untold.clear()

    def _recover(self) -> None:
        """A keeper before this one was killed: its results count, its programs are ended."""
        for entry in self._journal.read():
            match entry:
                case Ended(count=count):
                    self._count = count
                    self._results.append(entry)
                case Durable(count=count):
                    self._count = max(self._count, count)
                    while self._results and self._results[0].count <= count:
                        self._results.popleft()
        if not self._journal.new:
            process.end_marked(mark(self._welcome))
