"""Locks of database sessions: they vanish with their session, so that none is ever stale."""

from __future__ import annotations

import time

from sqlalchemy import Connection, text

VANISH_S = 5.0  # for the session of a process that was killed
_TRY = text("SELECT pg_try_advisory_lock(:lock, :number)")


def take(connection: Connection, lock: int, number: int) -> bool:
    """Whether the lock is this session's now. Somebody who was killed takes a moment to vanish;
    whoever is alive keeps it for longer than we wait."""
    deadline = time.monotonic() + VANISH_S
    while True:
        with connection.begin():
            if connection.scalar(_TRY, {"lock": lock, "number": number}):
                return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
