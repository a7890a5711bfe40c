"""What every file of sql/queries has in common: its header is true, and docs/queries.md says it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from sqlalchemy import Engine

from scicore.provenance.connection import libpq_environment
from scicore.provenance.postgres_home import binary
from scicore.provenance.queries import NamedQuery, named_queries, run_query
from scicore.provenance.query_page import page

ROOT = Path(__file__).resolve().parents[2]
QUERIES = named_queries()
PARAMETERS: dict[str, object] = {  # something sensible for each that any query has
    "run": 1,
    "other": 2,
    "tuple": 23,
    "path": "/data/10.fits",
    "relation": "measured",
    "field": "brightness",
    "best": "highest",
    "top": 3,
}
every_query = pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)


def parameters_of(query: NamedQuery) -> dict[str, object]:
    return {name: PARAMETERS[name] for name in query.parameters}


def statement(query: NamedQuery) -> str:
    return "\n".join(line for line in query.sql.splitlines() if not line.startswith("--"))


def test_there_are_more_than_twenty_questions() -> None:
    assert len(QUERIES) > 20


@every_query
def test_the_header_asks_a_question_and_explains_every_name(query: NamedQuery) -> None:
    assert query.question.endswith("?")
    assert query.columns
    assert all(query.parameters.values())
    assert all(query.columns.values())


@every_query
def test_the_header_names_exactly_the_parameters_that_the_statement_uses(
    query: NamedQuery,
) -> None:
    used = set(re.findall(r"(?<!:):([a-z_]+)", statement(query)))
    assert used == set(query.parameters)


@every_query
def test_the_header_names_exactly_the_columns_that_come_back(
    known: Engine, query: NamedQuery
) -> None:
    answer = run_query(known, query.sql, parameters_of(query))
    assert answer.columns == tuple(query.columns)


@every_query
def test_the_header_tells_where_the_answer_is_cut_off(query: NamedQuery) -> None:
    limits = {int(rows) for rows in re.findall(r"LIMIT (\d+)", statement(query))}
    assert query.limit == (min(limits - {1}) if limits - {1} else None)


@every_query
def test_a_run_that_does_not_exist_gives_no_rows(known: Engine, query: NamedQuery) -> None:
    parameters = parameters_of(query) | {"run": 99}
    if "other" in parameters:
        parameters["other"] = 98
    assert run_query(known, query.sql, parameters).rows == []


@every_query
def test_psql_gives_as_many_rows_as_we_do(known: Engine, known_url: str, query: NamedQuery) -> None:
    answer = run_query(known, query.sql, parameters_of(query))
    quoted = {
        name: f"'{value}'" if isinstance(value, str) else str(value)
        for name, value in parameters_of(query).items()
    }
    settings = [f"--set={name}={value}" for name, value in quoted.items()]
    file = str(ROOT / "sql" / "queries" / f"{query.name}.sql")
    done = subprocess.run(
        [str(binary("psql")), "-AtX0", "--set=ON_ERROR_STOP=1", *settings, "-f", file],
        check=False,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **libpq_environment(known_url)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\0") == len(answer.rows)


def test_the_documentation_lists_every_query_as_its_header_does() -> None:
    written = (ROOT / "docs" / "queries.md").read_text(encoding="utf-8")
    assert written == page(QUERIES), (
        "write it anew: python -m scicore.provenance.query_page > docs/queries.md"
    )
