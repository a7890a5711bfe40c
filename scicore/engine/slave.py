"""A slave: one rank, one VM. It asks, runs what it is given, and hands over what ended."""

from __future__ import annotations

import os
import signal
import socket
import time
import traceback
from types import FrameType

from scicore.engine.runner import Runner
from scicore.engine.wire import Crash, Hello, Orders, Request, SlaveEnd, Welcome
from scicore.execution.messages import Cancel, Start, Stop

POLL_S = (0.0005, 0.005)  # how long to sleep between two looks at the line: at first, at most


class Terminated(BaseException):
    """The launcher ends this rank."""


def serve(line: SlaveEnd) -> None:
    """Work until the master says stop."""
    line.send(Hello(socket.gethostname(), os.getpid()))
    welcome = _await_welcome(line)
    if welcome is None:
        return
    runner = Runner(welcome)
    try:
        _work(line, runner)
    except Exception:
        line.send(Crash(traceback.format_exc()))
        raise
    finally:
        runner.kill_all()
        line.close()


def terminate(_number: int, _frame: FrameType | None) -> None:
    raise Terminated


def terminate_on_sigterm() -> None:
    """mpirun ends ranks by SIGTERM: turn it into an exception, so that programs are ended too."""

    def leave_to_master(_number: int, _frame: FrameType | None) -> None:
        """A handler, not SIG_IGN: programs would inherit that."""

    signal.signal(signal.SIGTERM, terminate)
    signal.signal(signal.SIGINT, leave_to_master)
    signal.signal(signal.SIGUSR1, leave_to_master)


def _await_welcome(line: SlaveEnd) -> Welcome | None:
    while True:
        match line.receive():
            case None:
                time.sleep(POLL_S[0])
            case Welcome() as welcome:
                return welcome
            case Orders():  # only a stop can come before the welcome: the run is over already
                return None


def _work(line: SlaveEnd, runner: Runner) -> None:
    pause_s = POLL_S[0]
    while True:
        message = line.receive()
        if isinstance(message, Orders):
            for order in message.orders:
                match order:
                    case Start():
                        runner.start(order)
                    case Cancel():
                        runner.cancel(order.activation, order.number)
                    case Stop():
                        return
            pause_s = POLL_S[0]
            continue
        ended = runner.wait(pause_s)
        if ended:
            line.send(Request(tuple(ended)))
            pause_s = POLL_S[0]
        else:
            pause_s = min(pause_s * 1.5, POLL_S[1])
