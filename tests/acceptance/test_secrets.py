"""A database password reaches the database and nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from scicore.provenance.postgres_home import binary
from tests.acceptance.console import SCICUMULUS, Console, Said, eventually, finish
from tests.acceptance.workflows import PASS_ON, Step, write_workflow

CANARY = "c4nary-in-a-coal-mine"
ROLE = "keeper"
# Tells its environment, then waits (not for ever) until the test has looked around.
WAIT = f"""
env > environment
place="$(dirname "$0")"
touch "$place/begun"
for patience in $(seq 1 1200); do
    [ ! -e "$place/go" ] || break
    sleep 0.05
done
{PASS_ON}"""


@pytest.fixture
def keeper(console: Console) -> Iterator[Console]:
    """A user whose database has a password, which stands in the environment alone."""
    where = conninfo_to_dict(console.url)
    role, password = sql.Identifier(ROLE), sql.Literal(CANARY)
    with psycopg.connect(console.url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, password))
        connection.execute(sql.SQL("CREATE DATABASE {0} OWNER {0}").format(role))
    url = f"postgresql://{ROLE}:{CANARY}@{where['host']}:{where['port']}/{ROLE}"
    user = Console(console.home, console.directory, {"SCICUMULUS_DATABASE_URL": url})
    yield user
    user.leave_nothing()
    with psycopg.connect(console.url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(role))
        connection.execute(sql.SQL("DROP ROLE {}").format(role))


def silent(said: Said) -> Said:
    assert CANARY not in said.out + said.err
    return said


def command_lines() -> str:
    lines = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            lines.append((process / "cmdline").read_bytes().decode("utf-8", "replace"))
        except OSError:
            continue
    return "\n".join(lines)


def test_a_password_is_seen_by_no_program_no_table_and_no_listing_of_processes(
    keeper: Console,
) -> None:
    spec = write_workflow(keeper.directory / "wf", [Step("a", WAIT)], [("1",)])
    process = keeper.start(SCICUMULUS, "run", spec, "--fleet", "1xlocal", "--json")
    programs = spec.parent / "bin"
    eventually((programs / "begun").exists, "the program")
    shown = command_lines()
    (programs / "go").touch()
    said = silent(finish(process))
    assert said.code == 0, said
    assert "scicore" in shown
    assert CANARY not in shown
    told = Path(said.document["directory"], "a", "1", "environment").read_text()
    assert "SCICUMULUS_HOME=" in told
    assert CANARY not in told

    for words in (
        ("status", "--json"),
        ("query", "progress"),
        ("query", "--sql", "SELECT nonsense"),
        ("db", "url"),
    ):
        silent(keeper(*words))
    everything = keeper.directory / "dump"
    where = conninfo_to_dict(keeper.extra["SCICUMULUS_DATABASE_URL"])
    environment = Console(keeper.home, keeper.directory, {"PGPASSWORD": CANARY})
    options = [f"--host={where['host']}", f"--port={where['port']}", f"--username={ROLE}"]
    done = environment.execute(binary("pg_dump"), *options, f"--file={everything}", ROLE)
    assert done.code == 0, done
    assert "CREATE TABLE public.attempt" in everything.read_text()
    for path in keeper.directory.rglob("*"):
        if path.is_file():
            assert CANARY not in path.read_text(errors="replace")


URLS = [
    f"postgresql://me:{CANARY}@127.0.0.1:1/x",
    f"postgresql://me:100%{CANARY}@127.0.0.1:1/x",
    f"postgresql://me:100%zz{CANARY}@127.0.0.1:1/x",
    f"postgresql://me:p@{CANARY}@127.0.0.1:1/x",
    f"postgresql://me:p?{CANARY}@127.0.0.1:1/x",
    f"postgresql://me@127.0.0.1:1/x?password={CANARY}&sslmode=disable",
    f"host=127.0.0.1 port=1 user=me password='my {CANARY}'",
    f"mysql://me:{CANARY}@127.0.0.1:1/x",
]


def test_a_database_that_cannot_be_reached_is_told_without_its_password(console: Console) -> None:
    for said in console.together(("status", "--json", "--database-url", url) for url in URLS):
        assert silent(said).code == 3, said
        assert "cannot be used" in said.err


def test_doctor_does_not_tell_the_password_either(console: Console) -> None:
    console.extra["SCICUMULUS_DATABASE_URL"] = f"postgresql://me:{CANARY}@127.0.0.1:1/x"
    said = silent(console("doctor"))
    assert said.code == 5
    assert "me:***@127.0.0.1" in said.out
