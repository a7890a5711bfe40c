"""Domain data by name: what scientists find in the schema that is called like their workflow."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from psycopg import sql
from sqlalchemy import Engine, text

from scicore.model.plan import Plan
from scicore.model.workflow import (
    Activity,
    Dataset,
    Field,
    FieldType,
    Operator,
    Relation,
    Row,
    Workflow,
)
from scicore.provenance.plans import save_plan
from scicore.provenance.relation_views import drop_all, schema_of
from scicore.provenance.store import prepare_run
from scicore.provenance.workflows import save_workflow
from tests.integration.known_runs import FLEET

FLOAT, STRING, FILE = FieldType.FLOAT, FieldType.STRING, FieldType.FILE


def workflow(tag: str, *fields: tuple[str, FieldType], rows: tuple[Row, ...] = ()) -> Workflow:
    """One activity that reads the relation `things` with these fields."""
    things = Relation("things", tuple(Field(*field) for field in fields))
    activity = Activity("look", Operator.MAP, "look", things, Relation("seen", ()))
    return Workflow(tag, (activity,), (Dataset(things, rows),), "/w", "/w/exp")


def store(engine: Engine, what: Workflow) -> int:
    """A prepared run with the workflow's tuples."""
    plan = Plan("fcfs", 0, FLEET, (), 1.0, 0.0, 1.0)
    with engine.begin() as connection:
        workflow_id = save_workflow(connection, what, "")
        plan_id = save_plan(connection, workflow_id, plan)
        return prepare_run(connection, workflow_id, plan_id, what, plan)[0]


def columns(engine: Engine, schema: str, view: str) -> dict[str, str]:
    with engine.connect() as connection:
        found = connection.execute(
            text(
                "SELECT column_name, data_type FROM information_schema.columns"
                " WHERE table_schema = :schema AND table_name = :view ORDER BY ordinal_position"
            ),
            {"schema": schema, "view": view},
        )
        return {row[0]: row[1] for row in found}


def rows(engine: Engine, query: str) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        found = connection.exec_driver_sql(query, execution_options={"no_parameters": True})
        return [tuple(row) for row in found]


def test_a_view_has_the_fields_typed_between_our_keys_and_those_of_old(engine: Engine) -> None:
    store(engine, workflow("plain", ("SIZE", FLOAT), ("Name", STRING), ("PLACE", FILE)))
    assert columns(engine, "plain", "things") == {
        "run_id": "integer",
        "tuple_id": "integer",
        "path": "text",
        "generated_by": "integer",
        "size": "double precision",
        "name": "text",
        "place": "text",
        "ewkfid": "integer",
        "ik": "integer",
        "ok": "integer",
    }


def test_a_view_shows_the_tuples_of_all_runs(engine: Engine) -> None:
    one, two = (
        store(engine, workflow("twice", ("SIZE", FLOAT), rows=((size,),)))
        for size in ("1.5", "2.5")
    )
    found = rows(engine, "SELECT run_id, size, ewkfid, ik, ok FROM twice.things ORDER BY run_id")
    assert found == [(one, 1.5, one, None, 1), (two, 2.5, two, None, 1)]


def test_ik_is_the_first_tuple_that_the_maker_used(known: Engine) -> None:
    assert rows(known, "SELECT best, generated_by, ik, ok FROM stars.catalog") == [
        (100.0, 21, 21, 23)
    ]
    found = rows(known, "SELECT ik, ok FROM stars.measured WHERE ewkfid = 2")
    assert found == [(1, 3)]


def test_a_field_keeps_its_name_and_our_column_makes_way(engine: Engine) -> None:
    fields = ("PATH", FILE), ("OK", STRING), ("ok_", STRING)
    store(engine, workflow("clash", *fields, rows=(("/p", "yes", "no"),)))
    found = rows(engine, "SELECT path, ok, ok_, path_, ok__ FROM clash.things")
    assert found == [("/p", "yes", "no", "1", 1)]


def test_a_float_that_postgresql_cannot_read_is_empty_and_harms_no_other(engine: Engine) -> None:
    values = [("",), ("n/a",), ("1_000",), ("1e-400",), ("1e3",)]
    store(engine, workflow("odd", ("SIZE", FLOAT), rows=tuple(values)))
    found = rows(engine, "SELECT size FROM odd.things ORDER BY tuple_id")
    assert found == [(None,), (None,), (None,), (None,), (1000.0,)]


def test_versions_of_a_workflow_share_a_view_with_the_fields_of_all(engine: Engine) -> None:
    store(engine, workflow("grown", ("SIZE", FLOAT), ("OLD", STRING), rows=(("1", "o"),)))
    store(engine, workflow("grown", ("size", FLOAT), ("NEW", STRING), rows=(("2", "n"),)))
    found = rows(engine, "SELECT size, old, new FROM grown.things ORDER BY run_id")
    assert found == [(1.0, "o", None), (2.0, None, "n")]


def test_a_field_that_changed_its_type_becomes_text(engine: Engine) -> None:
    store(engine, workflow("turned", ("SIZE", FLOAT), rows=(("1",),)))
    store(engine, workflow("turned", ("SIZE", STRING), rows=(("big",),)))
    found = rows(engine, "SELECT size FROM turned.things ORDER BY run_id")
    assert found == [("1",), ("big",)]


