"""Facts into rows: one writer thread in the master, in batches, off the dispatch path."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from typing import Any

from sqlalchemy import Connection, Engine, Table, and_, bindparam, insert, update

from scicore.errors import DatabaseError
from scicore.execution.messages import (
    ActivationCreated,
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    Fact,
    RunEnded,
    TupleGenerated,
    VmChanged,
)
from scicore.model.activation import ActivationState
from scicore.model.workflow import Relation
from scicore.provenance import tables
from scicore.provenance.store import StoredRun, activity_ids_of, relation_ids_of

GATHER_S = 0.02  # how long a batch waits for company
BATCH = 2000  # facts at most in one transaction

_OVER = frozenset({ActivationState.FINISHED, ActivationState.FAILED, ActivationState.BLOCKED})

Row = dict[str, Any]
Key = tuple[object, ...]


def _time(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


class _Sheet:
    """The pending rows of one table: new ones, and changes to rows written earlier.

    A change to a row that is itself still pending goes into that row, so an activation that is
    created, started and finished within one batch costs one insert.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.keys = [column.name for column in table.primary_key.columns]
        self.new: dict[Key, Row] = {}
        self.changed: dict[Key, Row] = {}

    def insert(self, row: Row) -> None:
        self.new[tuple(row[key] for key in self.keys)] = row

    def change(self, key: Key, values: Row) -> None:
        if key in self.new:
            self.new[key].update(values)
        else:
            self.changed.setdefault(key, {}).update(values)

    def write(self, connection: Connection) -> None:
        for rows in _alike(self.new.values()):
            connection.execute(insert(self.table), rows)
        condition = and_(*(self.table.c[key] == bindparam(f"key_{key}") for key in self.keys))
        changed = (
            {**{f"key_{name}": part for name, part in zip(self.keys, key, strict=True)}, **values}
            for key, values in self.changed.items()
        )
        for rows in _alike(changed):
            columns: dict[str, Any] = {
                name: bindparam(name) for name in rows[0] if not name.startswith("key_")
            }
            connection.execute(update(self.table).where(condition).values(columns), rows)


