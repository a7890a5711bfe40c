"""What a keeper does, done once for nothing while nobody needs it.

A process that was just forked pays for every page that it touches first, and Python for every
line that it runs first: together several milliseconds, which a run's first programs would wait.
"""

from __future__ import annotations

import contextlib
import socket
import tempfile
import time
from pathlib import Path

from scicore.engine.journal import Journal
from scicore.engine.keeper import Keeper
from scicore.engine.link import Link
from scicore.engine.private import private_place
from scicore.engine.wire import Orders, Request, Welcome, decode_to_master, decode_to_slave, encode
from scicore.errors import ScicumulusError
from scicore.execution.messages import Start, Stop
from scicore.model.workflow import Activity, Operator, Relation

PROGRAMS = 3
AT_MOST_S = 0.5  # then the run is more important


def rehearse() -> None:
    """A run of some programs that do nothing. Where it is not possible, it need not be."""
    with (
        contextlib.suppress(OSError, ScicumulusError),
        tempfile.TemporaryDirectory(dir=private_place(), prefix="rehearsal-") as place,
    ):
        ours, theirs = socket.socketpair()
        link, journal = Link(ours), Journal(Path(place, "journal"))
        welcome = decode_to_slave(encode(_welcome(place)))
        assert isinstance(welcome, Welcome)
        keeper = Keeper(welcome, journal, Link(theirs), adopts_orphans=True)
        keeper.greet(time.time())
        link.send(encode(Orders(tuple(map(_start, range(1, PROGRAMS + 1))))))
        ended, until = 0, time.monotonic() + AT_MOST_S
        while ended < PROGRAMS and time.monotonic() < until:
            keeper.turn()
            for data in link.receive():
                message = decode_to_master(data)
                ended += len(message.ended) if isinstance(message, Request) else 0
        link.send(encode(Orders((Stop(""),))))
        keeper.run()
        link.close()
        journal.close()


def _welcome(place: str) -> Welcome:
    nothing = Relation("nothing", ())
    activity = Activity("rehearsal", Operator.MAP, "true", nothing, nothing)
    return Welcome("rehearsal", place, place, place, (activity,))


def _start(number: int) -> Start:
    return Start("rehearsal", number, 1, "rehearsal", f"rehearsal/{number}", ((),))
