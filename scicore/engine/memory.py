"""How much memory programs have, and that they have no more than they were given."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Collection

from scicore.engine import process
from scicore.engine.program import Program
from scicore.model.activation import Cause

WATCH_S = 0.1  # how often programs whose memory is limited are looked at


class Memory:
    def __init__(self) -> None:
        self.look_at = math.inf  # monotonic; when limits are looked after next

    def limit(self, now: float) -> None:
        """A program with a limit has begun."""
        self.look_at = min(self.look_at, now + WATCH_S)

    def measure(self, programs: Collection[Program]) -> None:
        """All processes of all of them."""
        memory = process.memory_of_sessions()
        for program in programs:
            seen = memory.get(program.process.pid, 0)
            program.tree_bytes = max(program.tree_bytes, seen)
            if program.order.memory_mb:
                _hold(program, seen)

    def hold(self, programs: Collection[Program], now: float) -> None:
        """Between two measurements, those that have limits, and their descendants."""
        limited = [program for program in programs if program.order.memory_mb]
        self.look_at = now + WATCH_S if limited else math.inf
        for program in limited:
            _hold(program, process.memory_of_tree(program.process.pid))


def _hold(program: Program, resident_bytes: int) -> None:
    """To its memory: what takes more is killed at once, before others suffer from it."""
    limit_bytes = program.order.memory_mb * 2**20
    if resident_bytes <= limit_bytes or program.ended_by_us is not None:
        return
    used_bytes = process.own_memory(program.process.pid) or resident_bytes
    if used_bytes > limit_bytes:
        program.tree_bytes = max(program.tree_bytes, used_bytes)
        program.ended_by_us = Cause.OUT_OF_MEMORY
        program.kill_at = time.monotonic()
        program.process.signal(signal.SIGKILL)
