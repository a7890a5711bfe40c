"""The pending rows of one table, written in bulk: COPY for new ones, one UPDATE for changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import msgspec
import psycopg
from psycopg import sql
from sqlalchemy import Connection, Table, text

from scicore.errors import DatabaseError

Row = dict[str, Any]
Key = tuple[object, ...]


# No fault of what was to be written: connections, disk space, a server in recovery.
PASSING = (psycopg.OperationalError, psycopg.InternalError, psycopg.InterfaceError)


class Refused(DatabaseError):
    """The database will never take these rows."""


class Sheet:
    """New rows, and changes to rows written earlier.

    A change to a row that is itself still pending goes into that row, so an activation that is
    created, started and finished within one batch costs one insert.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._keys = tuple(column.name for column in table.primary_key.columns)
        self._new: dict[Key, Row] = {}
        self._changed: dict[Key, Row] = {}

    def insert(self, row: Row) -> None:
        self._new[tuple([row[key] for key in self._keys])] = row

    def change(self, key: Key, values: Row) -> None:
        if key in self._new:
            self._new[key].update(values)
        else:
            self._changed.setdefault(key, {}).update(values)

    def write(self, connection: Connection) -> None:
        copy_rows(connection, self._table, self._new.values())
        changed = (
            {**dict(zip(self._keys, key, strict=True)), **values}
            for key, values in self._changed.items()
        )
        for names, rows in _alike(changed):
            self._update(connection, names, rows)

    def _update(self, connection: Connection, names: tuple[str, ...], rows: list[Row]) -> None:
        """All rows in one statement and one parameter, which the table's own types read."""
        table = self._table.name
        values = ", ".join(f"{name} = new.{name}" for name in names if name not in self._keys)
        condition = " AND ".join(f"{table}.{key} = new.{key}" for key in self._keys)
        statement = f"""
            UPDATE {table} SET {values}
            FROM json_populate_recordset(NULL::{table}, CAST(:rows AS json)) AS new
            WHERE {condition}
        """
        connection.execute(text(statement), {"rows": msgspec.json.encode(rows).decode()})


@lru_cache(maxsize=64)
def _copy_statement(table: str, columns: tuple[str, ...]) -> bytes:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    return sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names).as_bytes(None)


@contextmanager
def copying(cursor: Any, table: str, columns: tuple[str, ...]) -> Iterator[Any]:
    """COPY, as long as it is written to."""
    try:
        with cursor.copy(_copy_statement(table, columns)) as copy:
            yield copy
    except PASSING:
        raise
    except psycopg.Error as error:  # SQLAlchemy, which translates the others, does not see it
        raise Refused(f"rows of {table} were not stored: {error}") from error


def copy_rows(connection: Connection, table: Table, rows: Iterable[Row]) -> None:
    """Values go as they are; a jsonb column takes its text."""
    driver: Any = connection.connection.dbapi_connection
    for names, alike in _alike(rows):
        with driver.cursor() as cursor, copying(cursor, table.name, names) as copy:
            for row in alike:
                copy.write_row([row[name] for name in names])


def _alike(rows: Iterable[Row]) -> Iterator[tuple[tuple[str, ...], list[Row]]]:
    """Rows with the same columns together: each list is one statement."""
    by_columns: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        by_columns.setdefault(tuple(sorted(row)), []).append(row)
    yield from by_columns.items()
