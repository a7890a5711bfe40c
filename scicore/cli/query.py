"""`scicumulus query`: named questions to the provenance database, or SQL of your own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from scicore.cli.output import (
    database_option,
    json_option,
    print_csv,
    print_json,
    print_table,
    say,
)

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from scicore.provenance.queries import NamedQuery


@click.command(
    epilog="Examples: scicumulus query progress --run last;  "
    "scicumulus query lineage --set tuple=12;  "
    'scicumulus query --sql "SELECT state, count(*) FROM activation GROUP BY state" --csv'
)
@click.argument("name", required=False)
@click.option("--run", "run", default="last", show_default=True, help="A run's number, or last.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A query's parameter.")
@click.option("--sql", metavar="SQL", help="Run this instead; it may use :run. Read-only.")
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@database_option
@json_option
def command(
    name: str | None,
    run: str,
    settings: tuple[str, ...],
    sql: str | None,
    as_csv: bool,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Without NAME: list the named queries (the files of sql/queries). With it: run one."""
    from scicore.errors import UsageError
    from scicore.provenance.connection import connect
    from scicore.provenance.queries import named_query, run_query

    if name is None and sql is None:
        _list(as_json)
        return
    if name is not None and sql is not None:
        raise UsageError("give either a query's NAME or --sql, not both")
    query = named_query(name) if name else None
    given = _settings(settings)
    engine = connect(database_url).engine
    statement = query.sql if query else sql or ""
    parameters = _parameters(engine, query, statement, given, run)
    answer = run_query(engine, statement, parameters)
    if as_json:
        print_json([dict(zip(answer.columns, row, strict=True)) for row in answer.rows])
    elif as_csv:
        print_csv(answer.columns, answer.rows)
    else:
        print_table(answer.columns, answer.rows)
        if not answer.rows:
            say("(no rows)")
    if query is not None and query.limit is not None and len(answer.rows) >= query.limit:
        say(f"(the first {query.limit} rows; use --sql or `scicumulus export` for all)")


def _list(as_json: bool) -> None:
    from scicore.provenance.queries import named_queries

    queries = named_queries()
    if as_json:
        print_json(
            [
                {
                    "name": query.name,
                    "question": query.question,
                    "parameters": dict(query.parameters),
                    "columns": dict(query.columns),
                }
                for query in queries
            ]
        )
        return
    print_table(
        ("query", "question", "parameters"),
        [(query.name, query.question, ", ".join(query.parameters)) for query in queries],
    )
    say("run one: scicumulus query NAME --run last")


def _settings(settings: tuple[str, ...]) -> dict[str, str]:
    from scicore.errors import UsageError

    given = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"--set {setting!r}: expected NAME=VALUE, e.g. --set tuple=12")
        given[name] = value
    return given


def _parameters(
    engine: Engine, query: NamedQuery | None, statement: str, given: dict[str, str], run: str
) -> dict[str, object]:
    from scicore.errors import UsageError
    from scicore.provenance.connection import reading
    from scicore.provenance.reader import resolve_run

    wanted = set(query.parameters) if query else {"run"} & {"run" if ":run" in statement else ""}
    wanted |= set(given) if query is None else set()
    parameters: dict[str, object] = {}
    if "run" in wanted:
        with reading(engine) as connection:
            parameters["run"] = resolve_run(connection, run)
    for name in sorted(wanted - {"run"}):
        if name not in given:
            meaning = query.parameters[name] if query else ""
            raise UsageError(f"the query needs {name} ({meaning})", f"add --set {name}=…")
        value = given[name]
        parameters[name] = int(value) if value.lstrip("-").isdecimal() else value
    unknown = set(given) - wanted
    if unknown:
        raise UsageError(f"--set {sorted(unknown)[0]}: the query has no such parameter")
    return parameters
