"""The database as it is made, and what the recorder makes of facts in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from psycopg import sql
from sqlalchemy import Connection, text

from scicore.errors import DatabaseError
from scicore.execution.core import Execution
from scicore.execution.messages import (
    AttemptEnded,
    Cancel,
    Event,
    Fact,
    RunStarted,
    Start,
    Stop,
    Usage,
    VmJoined,
    WorkRequested,
)
from scicore.model.activation import Cause
from scicore.provenance.connection import Database, connect
from scicore.provenance.hold import Hold
from scicore.provenance.recorder import DatabaseRecorder
from scicore.provenance.store import StoredRun, load_run
from scicore.provenance.tables import metadata
from tests.acceptance.console import Console, eventually
from tests.acceptance.workflows import Step, write_workflow

TABLES = ("run", "vm", "activation", "attempt", "tuple", "used")
# Of a run, of when it was prepared, or of how often its master was replaced.
OWN = (
    *("run_id", "plan_id", "directory", "created_at", "launches", "batches", "started_at"),
    "recorded_at",
)


@pytest.fixture
def console(home: Path, tmp_path: Path) -> Console:
    return Console(home, tmp_path)


@pytest.fixture(scope="module")
def template(home: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a database with the schema, to be copied."""
    name = "schema_template"
    url = Console(home, tmp_path_factory.mktemp("template")).url
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    connect(url.replace("/scicumulus?", f"/{name}?")).engine.dispose()
    return name


@pytest.fixture
def database(console: Console, template: str) -> Iterator[Database]:
    """A new database with the schema, and nothing in it."""
    name, model = sql.Identifier("schema_test"), sql.Identifier(template)
    with psycopg.connect(console.url, autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(name, model))
        made = connect(console.url.replace("/scicumulus?", "/schema_test?"))
        console.extra["SCICUMULUS_DATABASE_URL"] = made.url
        yield made
        made.engine.dispose()
        server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))


def prepared_runs(console: Console, database: Database, count: int) -> list[StoredRun]:
    """The same run, ready to start, as often as wanted."""
    spec = write_workflow(
        console.directory / "wf",
        [Step("a"), Step("b", after="a"), Step("c", after="b", operator="REDUCE", operand="ID")],
        [("1",), ("2",), ("3",)],
        max_failure=2,
    )
    words = ("run", spec, "--fleet", "2xlocal", "--prepare", "--json")
    numbers = [said.document["run_id"] for said in console.together([words] * count)]
    with database.engine.connect() as connection:
        return [load_run(connection, number) for number in numbers]


def facts_of(run: StoredRun) -> list[Fact]:
    """What the recorder is told of a run in which a.2 fails for good and b.1 once."""
    execution = Execution(run.workflow, run.plan)
    clock = 1_700_000_000.0
    facts: list[Fact] = []
    ended: list[tuple[str, AttemptEnded]] = []
    events: list[Event] = [RunStarted(clock)]
    events += [VmJoined(clock, vm.id, f"host of {vm.id}") for vm in run.plan.fleet.vms]
    while events or ended:
        if not events:
            vm, attempt = ended.pop(0)
            events.append(WorkRequested(attempt.ended_at, vm, (attempt,)))
        clock += 1
        for output in execution.handle(events.pop(0)):
            if isinstance(output, Start):
                ended.append((output.vm, _end(output, clock)))
            elif not isinstance(output, Stop):
                assert not isinstance(output, Cancel)
                facts.append(output)
    return facts


def _end(order: Start, at: float) -> AttemptEnded:
    value = order.rows[0][0]
    fails = (order.activity, value) == ("a", "2")
    fails |= (order.activity, value, order.number) == ("b", "1", 1)
    return AttemptEnded(
        activation=order.activation,
        number=order.number,
        cause=Cause.EXIT_CODE if fails else Cause.FINISHED,
        started_at=at,
        ended_at=at + 0.5,
        exit_code=1 if fails else 0,
        command=f"{order.activity} {value}",
        workspace=order.workspace,
        stderr_tail="no luck" if fails else "",
        usage=Usage(cpu_s=0.25, peak_rss_bytes=1 << 40, read_bytes=7, written_bytes=8),
        rows=() if fails else ((value,),),
    )


def rows_of(connection: Connection, run: StoredRun) -> dict[str, list[dict[str, Any]]]:
    found = {}
    for table in TABLES:
        rows = connection.execute(
            text(f"SELECT * FROM {table} WHERE run_id = :run"), {"run": run.id}
        ).mappings()
        kept = [{name: value for name, value in row.items() if name not in OWN} for row in rows]
        found[table] = sorted(kept, key=repr)
    return found


def test_the_migrations_and_the_table_definitions_agree(database: Database) -> None:
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_connecting_again_changes_nothing(database: Database) -> None:
    version = text("SELECT version_num, xmin::text FROM alembic_version")
    with database.engine.connect() as connection:
        before = connection.execute(version).all()
    again = connect(database.url)
    with again.engine.connect() as connection:
        assert connection.execute(version).all() == before
    again.engine.dispose()


def test_a_schema_newer_than_the_program_is_refused(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(DatabaseError, match="has schema version 9999, this program knows") as told:
        connect(database.url)
    assert "newer SciCumulus-RL" in told.value.hint


def test_facts_recorded_at_once_or_one_by_one_give_the_same_rows(
    console: Console, database: Database
) -> None:
    at_once, one_by_one = prepared_runs(console, database, 2)
    facts = facts_of(at_once)
    assert facts == facts_of(one_by_one)
    recorder = DatabaseRecorder(database.engine, at_once, Hold(database.engine, at_once.id))
    recorder.record(facts)
    recorder.close()
    for fact in facts:
        recorder = DatabaseRecorder(
            database.engine, one_by_one, Hold(database.engine, one_by_one.id)
        )
        recorder.record([fact])
        recorder.close()
    with database.engine.connect() as connection:
        rows = rows_of(connection, at_once)
        assert rows_of(connection, one_by_one) == rows
    assert rows["run"][0]["state"] == "failed"
    states = {row["name"]: row["state"] for row in rows["activation"]}
    assert (states["a.2"], states["b.2"], states["b.1"]) == ("failed", "blocked", "finished")
    assert len(rows["attempt"]) == 3 + 1 + 2 + 1 + 2
    assert {row["peak_rss_bytes"] for row in rows["attempt"]} == {1 << 40}


def test_a_recorder_whose_database_goes_away_says_so_at_the_next_record(
    console: Console, database: Database
) -> None:
    (run,) = prepared_runs(console, database, 1)
    facts = facts_of(run)
    hold = Hold(database.engine, run.id, patience_s=0.5)
    recorder = DatabaseRecorder(database.engine, run, hold)
    with psycopg.connect(console.url, autocommit=True) as server:
        server.execute("DROP DATABASE schema_test WITH (FORCE)")
    recorder.record(facts)

    def refused() -> DatabaseError | None:
        try:
            recorder.record(())
        except DatabaseError as error:
            return error
        return None

    error = eventually(refused, "the recorder's complaint")
    assert error is not None
    assert "provenance cannot be recorded" in error.message
    with pytest.raises(DatabaseError):
        recorder.close()