@pytest.mark.parametrize(
    "tag", ["with.dots-and dashes", "quote\"s and 'more'", "100% %s", "SELECT", "Ünïcode", "UPPER"]
)
def test_any_tag_names_a_schema(engine: Engine, tag: str) -> None:
    store(engine, workflow(tag, ("SIZE", FLOAT), rows=(("1",),)))
    view = sql.Identifier(tag, "things").as_string(None)
    assert rows(engine, f"SELECT size FROM {view}") == [(1.0,)]


@pytest.mark.parametrize("tag", ["public", "pg_stars", "information_schema", "taken"])
def test_a_name_that_is_not_ours_gets_a_prefix(engine: Engine, tag: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS taken")
    store(engine, workflow(tag, ("SIZE", FLOAT), rows=(("1",),)))
    assert rows(engine, f"SELECT size FROM wf_{tag}.things") == [(1.0,)]
    assert rows(engine, "SELECT count(*) FROM pg_views WHERE schemaname = 'taken'") == [(0,)]


def test_tags_too_long_for_postgresql_stay_apart(engine: Engine) -> None:
    tags = [f"{'x' * 80}{end}" for end in "ab"]
    for number, tag in enumerate(tags, start=1):
        store(engine, workflow(tag, ("SIZE", FLOAT), rows=((str(number),),)))
    with engine.connect() as connection:
        schemas = [schema_of(connection, tag) for tag in tags]
    assert all(name.startswith("wf_xxx") and len(name) == 63 for name in schemas)
    assert [rows(engine, f"SELECT size FROM {name}.things") for name in schemas] == [
        [(1.0,)],
        [(2.0,)],
    ]


def test_a_view_that_a_user_built_upon_keeps_its_columns_and_gets_new_runs(
    engine: Engine,
) -> None:
    store(engine, workflow("loved", ("SIZE", FLOAT), rows=(("1",),)))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE VIEW mine AS SELECT size FROM loved.things")
    store(engine, workflow("loved", ("SIZE", FLOAT), ("NEW", STRING), rows=(("2", "n"),)))
    assert "new" not in columns(engine, "loved", "things")
    assert rows(engine, "SELECT size FROM mine ORDER BY size") == [(1.0,), (2.0,)]


def test_a_change_that_no_view_shows_leaves_the_views_alone(engine: Engine) -> None:
    first = workflow("calm", ("SIZE", FLOAT))
    store(engine, first)
    oid = rows(engine, "SELECT 'calm.things'::regclass::oid")
    look = replace(first.activities[0], command="look twice")
    store(engine, replace(first, activities=(look,)))
    assert rows(engine, "SELECT count(*) FROM workflow WHERE tag = 'calm'") == [(2,)]
    assert rows(engine, "SELECT 'calm.things'::regclass::oid") == oid


def test_a_relation_without_fields_has_a_view_of_keys(engine: Engine) -> None:
    store(engine, workflow("bare", ("SIZE", FLOAT)))
    assert list(columns(engine, "bare", "seen")) == [
        *("run_id", "tuple_id", "path", "generated_by", "ewkfid", "ik", "ok")
    ]


def test_nothing_is_left_of_a_workflow_whose_transaction_failed(engine: Engine) -> None:
    with engine.connect() as connection:
        save_workflow(connection, workflow("never", ("SIZE", FLOAT)), "")
        connection.rollback()
    assert rows(engine, "SELECT count(*) FROM pg_namespace WHERE nspname = 'never'") == [(0,)]


def test_all_views_can_be_dropped_before_a_restore(engine: Engine) -> None:
    store(engine, workflow("one", ("SIZE", FLOAT)))
    store(engine, workflow("two", ("SIZE", FLOAT)))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA somebody")
        drop_all(connection)
    left = rows(
        engine, "SELECT nspname FROM pg_namespace WHERE nspname IN ('one', 'two', 'somebody')"
    )
    assert left == [("somebody",)]


def test_a_schema_of_ours_is_not_taken_over_by_another_tag(engine: Engine) -> None:
    store(engine, workflow("wf_pg_moons", ("SIZE", FLOAT), rows=(("1",),)))
    store(engine, workflow("pg_moons", ("SIZE", FLOAT), rows=(("2",),)))
    assert rows(engine, "SELECT size FROM wf_pg_moons.things") == [(1.0,)]
    with engine.connect() as connection:
        schema = schema_of(connection, "pg_moons")
    assert rows(engine, f"SELECT size FROM {schema}.things") == [(2.0,)]


def test_a_reader_that_never_ends_does_not_hold_up_a_new_version(engine: Engine) -> None:
    store(engine, workflow("read", ("SIZE", FLOAT), rows=(("1",),)))
    with engine.connect() as reader:
        reader.exec_driver_sql("SELECT * FROM read.things")
        store(engine, workflow("read", ("SIZE", FLOAT), ("NEW", STRING), rows=(("2", "n"),)))
    found = rows(engine, "SELECT size FROM read.things ORDER BY size")
    assert found == [(1.0,), (2.0,)]
