"""A private server whose installation was deleted is started again from this one.

Not while a run is going on, whose master would be cut off: then that is told, and nothing done.
"""

from __future__ import annotations

from pathlib import Path

import psycopg
import sqlalchemy
from sqlalchemy.exc import SQLAlchemyError

from scicore.errors import DatabaseError
from scicore.provenance.embedded import EmbeddedServer
from scicore.provenance.patience import reason, say

_CONNECT_TIMEOUT_S = 10
REMEDY = (
    "when no run is going on, any command that needs the database starts it again from here; "
    "runs wait for it if you do so now: scicumulus db stop && scicumulus db start"
)


def start(server: EmbeddedServer) -> str:
    """The URL of the server, which is made, started or renewed if need be."""
    url = server.start()
    lost = server.lost_program()
    if lost is None:
        return url
    return server.renew(lambda url: _may_end(told(server, lost), url))


def told(server: EmbeddedServer, lost: Path) -> str:
    return f"the private PostgreSQL server in {server.directory} runs from {lost}, which is deleted"


def _may_end(story: str, url: str) -> bool:
    """Whether no run goes on; what will be done is said."""
    from scicore.provenance.hold import held_runs  # which needs all tables, and is needed seldom

    engine = sqlalchemy.create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(url, connect_timeout=_CONNECT_TIMEOUT_S),
        poolclass=sqlalchemy.NullPool,
    )
    try:
        with engine.connect() as connection:
            runs = ", ".join(f"run {run}" for run in sorted(held_runs(connection)))
    except (SQLAlchemyError, psycopg.Error) as error:
        raise DatabaseError(
            f"{story}, and does not tell whether a run uses it: {reason(error)}", REMEDY
        ) from error
    if runs:
        say(f"{story}; {runs} uses it, so it is left alone until that has ended")
    else:
        say(f"{story}; it is started again from this installation")
    return not runs
