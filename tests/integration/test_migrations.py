"""A database of an older version is brought up to date with all that is in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, text

from scicore.errors import DatabaseError
from scicore.provenance.connection import connect, sql_directory
from scicore.provenance.queries import named_query, run_query
from scicore.provenance.store import load_run
from tests.integration.conftest import NewDatabase

IMAGES = {"name": "images", "fields": [{"name": "ID", "type": "float"}]}
SIZES = {"name": "sizes", "fields": [{"name": "ID", "type": "float"}]}
DEFINITION: dict[str, Any] = {  # as version 0001 wrote it
    "tag": "old",
    "activities": [
        {
            "tag": "measure",
            "operator": "MAP",
            "command": "measure %=ID%",
            "input": IMAGES,
            "output": SIZES,
            "producer": None,
            "operand": [],
            "extractor": "",
            "description": "",
        }
    ],
    "datasets": [{"relation": IMAGES, "rows": []}],
    "directory": "/old",
    "experiment_directory": "/old/exp",
    "max_attempts": 2,
    "algorithm": "",
    "execution_tag": "old-1",
    "description": "",
}
ROWS = """
INSERT INTO workflow (tag, description, digest, source, definition)
VALUES ('old', '', 'abc', '<SciCumulus/>', :definition);
INSERT INTO relation (workflow_id, name) VALUES (1, 'images'), (1, 'sizes');
INSERT INTO field VALUES (1, 1, 'ID', 'float'), (2, 1, 'ID', 'float');
INSERT INTO activity (workflow_id, position, tag, operator, command, extractor, operand,
                      input_relation_id, output_relation_id)
VALUES (1, 1, 'measure', 'MAP', 'measure %=ID%', '', '{}', 1, 2);
INSERT INTO plan (workflow_id, algorithm, parameters, seed, fleet, fleet_vms, makespan_s, cost_usd,
                  lower_bound_s, planning_s)
VALUES (1, 'heft', '{}', 0, '1xlocal', '[]', 2, 0, 2, 0);
INSERT INTO assignment VALUES (1, 0, 'measure.1', 'measure', 'local-1', 0, 2);
INSERT INTO run (workflow_id, plan_id, state, execution_tag, directory, user_name, host, version,
                 started_at, ended_at)
VALUES (1, 1, 'finished', 'old-1', '/old/exp/runs/1', 'ada', 'lab', '0.1', '2026-01-01Z',
        '2026-01-01 00:00:09Z');
INSERT INTO vm VALUES (1, 'local-1', 'local', 1, 0, 'joined', 'lab', '2026-01-01Z', NULL);
INSERT INTO tuple VALUES (1, 1, 1, '1', '{"ID": "7"}', NULL), (1, 2, 2, '1', '{"ID": "70"}', 1);
INSERT INTO activation
VALUES (1, 1, 1, 'measure.1', 'k', 'finished', 'local-1', true, NULL, '2026-01-01Z',
        '2026-01-01 00:00:08Z');
INSERT INTO used VALUES (1, 1, 1);
INSERT INTO attempt (run_id, activation_id, number, vm, started_at, ended_at, cause, exit_code)
VALUES (1, 1, 1, 'local-1', '2026-01-01Z', '2026-01-01 00:00:03Z', 'exit code', 1),
       (1, 1, 2, 'local-1', '2026-01-01 00:00:04Z', '2026-01-01 00:00:08Z', 'finished', 0);
"""


@pytest.fixture(scope="module")
def old_url(new_database: NewDatabase) -> str:
    """A database of version 0001 with one run in it."""
    url = new_database()
    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(url))
    config = Config()
    config.set_main_option("script_location", str(sql_directory() / "migrations"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        for statement in filter(str.strip, ROWS.split(";\n")):
            values = {"definition": json.dumps(DEFINITION)}
            named = values if ":definition" in statement else {}
            literal = statement.replace(":00:", r"\:00\:")
            connection.execute(text(literal), named)
    engine.dispose()
    return url


@pytest.fixture(scope="module")
def migrated(old_url: str) -> Iterator[Engine]:
    engine = connect(old_url).engine
    yield engine
    engine.dispose()


def rows(engine: Engine, sql: str) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(sql))]


def test_what_an_older_version_wrote_answers_the_questions_of_today(migrated: Engine) -> None:
    def ask(name: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in run_query(migrated, named_query(name).sql, {"run": 1}).rows]

    assert ask("progress") == [("measure", 1, 0, 0, 1, 0, 0)]
    assert ask("times") == [("measure", 1, 4.0, 4.0, 4.0, 4.0, None)]
    assert ask("attempts_retried") == [
        ("measure.1", "finished", 2, "exit code, finished", "local-1, local-1", 3.0)
    ]
    assert ask("outputs") == [(2, "sizes", {"ID": "70"}, "measure.1")]


def test_an_old_workflow_gets_the_defaults_of_what_it_could_not_say(migrated: Engine) -> None:
    columns = "alias, template, cpus, memory_mb, runtime_s, timeout_s, environment"
    assert rows(migrated, f"SELECT {columns} FROM activity") == [("", "", "1", "0", "", 0.0, {})]
    assert rows(migrated, "SELECT DISTINCT decimal_places FROM field") == [(None,)]
    assert rows(migrated, "SELECT count(*) FROM activity_reads") == [(0,)]


def test_an_old_run_still_loads(migrated: Engine) -> None:
    with migrated.connect() as connection:
        run = load_run(connection, 1)
    assert run.workflow.activities[0].command == "measure %=ID%"
    assert run.workflow.datasets[0].rows == (("7",),)


def test_an_old_workflow_gets_its_views(migrated: Engine) -> None:
    found = rows(migrated, "SELECT run_id, tuple_id, id, ik, ok FROM old.sizes")
    assert found == [(1, 2, 70.0, 1, 2)]
    assert rows(migrated, "SELECT tag, status FROM eactivity") == [("measure", "FINISHED")]


def test_migrating_again_changes_nothing(migrated: Engine, old_url: str) -> None:
    again = connect(old_url).engine
    assert rows(again, "SELECT attempts FROM activation") == [(2,)]
    again.dispose()


def test_a_database_of_a_newer_version_is_refused(new_database: NewDatabase, schema: str) -> None:
    url = new_database(schema)
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(DatabaseError, match="schema version 9999, this program knows up to"):
        connect(url)
