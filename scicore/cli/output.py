"""What the verbs say: results on stdout, as a table or one JSON document; messages on stderr."""

from __future__ import annotations

import csv
import json
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import click

from scicore.errors import ScicumulusError, SpecificationError

database_option = click.option(
    "--database-url",
    metavar="URL",
    help="PostgreSQL to use; default: SCICUMULUS_DATABASE_URL, the PG* variables, "
    "else the embedded server.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document on stdout."
)


@contextmanager
def undisturbed() -> Iterator[None]:
    """While modules are imported Ctrl-C waits: an import may swallow its KeyboardInterrupt."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def say(message: str) -> None:
    click.echo(message, err=True)


def _plain(value: object) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    return str(value)


def print_json(document: object) -> None:
    click.echo(json.dumps(document, default=_plain, ensure_ascii=False, indent=2))


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_csv_cell(value) for value in row] for row in rows)


def _csv_cell(value: object) -> object:
    """A tuple's values as JSON, which any reader of the file understands."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Columns fit the terminal; when piped, every cell is printed whole."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    console = Console(width=None if sys.stdout.isatty() else 10_000, highlight=False)
    console.print(table)


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case float() | Decimal():
            return f"{value:.3f}"
        case dict():  # a tuple's values
            return ", ".join(f"{name}={part}" for name, part in value.items())
        case datetime():
            return value.astimezone().isoformat(sep=" ", timespec="seconds")
        case _:
            return str(value)


def fail(error: ScicumulusError, *, as_json: bool) -> int:
    """The error as a message, and as JSON for scripts; returns its exit code."""
    label = click.style("error:", fg="red", bold=True)
    click.echo(f"{label} {error}", err=True)
    if as_json:
        document: dict[str, object] = {"error": error.message, "exit_code": error.exit_code}
        if error.hint:
            document["hint"] = error.hint
        if isinstance(error, SpecificationError):
            document["problems"] = [
                {name: getattr(defect, name) for name in ("file", "line", "found", "expected")}
                for defect in error.defects
            ]
        print_json(document)
    return error.exit_code
