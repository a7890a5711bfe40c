"""Domain data by name: a view per relation, in a schema named after the workflow.

The views are derived from `workflow`, `relation` and `field`; they hold nothing of their own and
cover every stored version of the workflow. docs/schema.md describes their columns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from psycopg import errors, sql
from sqlalchemy import Connection, select, text
from sqlalchemy.exc import DBAPIError

from scicore.model.workflow import FieldType
from scicore.provenance import tables

_LONGEST = 63  # bytes in a PostgreSQL name
_MARK = "SciCumulus-RL: relations of the workflow "  # begins the comment of a schema of ours
_IN_THE_WAY = (errors.DependentObjectsStillExist, errors.LockNotAvailable)

_RUN, _TUPLE = sql.SQL("tuple.run_id"), sql.SQL("tuple.tuple_id")
_FIRST = (
    ("run_id", _RUN),
    ("tuple_id", _TUPLE),
    ("path", sql.SQL("tuple.path")),
    ("generated_by", sql.SQL("tuple.generated_by")),
)
_LAST = (  # as SciCumulus called them
    ("ewkfid", _RUN),
    (
        "ik",
        sql.SQL(
            "(SELECT min(used.tuple_id) FROM used WHERE used.run_id = tuple.run_id"
            " AND used.activation_id = tuple.generated_by)"
        ),
    ),
    ("ok", _TUPLE),
)


@dataclass(frozen=True, slots=True)
class _Column:
    name: str  # lower case
    fields: tuple[str, ...]  # as the versions of the workflow spell it
    is_float: bool  # in all of them


def refresh(connection: Connection, tag: str) -> None:
    """Make the views of a workflow agree with its stored versions."""
    schema = _ensure_schema(connection, tag)
    for relation, columns in _relations(connection, tag).items():
        view = sql.Identifier(schema, identifier(relation))
        query = _query(tag, relation, columns)
        comment = f"Tuples of relation {relation}, of all runs ({_digest(_text(query))})"
        if _comment(connection, _text(view), "pg_class", "regclass") != comment:
            _replace(connection, view, query, comment)


def refresh_all(connection: Connection) -> None:
    tags = connection.scalars(select(tables.workflow.c.tag).distinct()).all()
    for tag in sorted(tags):
        refresh(connection, tag)


def drop_all(connection: Connection) -> None:
    """Remove every schema of ours, with the views that users built upon it: for a restore."""
    ours = connection.execute(
        text(
            "SELECT nspname FROM pg_namespace"
            " WHERE starts_with(obj_description(oid, 'pg_namespace'), :mark)"
        ),
        {"mark": _MARK},
    )
    for (schema,) in ours.all():
        _execute(connection, sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))


def schema_of(connection: Connection, tag: str) -> str:
    """The schema that holds, or would hold, the views of this workflow.

    It is called like the workflow, unless that name is PostgreSQL's, too long, or taken.
    """
    for name in _candidates(tag):
        comment = _comment(connection, _text(sql.Identifier(name)), "pg_namespace", "regnamespace")
        if comment == _MARK + tag:
            return name
        reserved = name in ("", "public", "information_schema") or name.startswith("pg_")
        if not reserved and identifier(name) == name and not _exists(connection, name):
            return name
    raise AssertionError(f"all names for the schema of {tag!r} are taken")


def identifier(name: str) -> str:
    """The name, or if it is too long for PostgreSQL its beginning and a digest."""
    encoded = name.encode()
    if len(encoded) <= _LONGEST:
        return name
    return f"{encoded[: _LONGEST - 9].decode(errors='ignore')}_{_digest(name)}"


def _candidates(tag: str) -> tuple[str, ...]:
    return (tag, identifier(f"wf_{tag}"), f"wf_{_digest(tag)}")


def _ensure_schema(connection: Connection, tag: str) -> str:
    name = schema_of(connection, tag)
    if not _exists(connection, name):
        schema = sql.Identifier(name)
        _execute(connection, sql.SQL("CREATE SCHEMA {}").format(schema))
        comment = sql.Literal(_MARK + tag)
        _execute(connection, sql.SQL("COMMENT ON SCHEMA {} IS {}").format(schema, comment))
    return name


def _exists(connection: Connection, schema: str) -> bool:
    known = text("SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = :schema)")
    return bool(connection.scalar(known, {"schema": schema}))


def _comment(connection: Connection, quoted: str, catalog: str, kind: str) -> str | None:
    """The comment on a schema or view; None if there is none, or no such thing."""
    asked = text(f"SELECT obj_description(to_{kind}(:name), '{catalog}')")
    comment: str | None = connection.scalar(asked, {"name": quoted})
    return comment


def _relations(connection: Connection, tag: str) -> dict[str, list[_Column]]:
    """The relations of all versions, each with the union of its fields, in order of appearance."""
    rows = connection.execute(
        text(
            """
            SELECT relation.name, field.name, field.type
            FROM workflow
            JOIN relation USING (workflow_id)
            LEFT JOIN field USING (relation_id)
            WHERE workflow.tag = :tag
            ORDER BY relation.relation_id DESC, field.position
            """
        ),
        {"tag": tag},
    )
    found: dict[str, dict[str, _Column]] = {}
    for relation, field, type_ in rows:
        columns = found.setdefault(relation, {})
        if field is not None:
            name = identifier(field.lower())
            known = columns.get(name, _Column(name, (), is_float=True))
            spelled = known.fields if field in known.fields else (*known.fields, field)
            columns[name] = _Column(name, spelled, known.is_float and type_ == FieldType.FLOAT)
    return {relation: list(columns.values()) for relation, columns in found.items()}


def _query(tag: str, relation: str, columns: Sequence[_Column]) -> sql.Composed:
    taken = {column.name for column in columns}
    parts = [
        *_system_columns(_FIRST, taken),
        *(
            sql.SQL("{} AS {}").format(_value(column), sql.Identifier(column.name))
            for column in columns
        ),
        *_system_columns(_LAST, taken),
    ]
    return sql.SQL(
        "SELECT {} FROM tuple WHERE relation_id IN (SELECT relation_id FROM relation"
        " JOIN workflow USING (workflow_id) WHERE workflow.tag = {} AND relation.name = {})"
    ).format(sql.SQL(", ").join(parts), sql.Literal(tag), sql.Literal(relation))


def _system_columns(
    columns: Iterable[tuple[str, sql.SQL]], taken: set[str]
) -> Iterator[sql.Composed]:
    """A field keeps its name; ours makes way by an underscore."""
    for name, expression in columns:
        while name in taken:
            name += "_"
        yield sql.SQL("{} AS {}").format(expression, sql.Identifier(name))


def _value(column: _Column) -> sql.Composed:
    """The field as text, or as a number where it is one."""
    spellings = [
        sql.SQL("tuple.values ->> {}").format(sql.Literal(field)) for field in column.fields
    ]
    value = sql.SQL("coalesce({})").format(sql.SQL(", ").join(spellings))
    if not column.is_float:
        return value
    return sql.SQL(
        "CASE WHEN pg_input_is_valid({0}, 'double precision') THEN ({0})::double precision END"
    ).format(value)


def _replace(
    connection: Connection, view: sql.Identifier, query: sql.Composed, comment: str
) -> None:
    """Unless somebody's own view needs the old one, or reads it for ever: then it stays."""
    try:
        with connection.begin_nested():
            _execute(connection, sql.SQL("SET LOCAL lock_timeout = '1s'"))
            _execute(connection, sql.SQL("DROP VIEW IF EXISTS {}").format(view))
            _execute(connection, sql.SQL("SET LOCAL lock_timeout = DEFAULT"))
            _execute(connection, sql.SQL("CREATE VIEW {} AS {}").format(view, query))
            about = sql.SQL("COMMENT ON VIEW {} IS {}").format(view, sql.Literal(comment))
            _execute(connection, about)
    except DBAPIError as error:
        if not isinstance(error.orig, _IN_THE_WAY):
            raise


def _execute(connection: Connection, statement: sql.Composable) -> None:
    as_it_is = {"no_parameters": True}  # a percent sign in a name is no placeholder
    connection.exec_driver_sql(_text(statement), execution_options=as_it_is)


def _text(statement: sql.Composable) -> str:
    return statement.as_string(None)


def _digest(words: str) -> str:
    return hashlib.blake2b(words.encode(), digest_size=4).hexdigest()
