"""A run, read from the provenance database in one transaction. The only file here with SQL.

Large tables are streamed from a cursor on the server, so that what a reader does not keep is
never in memory; the transaction sees the database as it was when it began, and cannot write.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Connection, Engine, Select, func, select, text

from scicore.exports.redaction import clean, clean_specification, clean_variable
from scicore.exports.snapshot import (
    ActivationRow,
    AssignmentRow,
    AttemptRow,
    FileRow,
    Head,
    PlanRow,
    RunRow,
    Snapshot,
    SteeringRow,
    TupleRow,
    UsedRow,
    VmRow,
)
from scicore.model.cloud import Fleet
from scicore.model.workflow import Activity, Workflow
from scicore.provenance import tables
from scicore.provenance.reader import resolve_run

BATCH = 5000  # rows fetched at once

_Row = TypeVar("_Row")


@contextmanager
def open_run(engine: Engine, reference: str) -> Iterator[RunSource]:
    """The run that the user means (a number, or `last`), as it is at this moment."""
    with engine.connect() as connection:
        connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
        yield RunSource(connection, resolve_run(connection, reference))


class RunSource:
    """The run's rows; each property reads its table anew. Valid inside `open_run` only."""

    def __init__(self, connection: Connection, run_id: int) -> None:
        self._connection = connection
        self._run_id = run_id
        self.head = _head(connection, run_id)

    @property
    def assignments(self) -> Iterator[AssignmentRow]:
        table = tables.assignment
        found = select(*_columns(AssignmentRow, table.c)).order_by(table.c.position)
        return self._stream(AssignmentRow, found.where(table.c.plan_id == self.head.plan.plan_id))

    @property
    def activations(self) -> Iterator[ActivationRow]:
        table, activity = tables.activation, tables.activity
        found = (
            select(*_columns(ActivationRow, table.c, activity=activity.c.tag))
            .join(activity, activity.c.activity_id == table.c.activity_id)
            .where(table.c.run_id == self._run_id)
            .order_by(table.c.activation_id)
        )
        return self._stream(ActivationRow, found)

    @property
    def attempts(self) -> Iterator[AttemptRow]:
        table = tables.attempt
        found = (
            select(*_columns(AttemptRow, table.c))
            .where(table.c.run_id == self._run_id)
            .order_by(table.c.activation_id, table.c.number)
        )
        for row in self._stream(AttemptRow, found):
            yield replace(row, command=_cleaned(row.command), stderr_tail=_cleaned(row.stderr_tail))

    @property
    def tuples(self) -> Iterator[TupleRow]:
        return self._ordered(self._tuples())

    def tuples_of(self, relation: str) -> Iterator[TupleRow]:
        return self._ordered(self._tuples().where(tables.relation.c.name == relation))

    def _ordered(self, statement: Select[Any]) -> Iterator[TupleRow]:
        """With the values in the order of their relation's fields, which JSON does not keep."""
        names = {each.name: each.field_names for each in self.head.workflow.relations}
        for row in self._stream(TupleRow, statement):
            known = {name: row.values[name] for name in names[row.relation] if name in row.values}
            yield replace(row, values=known)

    def _tuples(self) -> Select[Any]:
        table, relation = tables.tuple_, tables.relation
        return (
            select(*_columns(TupleRow, table.c, relation=relation.c.name))
            .join(relation, relation.c.relation_id == table.c.relation_id)
            .where(table.c.run_id == self._run_id)
            .order_by(table.c.tuple_id)
        )

    @property
    def used(self) -> Iterator[UsedRow]:
        table = tables.used
        found = (
            select(*_columns(UsedRow, table.c))
            .where(table.c.run_id == self._run_id)
            .order_by(table.c.activation_id, table.c.tuple_id)
        )
        return self._stream(UsedRow, found)

    @property
    def files(self) -> Iterator[FileRow]:
        table = tables.file
        found = (
            select(*_columns(FileRow, table.c))
            .where(table.c.run_id == self._run_id)
            .order_by(table.c.tuple_id, table.c.field)
        )
        return self._stream(FileRow, found)

    def snapshot(self) -> Snapshot:
        return Snapshot(
            head=self.head,
            assignments=tuple(self.assignments),
            activations=tuple(self.activations),
            attempts=tuple(self.attempts),
            tuples=tuple(self.tuples),
            used=tuple(self.used),
            files=tuple(self.files),
        )

    def _stream(self, kind: type[_Row], statement: Select[Any]) -> Iterator[_Row]:
        found = self._connection.execute(statement, execution_options={"yield_per": BATCH})
        return (kind(*row) for batch in found.partitions() for row in batch)


def _columns(kind: type[Any], known: Any, **others: ColumnElement[Any]) -> list[Any]:
    """The columns that fill a row's fields; a few come from another table."""
    return [
        others[field.name] if field.name in others else known[field.name] for field in fields(kind)
    ]


def _head(connection: Connection, run_id: int) -> Head:
    run, workflow, plan, vm = tables.run, tables.workflow, tables.plan, tables.vm
    run_columns = _columns(
        RunRow, run.c, workflow=workflow.c.tag, workflow_digest=workflow.c.digest
    )
    joined = run.join(workflow, workflow.c.workflow_id == run.c.workflow_id)
    [found] = connection.execute(
        select(func.now(), workflow.c.definition, workflow.c.source, *run_columns)
        .select_from(joined)
        .where(run.c.run_id == run_id)
    ).all()
    taken_at, definition, source, *run_values = found
    run_row = RunRow(*run_values)
    [planned] = connection.execute(
        select(plan.c.fleet_vms, *_columns(PlanRow, plan.c)).where(
            plan.c.plan_id == run_row.plan_id
        )
    ).all()
    fleet_vms, *plan_values = planned
    plan_row = PlanRow(*plan_values)
    vms = connection.execute(
        select(*_columns(VmRow, vm.c)).where(vm.c.run_id == run_id).order_by(vm.c.vm)
    )
    return Head(
        taken_at=taken_at,
        run=run_row,
        workflow=_clean_workflow(msgspec.convert(definition, Workflow)),
        source=clean_specification(source),
        plan=replace(plan_row, parameters=json.dumps(plan_row.parameters, sort_keys=True)),
        plan_fleet=msgspec.convert({"vms": fleet_vms, "text": plan_row.fleet}, Fleet),
        vms=tuple(VmRow(*row) for row in vms),
        steering=_steering(connection, run_id),
    )


def _steering(connection: Connection, run_id: int) -> tuple[SteeringRow, ...]:
    table = tables.steering
    rows = connection.execute(
        select(*_columns(SteeringRow, table.c))
        .where(table.c.run_id == run_id)
        .order_by(table.c.number)
    )
    return tuple(
        replace(row, conditions=json.dumps(row.conditions, ensure_ascii=False))
        for row in (SteeringRow(*values) for values in rows)
    )


def _clean_workflow(workflow: Workflow) -> Workflow:
    return replace(workflow, activities=tuple(map(_clean_activity, workflow.activities)))


def _clean_activity(activity: Activity) -> Activity:
    return replace(
        activity,
        command=clean(activity.command),
        extractor=clean(activity.extractor),
        environment=tuple(
            (name, clean_variable(name, value)) for name, value in activity.environment
        ),
    )


def _cleaned(text_: str | None) -> str | None:
    return None if text_ is None else clean(text_)
