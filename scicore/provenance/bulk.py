"""Many rows at once, as PostgreSQL reads them quickest: COPY's lines, and literals of arrays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

import psycopg
from sqlalchemy import Connection, Table, text

from scicore.provenance.sheet import PASSING, Refused, copying

NULL = "\\N"
_AWKWARD = re.compile(r"[\\\n\r\t]")
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


# PostgreSQL looks up the foreign keys of every single row, which takes it four times as long as to
# store the row. Only who owns the server may do without that.
_TRUSTED = """
    SELECT CASE WHEN has_parameter_privilege('session_replication_role', 'SET')
                THEN set_config('session_replication_role', 'replica', {local}) END
"""
# The planner, whose statistics are old, would rather read it all.
_BY_KEY = """,
    set_config('enable_hashjoin', 'off', false),
    set_config('enable_mergejoin', 'off', false),
    set_config('enable_seqscan', 'off', false)
"""
_TRANSACTION = text(_TRUSTED.format(local="true"))
_SESSION = text(_TRUSTED.format(local="false") + _BY_KEY)


def trust(connection: Connection, *, session: bool = False) -> None:
    """Take our word for foreign keys, until this transaction ends: whoever calls this knows that
    what the rows refer to is there. On a server of somebody else it is looked up row by row.
    `session`: until this session ends; and it finds rows by their keys."""
    connection.execute(_SESSION if session else _TRANSACTION)


def copied(value: str) -> str:
    """A text within a line of COPY."""
    return value.translate(_ESCAPES) if _AWKWARD.search(value) else value


@lru_cache(maxsize=64)
def shared_stamp(at: float) -> str:
    """A moment at which the master did several things."""
    return stamp(at)


def stamp(at: float) -> str:
    """A moment, to the microsecond."""
    second, microsecond = divmod(round(at * 1_000_000), 1_000_000)
    return f"{_second(second)}.{microsecond:06}+00"


@lru_cache(maxsize=256)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d %H:%M:%S")


def element(value: str | None) -> str:
    """A text within an array."""
    if value is None:
        return "NULL"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def number(value: float | None) -> str:
    return "NULL" if value is None else str(value)


def or_null(value: int | None) -> str | int:
    """Within a line of COPY."""
    return NULL if value is None else value


@lru_cache(maxsize=256)
def named(value: str | None) -> str:
    """The same for a text that stands in many lines: a VM's name, a command."""
    return NULL if value is None else copied(value)


def moment(at: float | None) -> str:
    """Within an array."""
    return "NULL" if at is None else f'"{stamp(at)}"'


def array(elements: Iterable[str]) -> str:
    return "{" + ",".join(elements) + "}"


class Lines(NamedTuple):
    """As COPY reads them: tabs between the columns, `copied` texts, NULL for nothing."""

    table: Table
    columns: tuple[str, ...]
    lines: Iterable[str]


def copy_lines(connection: Connection, *parts: Lines) -> None:
    """One part after the other; while the server reads one, the lines of the next are made."""
    driver: Any = connection.connection.dbapi_connection
    with driver.cursor() as cursor, ExitStack() as under_way:
        for table, columns, lines in parts:
            data = "".join(lines)
            under_way.close()  # the part before this one
            if data:
                under_way.enter_context(copying(cursor, table.name, columns)).write(data)


def update_from(
    connection: Connection,
    table: Table,
    changes: str,
    columns: Sequence[tuple[str, str]],
    arrays: Sequence[str],
    condition: str,
    count: int,
) -> None:
    """UPDATE `count` rows with an array per column, which are called `new`; `columns` are their
    names and types. Each row is found by the primary key: whatever the statistics say, the table
    may have a million others."""
    names = ", ".join(name for name, _ in columns)
    parameters = ", ".join(f"%s::{type_}[]" for _, type_ in columns)
    statement = (
        f"UPDATE {table.name} AS old SET {changes} "
        f"FROM unnest({parameters}) AS new({names}) WHERE {condition}"
    )
    driver: Any = connection.connection.dbapi_connection
    try:
        with driver.cursor() as cursor:
            cursor.execute(statement, list(arrays))
            if cursor.rowcount != count:
                found = f"{cursor.rowcount} of {count} rows of {table.name}"
                raise Refused(f"{found} were changed: the others were never stored")
    except PASSING:
        raise
    except psycopg.Error as error:
        raise Refused(f"rows of {table.name} were not changed: {error}") from error
