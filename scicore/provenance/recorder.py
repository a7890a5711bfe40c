"""Facts into rows: one writer thread in the master, in batches, off the dispatch path."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from queue import Empty, SimpleQueue

import msgspec
from sqlalchemy import Connection, Engine, select, text

from scicore.errors import DatabaseError
from scicore.execution.messages import (
    ActivationCreated,
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    Fact,
    FileRecorded,
    RunEnded,
    RunMoved,
    SteeringHandled,
    TupleGenerated,
    VmChanged,
)
from scicore.model.activation import ActivationState
from scicore.model.workflow import Relation
from scicore.provenance import tables
from scicore.provenance.sheet import Row, Sheet
from scicore.provenance.store import StoredRun, activity_ids_of, file_row, relation_ids_of

GATHER_S = 0.02  # how long a batch waits for company
BATCH = 2000  # facts at most in one transaction
ANALYZE_AT = 1000  # facts; so few need no statistics

_OVER = frozenset(
    {
        ActivationState.FINISHED,
        ActivationState.FAILED,
        ActivationState.BLOCKED,
        ActivationState.CANCELLED,
    }
)


def _time(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


class _Batch:
    """What a list of facts means in rows."""

    def __init__(self, run: StoredRun, ids: _Ids) -> None:
        self._run = run
        self._ids = ids
        self._runs = Sheet(tables.run)
        self._vms = Sheet(tables.vm)
        self._tuples = Sheet(tables.tuple_)
        self._files = Sheet(tables.file)
        self._activations = Sheet(tables.activation)
        self._used = Sheet(tables.used)
        self._attempts = Sheet(tables.attempt)
        self._steering = Sheet(tables.steering)

    def add(self, fact: Fact) -> None:
        run_id = self._run.id
        match fact:
            case TupleGenerated():
                self._add_tuple(fact)
            case FileRecorded():
                self._files.insert(file_row(run_id, fact))
            case ActivationCreated():
                self._add_activation(fact)
            case ActivationMoved(id=id, state=state, vm=vm, at=at):
                ended_at = _time(at) if state in _OVER else None
                change: Row = {"state": state, "vm": vm, "ended_at": ended_at}
                if fact.blocked_by is not None:
                    change["blocked_by"] = fact.blocked_by
                self._activations.change((run_id, id), change)
            case RunMoved(state=state):
                self._runs.change((run_id,), {"state": state})
            case AttemptStarted():
                self._add_attempt(fact)
            case AttemptEnded():
                self._attempts.change((run_id, fact.activation, fact.number), _attempt(fact))
            case VmChanged(vm=vm, state=state, host=host, at=at):
                moment = "joined_at" if state == "joined" else "left_at"
                known = {"host": host} if host else {}
                self._vms.change((run_id, vm), {"state": state, moment: _time(at), **known})
            case SteeringHandled(number=number, outcome=outcome, at=at):
                handled = {"handled_at": _time(at), "outcome": outcome}
                self._steering.change((run_id, number), handled)
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
                "values": msgspec.json.encode(relation.as_mapping(fact.row)).decode(),
                "generated_by": fact.activation,
            }
        )

    def _add_activation(self, fact: ActivationCreated) -> None:
        activity_id = self._ids.activity_ids[fact.activity]
        self._ids.activity_of[fact.id] = activity_id
        self._activations.insert(
            {
                "run_id": self._run.id,
                "activation_id": fact.id,
                "activity_id": activity_id,
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

    def _add_attempt(self, fact: AttemptStarted) -> None:
        self._attempts.insert(
            {
                "run_id": self._run.id,
                "activation_id": fact.activation,
                "number": fact.number,
                "activity_id": self._ids.activity_of[fact.activation],
                "vm": fact.vm,
                "started_at": _time(fact.at),
            }
        )
        self._activations.change(
            (self._run.id, fact.activation),
            {"state": ActivationState.RUNNING, "vm": fact.vm, "attempts": fact.number},
        )

    def write(self, engine: Engine) -> None:
        """One transaction, parents before children."""
        with engine.begin() as connection:
            for sheet in (
                self._tuples,
                self._files,
                self._activations,
                self._used,
                self._attempts,
                self._vms,
                self._steering,
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
        known = select(tables.activation.c.activation_id, tables.activation.c.activity_id)
        self.activity_of: dict[int, int] = {  # activation → its activity
            row[0]: row[1]
            for row in connection.execute(known.where(tables.activation.c.run_id == run.id))
        }


class DatabaseRecorder:
    def __init__(self, engine: Engine, run: StoredRun) -> None:
        self._engine = engine
        self._run = run
        with engine.connect() as connection:
            self._ids = _Ids(connection, run)
        self._queue: SimpleQueue[list[Fact] | None] = SimpleQueue()
        self._error: Exception | None = None
        self._queued = self._written = 0  # facts so far
        self._progress = threading.Condition()
        self._thread = threading.Thread(target=self._write_batches, name="recorder", daemon=True)
        self._thread.start()

    def record(self, facts: Iterable[Fact]) -> None:
        """Queue the facts. Raises if the writer has failed: then nothing more can be promised."""
        if self._error is not None:
            reason = getattr(self._error, "orig", None) or self._error
            raise DatabaseError(
                f"provenance cannot be recorded: {reason}",
                "see whether PostgreSQL is running (`scicumulus doctor`) and has disk space",
            ) from self._error
        batch = list(facts)
        if batch:
            self._queued += len(batch)
            self._queue.put(batch)

    def flush(self) -> None:
        """Wait, in another thread than the master's, until all facts so far are written."""
        wanted = self._queued
        with self._progress:
            self._progress.wait_for(lambda: self._written >= wanted or self._error is not None)
        self.record(())

    def close(self) -> None:
        """Everything recorded so far is in the database when this returns."""
        self._queue.put(None)
        self._thread.join()
        self.record(())

    def _write_batches(self) -> None:
        try:
            more, analyzed = True, ANALYZE_AT
            while more:
                facts, more = self._gather()
                if facts:
                    batch = _Batch(self._run, self._ids)
                    for fact in facts:
                        batch.add(fact)
                    batch.write(self._engine)
                    with self._progress:
                        self._written += len(facts)
                        self._progress.notify_all()
                if self._written >= (10 if more else 2) * analyzed:
                    analyzed = self._written
                    self._analyze()
        except Exception as error:  # told to the master by its next record()
            with self._progress:
                self._error = error
                self._progress.notify_all()

    def _analyze(self) -> None:
        """Tell PostgreSQL's planner how large the run is: its own daemon looks once a minute, and
        until then a join over a run that grew in seconds may take for ever. A few times per run,
        because it takes most of a second when the tables have a million rows."""
        grown = (tables.tuple_, tables.file, tables.activation, tables.used, tables.attempt)
        names = ", ".join(table.name for table in grown)
        with self._engine.begin() as connection:
            connection.execute(text(f"ANALYZE (SKIP_LOCKED) {names}"))

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
