"""The database behind it all: doctor, read-only questions, psql, dump and restore."""

from __future__ import annotations

import socket

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from scicore.provenance.postgres_home import binary
from tests.acceptance.console import Console
from tests.acceptance.workflows import Step, write_workflow


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_doctor_finds_everything_in_order_here(console: Console) -> None:
    said = console("doctor", "--json")
    checks = said.document["checks"]
    assert [check for check in checks if not check["ok"]] == []
    assert said.code == 0
    assert [check["name"] for check in checks] == ["python", "mpi", "postgresql", "disk"]
    assert all(set(check) == {"name", "ok", "detail", "fix"} and check["ok"] for check in checks)


def test_doctor_says_how_to_fix_a_database_that_does_not_answer(
    console: Console, closed_port: int
) -> None:
    said = console("doctor", "--database-url", f"postgresql://me@127.0.0.1:{closed_port}/none")
    assert said.code == 5
    failed = said.out.partition("FAIL postgresql: ")[2]
    assert "Connection refused" in failed
    assert "fix: check --database-url, SCICUMULUS_DATABASE_URL or the PG* variables" in failed
    assert "\x1b" not in said.out + said.err
    asked = console("status", "--database-url", f"postgresql://me@127.0.0.1:{closed_port}/none")
    assert asked.code == 3
    assert "Connection refused" in asked.err


def test_psql_can_be_pointed_at_the_same_database(console: Console) -> None:
    said = console.execute(binary("psql"), console.url, "-Atc", "SELECT count(*) FROM workflow")
    assert said.code == 0
    assert said.out.strip().isdecimal()
    assert "password" not in conninfo_to_dict(console.url)


ATTACKS = [
    "INSERT INTO alembic_version VALUES ('9999')",
    "DROP TABLE used",
    "WITH gone AS (DELETE FROM used RETURNING 1) SELECT count(*) FROM gone",
    "SELECT 1; COMMIT; DROP TABLE used; SELECT 2",
    "COMMIT; INSERT INTO alembic_version VALUES ('9999')",
    "SET TRANSACTION READ WRITE; DROP TABLE used; COMMIT",
    "DO $$ BEGIN SET TRANSACTION READ WRITE; DROP TABLE used; COMMIT; END $$",
]


def test_questions_in_sql_cannot_change_anything(console: Console) -> None:
    state = "SELECT version_num, to_regclass('used') IS NOT NULL FROM alembic_version"
    before = console.rows(state)
    for said in console.together(("query", "--sql", sql) for sql in ATTACKS):
        assert said.code == 2, said
        assert said.err.startswith("error: the query failed: ")
        assert console.rows(state) == before


def test_queries_are_listed_with_their_questions(console: Console) -> None:
    listed = {query["name"]: query for query in console("query", "--json").document}
    assert set(listed) >= {
        *("progress", "times", "outputs", "lineage", "failures", "plan_versus_actual")
    }
    assert set(listed["lineage"]["parameters"]) == {"run", "tuple"}
    assert all(query["question"].endswith("?") and query["columns"] for query in listed.values())


def test_a_dump_brings_everything_back(console: Console) -> None:
    spec = write_workflow(console.directory / "wf", [Step("a")], [("kept ☂",)])
    number = console("run", spec, "--prepare", "--json").document["run_id"]
    question = "SELECT values->>'ID' FROM tuple WHERE run_id = %s"
    with psycopg.connect(console.url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS copy")
        connection.execute("CREATE DATABASE copy")
    elsewhere = console.url.replace("/scicumulus?", "/copy?")
    assert console("db", "dump", "all of it.dump").code == 0
    said = console("db", "restore", "all of it.dump", "--yes", "--database-url", elsewhere)
    assert said.code == 0, said
    with psycopg.connect(elsewhere) as copy:
        assert copy.execute(question.encode(), [number]).fetchall() == [("kept ☂",)]
    assert console("db", "restore", "all of it.dump").code == 4  # nobody said yes
