"""What a list of facts means in rows.

An activation that is created, started and finished within one batch costs one row of each table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import Connection

from scicore.execution.messages import (
    ActivationCreated,
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    Fact,
    FileRecorded,
    LimitReached,
    RunEnded,
    RunMoved,
    SteeringHandled,
    TupleGenerated,
    TuplesUsed,
    VmChanged,
)
from scicore.model.activation import RunState
from scicore.provenance import tables
from scicore.provenance.activation_rows import ActivationRows
from scicore.provenance.attempt_rows import AttemptRows
from scicore.provenance.bulk import Lines, copied, copy_lines
from scicore.provenance.ids import Ids
from scicore.provenance.sheet import Row, Sheet
from scicore.provenance.store import file_row

_MOMENTS = {"joined": "joined_at", "lost": "left_at", "left": "left_at"}
_json = msgspec.json.Encoder().encode

_TUPLE = ("run_id", "tuple_id", "relation_id", "path", "values", "generated_by")
_USED = ("run_id", "activation_id", "tuple_id")


class Batch:
    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._run_id = ids.run_id
        self._activations = ActivationRows(ids)
        self._attempts = AttemptRows(ids)
        self._tuples: list[str] = []
        self._used: dict[str, None] = {}  # lines, each once
        self._files = Sheet(tables.file)
        self._run: Row = {}  # what changes in its row
        self._vms = Sheet(tables.vm)
        self._steering = Sheet(tables.steering)
        self._adders: Mapping[type, Callable[[Any], None]] = {
            TupleGenerated: self._add_tuple,
            FileRecorded: self._add_file,
            ActivationCreated: self._add_activation,
            TuplesUsed: self._use_tuples,
            ActivationMoved: self._activations.move,
            AttemptStarted: self._start_attempt,
            AttemptEnded: self._attempts.end,
            VmChanged: self._change_vm,
            RunMoved: self._move_run,
            LimitReached: self._limit_run,
            SteeringHandled: self._handle_steering,
            RunEnded: self._end_run,
        }

    def add(self, facts: Iterable[Fact]) -> None:
        adders = self._adders
        for fact in facts:
            adders[type(fact)](fact)

    # --- tuples and activations ----------------------------------------------------------------

    def _add_tuple(self, fact: TupleGenerated) -> None:
        if fact.activation is None:
            return  # a dataset's tuple: stored when the run was prepared
        ids, name = self._ids, fact.relation
        values = copied(_json(ids.relations[name].as_mapping(fact.row)).decode())
        path = ".".join(map(str, fact.path))
        ids.remember_tuple(fact.id)
        self._tuples.append(
            f"{self._run_id}\t{fact.id}\t{ids.relation_ids[name]}\t{path}\t{values}\t"
            f"{fact.activation}\n"
        )

    def _add_file(self, fact: FileRecorded) -> None:
        self._ids.require_tuples((fact.tuple,))
        self._files.insert(file_row(self._run_id, fact))

    def _add_activation(self, fact: ActivationCreated) -> None:
        self._activations.create(fact)
        self._use(fact.id, fact.used)

    def _use_tuples(self, fact: TuplesUsed) -> None:
        self._use(fact.activation, fact.tuples)

    def _use(self, activation: int, tuples: tuple[int, ...]) -> None:
        self._ids.require_tuples(tuples)
        before = f"{self._run_id}\t{activation}\t"
        for tuple_id in tuples:
            self._used[f"{before}{tuple_id}\n"] = None

    def _start_attempt(self, fact: AttemptStarted) -> None:
        self._activations.start(fact)
        self._attempts.start(fact)

    # --- what is rare --------------------------------------------------------------------------

    def _change_vm(self, fact: VmChanged) -> None:
        known: Row = {"state": fact.state}
        if fact.host:
            known["host"] = fact.host
        if fact.reason:
            known["reason"] = fact.reason
        if fact.state in _MOMENTS and not fact.reason:
            known[_MOMENTS[fact.state]] = _time(fact.at)
        self._vms.change((self._run_id, fact.vm), known)

    def _move_run(self, fact: RunMoved) -> None:
        self._run["state"] = fact.state

    def _limit_run(self, fact: LimitReached) -> None:
        self._run["reason"] = fact.reason

    def _handle_steering(self, fact: SteeringHandled) -> None:
        handled = {"handled_at": _time(fact.at), "outcome": fact.outcome}
        self._steering.change((self._run_id, fact.number), handled)

    def _end_run(self, fact: RunEnded) -> None:
        self._run |= {"state": fact.state, "ended_at": _time(fact.at)}
        if fact.state in (RunState.FINISHED, RunState.FAILED):
            self._run["reason"] = ""  # a limit that came too late to matter

    # --- writing -------------------------------------------------------------------------------

    def write(self, connection: Connection) -> Row:
        """Parents before children. Returns what changes in the run's own row."""
        copy_lines(
            connection,
            Lines(tables.tuple_, _TUPLE, self._tuples),
            self._activations.new(),
            Lines(tables.used, _USED, self._used),
            *self._attempts.new(),
        )
        self._activations.change(connection)
        self._attempts.change(connection)
        for sheet in (self._files, self._vms, self._steering):
            sheet.write(connection)
        return self._run


def _time(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
