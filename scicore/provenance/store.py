"""Runs, written before they start and read when they do."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Text,
    cast,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert as insert_or_leave

import scicore
from scicore.errors import UsageError
from scicore.execution.messages import FileRecorded
from scicore.model.activation import Dispatch, RunState
from scicore.model.cloud import Vm
from scicore.model.plan import Plan
from scicore.model.workflow import Dataset, Workflow
from scicore.provenance import tables
from scicore.provenance.bulk import Lines, copied, copy_lines, trust
from scicore.provenance.plans import load_plan
from scicore.provenance.sheet import copy_rows

_values = msgspec.json.Decoder(dict[str, str]).decode
_GOING_ON = (RunState.PREPARED, RunState.RUNNING, RunState.PAUSED)
_OPEN_AGAIN = (RunState.PAUSED, RunState.STOPPED, RunState.INTERRUPTED)


@dataclass(frozen=True, slots=True)
class StoredRun:
    id: int
    workflow_id: int
    workflow: Workflow  # with its datasets' rows, as they were when the run was prepared
    plan_id: int
    plan: Plan
    state: RunState
    directory: str
    relation_ids: Mapping[str, int]  # by name
    activity_ids: Mapping[str, int]  # by tag
    dispatch: Dispatch = Dispatch.ADAPTIVE
    sizing: str = ""  # empty = off


def prepare_run(
    connection: Connection,
    workflow_id: int,
    plan_id: int,
    workflow: Workflow,
    plan: Plan,
    files: Sequence[FileRecorded] = (),
    dispatch: Dispatch = Dispatch.ADAPTIVE,
    sizing: str = "",
    programs: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    """Everything that the master needs to know, so that a run id is all that it is given.

    Returns that id, and the directory of the run.

    `files` are those that the datasets name; their tuples are numbered 1, 2, … over all datasets.
    `programs` are the digests of the activities' programs, by tag.
    """
    run_id = connection.execute(
        insert(tables.run)
        .values(
            workflow_id=workflow_id,
            plan_id=plan_id,
            state=RunState.PREPARED,
            execution_tag=workflow.execution_tag,
            directory="",
            user_name=getpass.getuser(),
            host=socket.gethostname(),
            version=scicore.__version__,
            dispatch=dispatch,
            sizing=sizing,
        )
        .returning(tables.run.c.run_id)
    ).scalar_one()
    directory = _unused_directory(Path(workflow.experiment_directory, "runs"), run_id)
    connection.execute(
        update(tables.run).where(tables.run.c.run_id == run_id).values(directory=str(directory))
    )
    add_vms(connection, run_id, plan.fleet.vms)
    _save_inputs(connection, run_id, workflow_id, workflow)
    copy_rows(connection, tables.file, (file_row(run_id, file) for file in files))
    activity_ids = activity_ids_of(connection, workflow_id) if programs else {}
    copy_rows(
        connection,
        tables.program,
        (
            {"run_id": run_id, "activity_id": activity_ids[tag], "digest": digest}
            for tag, digest in (programs or {}).items()
        ),
    )
    return int(run_id), str(directory)


def add_vms(connection: Connection, run_id: int, vms: Sequence[Vm]) -> None:
    """VMs that the run has, or will have; those that it knows already stay as they are."""
    rows = [
        {
            "run_id": run_id,
            "vm": vm.id,
            "vm_type": vm.type.name,
            "slots": vm.type.slots,
            "price_usd_per_hour": vm.type.price_usd_per_hour,
            "state": "joining",
            "host": "",
        }
        for vm in vms
    ]
    connection.execute(insert_or_leave(tables.vm).on_conflict_do_nothing(), rows)


def _unused_directory(runs: Path, run_id: int) -> Path:
    """A run of another database may have used the number: its results must not be touched."""
    directory, again = runs / str(run_id), 2
    while directory.exists():
        directory = runs / f"{run_id}-{again}"
        again += 1
    return directory


def _save_inputs(connection: Connection, run_id: int, workflow_id: int, workflow: Workflow) -> None:
    """The datasets' tuples, numbered as the execution core will number them."""
    relation_ids = relation_ids_of(connection, workflow_id)
    lines: list[str] = []
    for dataset in workflow.datasets:
        relation, id = dataset.relation, relation_ids[dataset.relation.name]
        for path, row in enumerate(dataset.rows, start=1):
            values = copied(msgspec.json.encode(relation.as_mapping(row)).decode())
            lines.append(f"{run_id}\t{len(lines) + 1}\t{id}\t{path}\t{values}\n")
    trust(connection)
    columns = ("run_id", "tuple_id", "relation_id", "path", "values")
    copy_lines(connection, Lines(tables.tuple_, columns, lines))


