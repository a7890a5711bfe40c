"""Orphans that ended attempts have left to their keeper: ended, gently first."""

from __future__ import annotations

import contextlib
import os
import signal

from scicore.engine import process
from scicore.engine.program import GRACE_S


class Strays:
    def __init__(self) -> None:
        self._due: dict[int, float] = {}  # by pid: when to be rougher; monotonic

    def __len__(self) -> int:
        return len(self._due)

    def end(self, orphans: set[int], running: set[str], now: float) -> None:
        """A daemon that outlives its attempt is ended; one of a `running` attempt is let be."""
        if not orphans:
            self._due.clear()
            return
        for pid in orphans:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG)[0]:
                    self._due.pop(pid, None)
                    continue
            if process.attempt_of(pid) in running:
                continue
            if pid not in self._due:
                self._due[pid] = now + GRACE_S
                kill(pid, signal.SIGTERM)
            elif now > self._due[pid]:
                kill(pid, signal.SIGKILL)


def kill(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
