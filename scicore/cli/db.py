"""`scicumulus db`: the provenance database itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scicore.cli.output import database_option, json_option, print_json, say

if TYPE_CHECKING:
    from scicore.provenance.embedded import EmbeddedServer


@click.group(epilog='Example: psql "$(scicumulus db url)"')
def command() -> None:
    """The provenance database: the embedded PostgreSQL, or the one that you point to."""


@command.command(epilog="Example: scicumulus db start")
@json_option
def start(as_json: bool) -> None:
    """Start the embedded server (any verb that needs it does so by itself)."""
    from scicore.provenance import renewal

    url = renewal.start(_server())
    if as_json:
        print_json({"url": url, "directory": str(_server().directory)})
    else:
        say(f"PostgreSQL is running on {url} (data in {_server().directory})")


@command.command(epilog="Example: scicumulus db stop")
@json_option
def stop(as_json: bool) -> None:
    """Stop the embedded server; its data stays."""
    was_running = _server().stop()
    if as_json:
        print_json({"stopped": was_running})
    else:
        say("PostgreSQL is stopped" if was_running else "PostgreSQL was not running")


@command.command(epilog='Example: psql "$(scicumulus db url)" -c "SELECT * FROM run"')
@database_option
@json_option
def url(database_url: str | None, as_json: bool) -> None:
    """Print the database's URL, without a password: psql finds it in the file that it names."""
    from scicore.provenance.connection import connect, redacted

    found = redacted(connect(database_url).url)
    if as_json:
        print_json({"url": found})
    else:
        click.echo(found)


@command.command(epilog="Example: scicumulus db shell")
@database_option
def shell(database_url: str | None) -> None:
    """Open psql on the database."""
    program, environment = _client("psql", database_url)
    os.execve(program, [program, "--set=PROMPT1=scicumulus=> "], environment)


@command.command(epilog="Example: scicumulus db dump provenance.dump")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@database_option
def dump(file: Path, database_url: str | None) -> None:
    """Write the whole database to FILE (PostgreSQL's custom format)."""
    _run_client("pg_dump", ["--format=custom", f"--file={file}"], database_url)
    say(f"dumped to {file}; bring it back with: scicumulus db restore {file}")


@command.command(epilog="Example: scicumulus db restore provenance.dump --yes")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--yes", is_flag=True, help="Do not ask.")
@database_option
def restore(file: Path, yes: bool, database_url: str | None) -> None:
    """Replace the database's contents by those of FILE."""
    if not yes:
        click.confirm("This replaces everything in the provenance database. Go on?", abort=True)
    from scicore.provenance.connection import connect
    from scicore.provenance.relation_views import drop_all, refresh_all

    # Views of workflows that the dump does not know would hold on to the tables.
    with connect(database_url).engine.begin() as connection:
        drop_all(connection)
    options = ["--clean", "--if-exists", "--no-owner", "--single-transaction", str(file)]
    try:
        _run_client("pg_restore", options, database_url)
    finally:
        with connect(database_url).engine.begin() as connection:
            refresh_all(connection)
    say(f"restored from {file}")


def _server() -> EmbeddedServer:
    from scicore.provenance.embedded import EmbeddedServer
    from scicore.provenance.postgres_home import default_directory

    return EmbeddedServer(default_directory())


def _client(name: str, database_url: str | None) -> tuple[str, dict[str, str]]:
    """A PostgreSQL client program and the environment that leads it to the database."""
    from scicore.provenance.connection import connect, libpq_environment
    from scicore.provenance.postgres_home import binary

    url = connect(database_url).url
    return str(binary(name)), {**os.environ, **libpq_environment(url)}


def _run_client(name: str, options: list[str], database_url: str | None) -> None:
    from scicore.errors import DatabaseError

    program, environment = _client(name, database_url)
    target = ["--dbname", environment["PGDATABASE"]] if name == "pg_restore" else []
    done = subprocess.run([program, *target, *options], env=environment, check=False)
    if done.returncode:
        raise DatabaseError(f"{name} failed with exit code {done.returncode}")
