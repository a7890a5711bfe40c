"""SQL of a workflow, run where it can read the run's own relations and nothing else.

Each query gets a role of its own, born without any privilege, that may select from views of this
run's relations; it logs in with a one-time password, so that no SET ROLE leads back to ours. The
statement is prepared, which lets only a single one through, in a read-only transaction.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from scicore.model.workflow import Activity, FieldType, Relation

_LIFETIME = "1 hour"  # the role's password dies even if we do


@dataclass(frozen=True, slots=True)
class Place:
    """Where a query runs."""

    url: str  # of the provenance database
    run_id: int
    workflow_tag: str
    relation_ids: Mapping[str, int]


def run_sql(
    place: Place, activity: Activity, connected: list[psycopg.Connection[tuple[object, ...]]]
) -> tuple[list[str], list[tuple[object, ...]]]:
    """Columns and rows of the activity's query. `connected` receives the connection, so that
    somebody else can cancel it meanwhile."""
    statement = prepared_text(activity.command, place)
    with (
        psycopg.connect(place.url, autocommit=True) as owner,
        _sandbox(owner, place, activity) as url,
        psycopg.connect(url) as reader,
    ):
        connected.append(reader)
        reader.read_only = True
        if activity.timeout_s:
            milliseconds = str(int(activity.timeout_s * 1000))
            reader.execute("SELECT set_config('statement_timeout', %s, true)", [milliseconds])
        cursor = reader.execute(statement, prepare=True)
        columns = [column.name for column in cursor.description or ()]
        return columns, cursor.fetchall()


def sweep(url: str, run_id: int) -> None:
    """End the queries of a master that was killed, and remove the roles that it left."""
    with psycopg.connect(url, autocommit=True) as owner:
        left = "SELECT rolname FROM pg_roles WHERE starts_with(rolname, %s)"
        for (name,) in owner.execute(left, [_prefix(run_id)]).fetchall():
            owner.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = %s",
                [name],
            )
            role = schema = sql.Identifier(name)
            owner.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(schema))
            owner.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(role))


def _prefix(run_id: int) -> str:
    return f"scicumulus_query_{run_id}_"


def prepared_text(command: str, place: Place) -> str:
    """The tags of the original system, and its habit of naming relations by their schema."""
    text = command.strip().rstrip(";")
    text = re.sub("%=EWKFID%", str(place.run_id), text, flags=re.IGNORECASE)
    text = re.sub("%=KEY%", "ik", text, flags=re.IGNORECASE)
    tag = re.escape(place.workflow_tag)
    return re.sub(rf'(?:"{tag}"|(?<![\w".]){tag})\.(?=["\w])', "", text)


@contextmanager
def _sandbox(
    owner: psycopg.Connection[tuple[object, ...]], place: Place, activity: Activity
) -> Iterator[str]:
    """A URL that leads to the run's relations, for as long as it is needed."""
    name = f"{_prefix(place.run_id)}{secrets.token_hex(6)}"
    role = schema = sql.Identifier(name)
    password = secrets.token_urlsafe(24)
    verifier = owner.pgconn.encrypt_password(
        password.encode(), name.encode(), b"scram-sha-256"
    ).decode()
    try:
        with owner.transaction():
            owner.execute(
                sql.SQL(
                    "CREATE ROLE {} LOGIN NOINHERIT CONNECTION LIMIT 1 PASSWORD {} VALID UNTIL {}"
                ).format(role, sql.Literal(verifier), sql.Literal(_expiry(owner)))
            )
            owner.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
            for view, relation in _views(activity):
                owner.execute(_view(schema, view, relation, place))
            owner.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, role))
            owner.execute(
                sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA {} TO {}").format(schema, role)
            )
        options = f"-c search_path={name} -c default_transaction_read_only=on"
        yield make_conninfo(place.url, user=name, password=password, options=options)
    finally:
        with owner.transaction():
            owner.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(schema))
            owner.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(role))


def _expiry(owner: psycopg.Connection[tuple[object, ...]]) -> str:
    row = owner.execute("SELECT (now() + %s::interval)::text", [_LIFETIME]).fetchone()
    assert row is not None
    return str(row[0])


def _views(activity: Activity) -> Iterator[tuple[str, Relation]]:
    """Every relation under its own name and under the activity's name for it."""
    seen: set[str] = set()
    for source in activity.sources:
        for name in (source.relation.name, source.alias):
            if name and name.lower() not in seen:
                seen.add(name.lower())
                yield name.lower(), source.relation


def _view(schema: sql.Identifier, name: str, relation: Relation, place: Place) -> sql.Composed:
    fields = {field.name.lower() for field in relation.fields}
    keys = {
        "ewkfid": "run_id",
        "run_id": "run_id",
        "tuple_id": "tuple_id",
        "path": "path",
        "ok": "tuple_id",
        "ik": "(SELECT min(used.tuple_id) FROM used WHERE used.run_id = tuple.run_id "
        "AND used.activation_id = tuple.generated_by)",
    }
    columns: Sequence[sql.Composable] = [
        *(
            sql.SQL("{} AS {}").format(
                _typed(field.name, field.type), sql.Identifier(field.name.lower())
            )
            for field in relation.fields
        ),
        *(
            sql.SQL("{} AS {}").format(sql.SQL(expression), sql.Identifier(key))
            for key, expression in keys.items()
            if key not in fields
        ),
    ]
    return sql.SQL(
        "CREATE VIEW {}.{} WITH (security_barrier) AS SELECT {} FROM tuple "
        "WHERE run_id = {} AND relation_id = {}"
    ).format(
        schema,
        sql.Identifier(name),
        sql.SQL(", ").join(columns),
        sql.Literal(place.run_id),
        sql.Literal(place.relation_ids[relation.name]),
    )


def _typed(name: str, type_: FieldType) -> sql.Composed:
    value = sql.SQL("(values->>{})").format(sql.Literal(name))
    if type_ is not FieldType.FLOAT:
        return value
    return sql.SQL(
        "CASE WHEN pg_input_is_valid({0}, 'double precision') THEN {0}::double precision END"
    ).format(value)