def _alike(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows with the same columns together: each list is one statement."""
    by_columns: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        by_columns.setdefault(tuple(sorted(row)), []).append(row)
    yield from by_columns.values()


class _Batch:
    """What a list of facts means in rows."""

    def __init__(self, run: StoredRun, ids: _Ids) -> None:
        self._run = run
        self._ids = ids
        self._runs = _Sheet(tables.run)
        self._vms = _Sheet(tables.vm)
        self._tuples = _Sheet(tables.tuple_)
        self._activations = _Sheet(tables.activation)
        self._used = _Sheet(tables.used)
        self._attempts = _Sheet(tables.attempt)

    def add(self, fact: Fact) -> None:
        run_id = self._run.id
        match fact:
            case TupleGenerated():
                self._add_tuple(fact)
            case ActivationCreated():
                self._add_activation(fact)
            case ActivationMoved(id=id, state=state, vm=vm, at=at):
                ended_at = _time(at) if state in _OVER else None
                self._activations.change(
                    (run_id, id), {"state": state, "vm": vm, "ended_at": ended_at}
                )
            case AttemptStarted(activation=activation, number=number, vm=vm, at=at):
                row = {"vm": vm, "started_at": _time(at)}
                self._attempts.insert(
                    {"run_id": run_id, "activation_id": activation, "number": number, **row}
                )
            case AttemptEnded():
                self._attempts.change((run_id, fact.activation, fact.number), _attempt(fact))
            case VmChanged(vm=vm, state=state, host=host, at=at):
                moment = "joined_at" if state == "joined" else "left_at"
                known = {"host": host} if host else {}
                self._vms.change((run_id, vm), {"state": state, moment: _time(at), **known})
            case RunEnded(state=state, at=at):
                self._runs.change((run_id,), {"state": state, "ended_at": _time(at)})

    def _add_tuple(self, fact: TupleGenerated) -> None:
        if fact.activation is None:
            return  # a dataset's tuple: stored when the run was prepared
        relation = self._ids.relations[fact.relation]
        self._tuples.insert(
            {
                "run_id": self._run.id,
                "tuple_id": fact.id,
                "relation_id": self._ids.relation_ids[fact.relation],
                "path": ".".join(map(str, fact.path)),
                "values": relation.as_mapping(fact.row),
                "generated_by": fact.activation,
            }
        )

    def _add_activation(self, fact: ActivationCreated) -> None:
        self._activations.insert(
            {
                "run_id": self._run.id,
                "activation_id": fact.id,
                "activity_id": self._ids.activity_ids[fact.activity],
                "name": fact.name,
                "key": fact.key,
                "state": fact.state,
                "vm": fact.vm,
                "planned": fact.planned,
                "blocked_by": fact.blocked_by,
                "created_at": _time(fact.at),
                "ended_at": _time(fact.at) if fact.state in _OVER else None,
            }
        )
        for tuple_id in fact.used:
            self._used.insert(
                {"run_id": self._run.id, "activation_id": fact.id, "tuple_id": tuple_id}
            )

    def write(self, engine: Engine) -> None:
        """One transaction, parents before children."""
        with engine.begin() as connection:
            for sheet in (
                self._tuples,
                self._activations,
                self._used,
                self._attempts,
                self._vms,
                self._runs,
            ):
                sheet.write(connection)


def _attempt(fact: AttemptEnded) -> Row:
    return {
        "started_at": _time(fact.started_at),
        "ended_at": _time(fact.ended_at),
        "cause": fact.cause,
        "exit_code": fact.exit_code,
        "command": fact.command,
        "workspace": fact.workspace,
        "stderr_tail": fact.stderr_tail,
        "cpu_s": fact.usage.cpu_s,
        "peak_rss_bytes": fact.usage.peak_rss_bytes,
        "read_bytes": fact.usage.read_bytes,
        "written_bytes": fact.usage.written_bytes,
    }


class _Ids:
    """Names of the workflow's parts → their ids in the database."""

    def __init__(self, connection: Connection, run: StoredRun) -> None:
        self.activity_ids = activity_ids_of(connection, run.workflow_id)
        self.relation_ids = relation_ids_of(connection, run.workflow_id)
        self.relations: Mapping[str, Relation] = {
            relation.name: relation for relation in run.workflow.relations
        }


class DatabaseRecorder:
    def __init__(self, engine: Engine, run: StoredRun) -> None:
        self._engine = engine
        self._run = run
        with engine.connect() as connection:
            self._ids = _Ids(connection, run)
        self._queue: SimpleQueue[list[Fact] | None] = SimpleQueue()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._write_batches, name="recorder", daemon=True)
        self._thread.start()

    def record(self, facts: Iterable[Fact]) -> None:
        """Queue the facts. Raises if the writer has failed: then nothing more can be promised."""
        if self._error is not None:
            raise DatabaseError(
                f"provenance cannot be recorded: {self._error}",
                "see whether PostgreSQL is running (`scicumulus doctor`) and has disk space",
            ) from self._error
        batch = list(facts)
        if batch:
            self._queue.put(batch)

    def close(self) -> None:
        """Everything recorded so far is in the database when this returns."""
        self._queue.put(None)
        self._thread.join()
        self.record(())

    def _write_batches(self) -> None:
        try:
            more = True
            while more:
                facts, more = self._gather()
                if facts:
                    batch = _Batch(self._run, self._ids)
                    for fact in facts:
                        batch.add(fact)
                    batch.write(self._engine)
        except Exception as error:  # told to the master by its next record()
            self._error = error

    def _gather(self) -> tuple[list[Fact], bool]:
        """The next batch, and whether more will come."""
        first = self._queue.get()
        if first is None:
            return [], False
        facts = first
        deadline = time.monotonic() + GATHER_S
        while len(facts) < BATCH:
            try:
                more = self._queue.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                break
            if more is None:
                return facts, False
            facts.extend(more)
        return facts, True
