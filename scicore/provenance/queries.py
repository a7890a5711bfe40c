"""The named questions of `sql/queries/`: what they ask, what they need, how they are run.

A query file starts with comment lines `-- key: value`: question, parameters, columns, and limit if
the answer is cut off after so many rows. Parameters are written `:name`, so that the same file
works in psql: `psql -v run=1 -f FILE`, and with text `-v relation="'images'"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from scicore.errors import UsageError
from scicore.provenance.connection import reading, sql_directory
from scicore.provenance.hold import held_runs

_HEADER = re.compile(r"^-- (\w+): (.+)$")
_WORK_MEM = "64MB"  # a million rows are joined in memory; PostgreSQL's default would use files


@dataclass(frozen=True, slots=True)
class NamedQuery:
    name: str
    question: str
    parameters: Mapping[str, str]  # name → what it is
    columns: Mapping[str, str]  # name → what it says
    sql: str
    limit: int | None = None  # rows at most; None = all there are


@dataclass(frozen=True, slots=True)
class Answer:
    columns: tuple[str, ...]
    rows: Sequence[Sequence[object]]


def named_queries() -> tuple[NamedQuery, ...]:
    return tuple(_read(path) for path in sorted((sql_directory() / "queries").glob("*.sql")))


def named_query(name: str) -> NamedQuery:
    queries = {query.name: query for query in named_queries()}
    if name not in queries:
        close = get_close_matches(name, queries, n=1)
        meant = f"did you mean {close[0]}? " if close else ""
        raise UsageError(f"there is no query {name!r}", f"{meant}known: {', '.join(queries)}")
    return queries[name]


def run_query(engine: Engine, sql: str, parameters: Mapping[str, object]) -> Answer:
    """Run in a transaction that cannot write."""
    try:
        with reading(engine) as connection:
            _allow_one_statement(connection)
            connection.execute(text(f"SET LOCAL work_mem = '{_WORK_MEM}'"))
            if held_runs(connection):  # the other cores are theirs
                connection.execute(text("SET LOCAL max_parallel_workers_per_gather = 0"))
            result = connection.execute(text(sql), parameters)
            if not result.returns_rows:
                raise UsageError("the SQL gives no rows; expected a SELECT")
            return Answer(tuple(result.keys()), [tuple(row) for row in result])
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip()
        raise UsageError(f"the query failed: {reason}") from error


def _allow_one_statement(connection: Connection) -> None:
    """`COMMIT; DROP …` would leave the read-only transaction, but it cannot be prepared."""
    driver: Any = connection.connection.driver_connection
    driver.prepare_threshold = 0


def _read(path: Path) -> NamedQuery:
    sql = path.read_text(encoding="utf-8")
    header: dict[str, list[str]] = {}
    for line in sql.splitlines():
        match = _HEADER.match(line)
        if match is None:
            break
        header.setdefault(match[1], []).append(match[2])
    (question,) = header["question"]
    limit = header.get("limit")
    return NamedQuery(
        name=path.stem,
        question=question,
        parameters=_meanings(header.get("parameter", ())),
        columns=_meanings(header["column"]),
        sql=sql,
        limit=int(limit[0]) if limit else None,
    )


def _meanings(lines: Iterable[str]) -> dict[str, str]:
    """Name → meaning, from `name = meaning`."""
    pairs = (line.split(" = ", maxsplit=1) for line in lines)
    return dict(pairs)
