"""A run as typed tables: the shape that CSV and Parquet share. Streams; keeps nothing."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, get_args, get_type_hints

from scicore.exports.formats import Written
from scicore.exports.snapshot import (
    ActivationRow,
    ActivityRow,
    AssignmentRow,
    AttemptRow,
    FieldRow,
    FileRow,
    Head,
    PlanRow,
    Records,
    RunRow,
    SteeringRow,
    TupleRow,
    UsedRow,
    VmRow,
)
from scicore.model.workflow import FieldType, Relation

Cell = str | int | float | bool | datetime | None
TUPLE_COLUMNS = ("tuple_id", "path", "generated_by")


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: type  # str, int, float, bool or datetime; any cell may also be None


@dataclass(frozen=True, slots=True)
class Table:
    name: str  # also the file's, without its extension; may hold a directory
    columns: tuple[Column, ...]
    rows: Iterable[tuple[Cell, ...]]


def write_tables(
    records: Records, target: Path, ending: str, write: Callable[[Table, Path], int]
) -> Written:
    """A directory with one file per table; `write` gives the number of rows."""
    target.mkdir()
    counts: dict[str, int] = {}
    for table in tables(records):
        counts[table.name] = write(table, target / f"{table.name}.{ending}")
    return Written(files=tuple(f"{name}.{ending}" for name in counts), records=counts)


def tables(records: Records) -> Iterator[Table]:
    """Every table of the run, small ones first, then one per relation."""
    head = records.head
    yield _table("run", RunRow, [head.run])
    yield _table("activity", ActivityRow, _activities(head))
    yield _table("field", FieldRow, _fields(head))
    yield _table("plan", PlanRow, [head.plan])
    yield _table("assignment", AssignmentRow, records.assignments)
    yield _table("vm", VmRow, head.vms)
    yield _table("steering", SteeringRow, head.steering)
    yield _table("activation", ActivationRow, records.activations)
    yield _table("attempt", AttemptRow, records.attempts)
    yield _table("used", UsedRow, records.used)
    yield _table("file", FileRow, records.files)
    for relation in head.workflow.relations:
        yield relation_table(relation, records.tuples_of(relation.name))


def relation_table(relation: Relation, rows: Iterable[TupleRow]) -> Table:
    """A relation's tuples with one column per field, as its view in the database has."""
    names = [field.name for field in relation.fields]
    numbers = [field.type is FieldType.FLOAT for field in relation.fields]
    columns = [
        Column("tuple_id", int),
        Column("path", str),
        Column("generated_by", int),
        *(
            Column(_free(name, names), float if number else str)
            for name, number in zip(names, numbers, strict=True)
        ),
    ]

    def cells(row: TupleRow) -> tuple[Cell, ...]:
        values: list[Cell] = [row.tuple_id, row.path, row.generated_by]
        for name, number in zip(names, numbers, strict=True):
            value = row.values.get(name)
            values.append(_number(value) if number else value)
        return tuple(values)

    return Table(f"relation/{relation.name}", tuple(columns), map(cells, rows))


def _free(name: str, names: list[str]) -> str:
    """A field called like one of our own columns gets underscores until nobody bears the name."""
    taken = {*TUPLE_COLUMNS, *(each.casefold() for each in names if each != name)}
    while name.casefold() in taken:
        name += "_"
    return name


def _number(text: str | None) -> float | None:
    """Floats were checked when they were recorded; what is none nevertheless is unknown."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _table(name: str, kind: type[Any], rows: Iterable[object]) -> Table:
    names = [field.name for field in fields(kind)]
    hints = get_type_hints(kind)
    columns = tuple(Column(name, _bare(hints[name])) for name in names)
    return Table(name, columns, (tuple(getattr(row, name) for name in names) for row in rows))


def _bare(hint: Any) -> type:
    """`int | None` → int: every column may be empty."""
    if isinstance(hint, types.UnionType):
        [hint] = [each for each in get_args(hint) if each is not types.NoneType]
    kind: type = hint
    return kind


def _activities(head: Head) -> Iterator[ActivityRow]:
    for position, activity in enumerate(head.workflow.activities, start=1):
        yield ActivityRow(
            position=position,
            activity=activity.tag,
            operator=activity.operator,
            command=activity.command,
            extractor=activity.extractor,
            operand=",".join(activity.operand),
            inputs=",".join(source.relation.name for source in activity.sources),
            output=activity.output.name,
            template=activity.template,
            cpus=activity.cpus,
            memory_mb=activity.memory_mb,
            runtime_s=activity.runtime_s,
            timeout_s=activity.timeout_s,
            description=activity.description,
        )


def _fields(head: Head) -> Iterator[FieldRow]:
    for relation in head.workflow.relations:
        for position, field in enumerate(relation.fields, start=1):
            yield FieldRow(relation.name, position, field.name, field.type, field.decimal_places)