def file_row(run_id: int, file: FileRecorded) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "tuple_id": file.tuple,
        "field": file.field,
        "path": file.path,
        "size_bytes": file.size_bytes,
        "sha256": file.sha256,
    }


def load_run(connection: Connection, run_id: int, *, whole: bool = True) -> StoredRun:
    """Not whole: without the plan's assignments and the inputs, of which there may be millions."""
    run = (
        connection.execute(select(tables.run).where(tables.run.c.run_id == run_id))
        .mappings()
        .one_or_none()
    )
    if run is None:
        raise UsageError(f"there is no run {run_id}", "`scicumulus status` lists the runs")
    definition = connection.execute(
        select(tables.workflow.c.definition).where(
            tables.workflow.c.workflow_id == run["workflow_id"]
        )
    ).scalar_one()
    _, plan = load_plan(connection, run["plan_id"], whole=whole)
    workflow = msgspec.convert(definition, Workflow)
    relation_ids = relation_ids_of(connection, run["workflow_id"])
    if whole:
        workflow = _with_inputs(connection, run_id, workflow, relation_ids)
    return StoredRun(
        id=run_id,
        workflow_id=run["workflow_id"],
        workflow=workflow,
        plan_id=run["plan_id"],
        plan=plan,
        state=RunState(run["state"]),
        directory=run["directory"],
        relation_ids=relation_ids,
        activity_ids=activity_ids_of(connection, run["workflow_id"]),
        dispatch=Dispatch(run["dispatch"]),
        sizing=run["sizing"],
    )


def _with_inputs(
    connection: Connection, run_id: int, workflow: Workflow, relation_ids: Mapping[str, int]
) -> Workflow:
    datasets = []
    for dataset in workflow.datasets:
        stored = connection.scalars(  # as texts, which we decode faster than the driver
            select(cast(tables.tuple_.c["values"], Text))
            .where(
                tables.tuple_.c.run_id == run_id,
                tables.tuple_.c.relation_id == relation_ids[dataset.relation.name],
            )
            .order_by(tables.tuple_.c.tuple_id)
        )
        names = dataset.relation.field_names
        decoded = map(_values, stored)
        rows = tuple([tuple([values[name] for name in names]) for values in decoded])
        datasets.append(Dataset(dataset.relation, rows))
    return replace(workflow, datasets=tuple(datasets))


def relation_ids_of(connection: Connection, workflow_id: int) -> dict[str, int]:
    return _ids(connection, tables.relation.c.name, tables.relation.c.relation_id, workflow_id)


def activity_ids_of(connection: Connection, workflow_id: int) -> dict[str, int]:
    return _ids(connection, tables.activity.c.tag, tables.activity.c.activity_id, workflow_id)


def _ids(
    connection: Connection, name: Column[str], id_: Column[int], workflow_id: int
) -> dict[str, int]:
    found = select(name, id_).where(name.table.c.workflow_id == workflow_id)
    return {row[0]: row[1] for row in connection.execute(found)}


def close_run(engine: Engine, run_id: int, state: RunState) -> None:
    """Its MPI job is over: a run that still counts as going on ended like this."""
    run = tables.run.c
    with engine.begin() as connection:
        connection.execute(
            update(tables.run)
            .where(run.run_id == run_id, run.state.in_(_GOING_ON))
            .values(state=state, ended_at=func.now())
        )


def reopen_run(engine: Engine, run_id: int) -> None:
    """It is to go on: until a master takes it, it counts as one that has not begun, so that
    nobody mistakes how it ended before for how it ends now."""
    run = tables.run.c
    with engine.begin() as connection:
        connection.execute(
            update(tables.run)
            .where(run.run_id == run_id, run.state.in_(_OPEN_AGAIN))
            .values(state=RunState.PREPARED, ended_at=None, reason="")
        )


def try_to_write(engine: Engine, run_id: int) -> None:
    """Raises if the database does not take anything: it may be read-only, or its disk full."""
    run = tables.run.c
    with engine.begin() as connection:
        connection.execute(
            update(tables.run).where(run.run_id == run_id).values(launches=run.launches)
        )
