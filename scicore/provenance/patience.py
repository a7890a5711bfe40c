"""Waiting for a database that is away: restarted, crashed, read-only, or its disk is full."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import psycopg
from sqlalchemy.exc import DataError, IntegrityError, ProgrammingError, SQLAlchemyError

from scicore.errors import DatabaseError
from scicore.provenance.sheet import Refused

PATIENCE_S = 600.0
AWAY = (SQLAlchemyError, psycopg.Error, DatabaseError)
_OUR_FAULT = (Refused, DataError, IntegrityError, ProgrammingError)  # trying again would not help
_AGAIN_S = (0.1, 2.0)  # between two tries: at first, at most
_SAY_AFTER_S = 2.0

_T = TypeVar("_T")


def patiently(
    work: Callable[[], _T],
    patience_s: float,
    *,
    meanwhile: str,
    again: Callable[[], None] = lambda: None,
    hurry: threading.Event | None = None,
) -> _T:
    """What `work` answers, as soon as the database lets it; its error, when patience ends.

    `again` prepares another try; `hurry`, once set, ends the waiting.
    """
    hurry = hurry or threading.Event()
    since = time.monotonic()
    pause_s, said = _AGAIN_S[0], False
    while True:
        try:
            answer = work()
        except _OUR_FAULT:
            raise
        except AWAY as error:
            away_s = time.monotonic() - since
            if away_s > patience_s or hurry.is_set():
                raise
            if away_s > _SAY_AFTER_S and not said:
                said = True
                say(
                    "the provenance database does not take anything at the moment "
                    f"({reason(error)}); {meanwhile}"
                )
        else:
            if said:
                say("the provenance database is back")
            return answer
        hurry.wait(min(pause_s, max(0.0, patience_s - away_s) + 0.01))
        pause_s = min(pause_s * 2, _AGAIN_S[1])
        again()


def reason(error: BaseException) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]


def say(message: str) -> None:
    print(f"scicumulus: {message}", file=sys.stderr, flush=True)
