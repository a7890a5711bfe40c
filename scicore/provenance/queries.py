"""The named questions of `sql/queries/`: what they ask, what they need, how they are run.

A query file starts with comment lines `-- key: value`: question, parameters, columns. Parameters
are written `:name`, so that the same file works in psql (`psql -v run=1 -f FILE`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from scicore.errors import UsageError
from scicore.provenance.connection import reading, sql_directory

_HEADER = re.compile(r"^-- (\w+): (.+)$")


@dataclass(frozen=True, slots=True)
class NamedQuery:
    name: str
    question: str
    parameters: Mapping[str, str]  # name → what it is
    columns: Mapping[str, str]  # name → what it says
    sql: str


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
            result = connection.execute(text(sql), parameters)
            if not result.returns_rows:
                raise UsageError("the SQL gives no rows; expected a SELECT")
            return Answer(tuple(result.keys()), [tuple(row) for row in result])
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip()
        raise UsageError(f"the query failed: {reason}") from error


def _read(path: Path) -> NamedQuery:
    sql = path.read_text(encoding="utf-8")
    header: dict[str, dict[str, str]] = {"parameters": {}, "columns": {}}
    question = ""
    for line in sql.splitlines():
        match = _HEADER.match(line)
        if match is None:
            break
        key, value = match.groups()
        if key == "question":
            question = value
        else:
            group = "parameters" if key == "parameter" else "columns"
            name, _, meaning = value.partition(" = ")
            header[group][name] = meaning
    return NamedQuery(path.stem, question, header["parameters"], header["columns"], sql)
