"""A slave: one rank, one VM. It stands between the master and the VM's keeper, and passes on."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

from scicore.engine.link import Link
from scicore.engine.wire import (
    Hello,
    Notice,
    Orders,
    Request,
    SlaveEnd,
    Welcome,
    decode_to_slave,
    encode,
)
from scicore.execution.messages import Stop

if TYPE_CHECKING:
    from scicore.engine.notice import Notices

PULSE_S = 5.0  # how often a slave says that it is alive; the master answers

Reach = Callable[[bytes], tuple[Link, bytes]]
"""Given the welcome: the line to the VM's keeper, and its first word, if it has one for us."""


class Terminated(BaseException):
    """The launcher ends this rank."""


class Forsaken(Exception):
    """The master has not been heard for so long that the run has gone on without this VM."""


def serve(line: SlaveEnd, reach: Reach, *, programs_go_on: bool = True) -> None:
    """Work until the keeper leaves, because the master said stop.

    A slave that is ended lets its programs go on, if somebody will start another one.
    """
    line.send(encode(Hello(socket.gethostname(), os.getpid())))
    welcome = _await_welcome(line)
    if welcome is None:
        return
    message = decode_to_slave(welcome)
    assert isinstance(message, Welcome)
    left = False
    notices = _watch(message.notices) if message.notices else None
    while not left:
        link, first = reach(welcome)  # again if the keeper was killed: another tells what is left
        try:
            left = not first or _pass_on(line, link, first, message.keep_s, notices)
        except Terminated:
            if not programs_go_on:
                link.send(encode(Orders((Stop(""),))))
            raise
        finally:
            link.close()
    line.close()


def _watch(service: str) -> Notices:
    """Imported where VMs can be taken back: most ranks need not know how to speak HTTP."""
    from scicore.engine.notice import Notices

    return Notices(service)


def terminate(_number: int, _frame: FrameType | None) -> None:
    raise Terminated


def terminate_on_sigterm() -> None:
    """mpirun ends ranks by SIGTERM; programs go on under their keeper."""

    def leave_to_master(_number: int, _frame: FrameType | None) -> None:
        """A handler, not SIG_IGN: programs would inherit that."""

    signal.signal(signal.SIGTERM, terminate)
    signal.signal(signal.SIGINT, leave_to_master)
    signal.signal(signal.SIGUSR1, leave_to_master)


def _await_welcome(line: SlaveEnd) -> bytes | None:
    while True:
        data = line.receive()
        if data is None:
            line.wait()
        else:
            # Only a stop can come before the welcome: the run is over already.
            return data if isinstance(decode_to_slave(data), Welcome) else None


def _pass_on(
    line: SlaveEnd, link: Link, first: bytes, keep_s: float, notices: Notices | None
) -> bool:
    """Until the keeper says goodbye (True), or is gone without a word (False).

    The keeper hears the master's words alone: a slave that is cut off keeps nothing alive.
    """
    line.send(first)
    heard_at = time.monotonic()
    pulse_at = heard_at + PULSE_S
    while True:
        while (data := line.receive()) is not None:
            heard_at = time.monotonic()
            link.send(data)
        link.flush()
        if time.monotonic() - heard_at > keep_s + PULSE_S:
            raise Forsaken(f"the master has been silent for {keep_s:g} s")
        if line.wait(link.fileno()):
            for message in link.receive():
                if not message:
                    return True
                line.send(message)
            if link.closed:
                return False
        if time.monotonic() > pulse_at:
            pulse_at = time.monotonic() + PULSE_S
            line.send(encode(Notice(notices.seen) if notices and notices.seen else Request(())))
