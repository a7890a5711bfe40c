"""What a list of facts means in rows.

An activation that is created, started and finished within one batch costs one row of each table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import Connection, text

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
from scicore.model.activation import ActivationState, RunState
from scicore.provenance import tables
from scicore.provenance.bulk import (
    NULL,
    array,
    copied,
    copy_lines,
    element,
    number,
    stamp,
    trust,
    update_from,
)
from scicore.provenance.ids import Ids
from scicore.provenance.sheet import Row, Sheet
from scicore.provenance.store import file_row

_OVER = frozenset(
    {
        ActivationState.FINISHED,
        ActivationState.FAILED,
        ActivationState.BLOCKED,
        ActivationState.CANCELLED,
    }
)
_RUNNING = ActivationState.RUNNING
_MOMENTS = {"joined": "joined_at", "lost": "left_at", "left": "left_at"}
_json = msgspec.json.Encoder().encode

_ACTIVATION = (
    *("run_id", "activation_id", "activity_id", "name", "key", "state", "vm", "planned"),
    *("blocked_by", "created_at", "ended_at", "attempts", "position", "planned_vm"),
    "moved_because",
)
_STARTED = (
    *("run_id", "activation_id", "number", "activity_id", "vm", "redundant", "granted_at"),
    "started_at",
)
_ENDED = (
    *("ended_at", "cause", "exit_code", "command", "workspace", "stderr_tail"),
    *("cpu_s", "peak_rss_bytes", "read_bytes", "written_bytes", "stage_s", "slot"),
)
_TUPLE = ("run_id", "tuple_id", "relation_id", "path", "values", "generated_by")
_USED = ("run_id", "activation_id", "tuple_id")
_TRANSFER = (
    *("run_id", "activation_id", "number", "way", "files", "cached", "size_bytes", "seconds"),
    "retries",
)

_CHANGED_ACTIVATION = (
    *(("run", "int"), ("id", "int")),
    *(("state", "text"), ("placed", "bool"), ("vm", "text"), ("judged", "bool")),
    *(("ended_at", "timestamptz"), ("attempts", "int"), ("blocked_by", "int")),
    ("moved_because", "text"),
)
_CHANGE_ACTIVATION = """
    state = new.state,
    vm = CASE WHEN new.placed THEN new.vm ELSE old.vm END,
    ended_at = CASE WHEN new.judged THEN new.ended_at ELSE old.ended_at END,
    attempts = coalesce(new.attempts, old.attempts),
    blocked_by = coalesce(new.blocked_by, old.blocked_by),
    moved_because = coalesce(new.moved_because, old.moved_because)
"""
# The run's id, too, comes from the arrays: a constant would let PostgreSQL begin with all rows of
# the run, of which its statistics know nothing yet.
_SAME = "old.run_id = new.run AND old.activation_id = new.id"
_CHANGED_ATTEMPT = (
    *(("run", "int"), ("id", "int"), ("number", "int"), ("started_at", "timestamptz")),
    *(("ended_at", "timestamptz"), ("cause", "text"), ("exit_code", "int"), ("command", "text")),
    *(("workspace", "text"), ("stderr_tail", "text"), ("cpu_s", "float8")),
    *(("peak_rss_bytes", "bigint"), ("read_bytes", "bigint"), ("written_bytes", "bigint")),
    *(("stage_s", "float8"), ("slot", "int")),
)
_CHANGE_ATTEMPT = ", ".join(f"{name} = new.{name}" for name in ("started_at", *_ENDED))


class _Life:
    """What has become of an activation within the batch."""

    __slots__ = (
        "attempts",
        "blocked_by",
        "created",
        "ended_at",
        "judged",
        "moved_because",
        "placed",
        "state",
        "vm",
    )

    def __init__(self, created: ActivationCreated | None = None) -> None:
        self.created = created  # None: it was there before
        self.state: str = ""
        self.placed = False  # `vm` is said
        self.vm: str | None = None
        self.judged = False  # `ended_at` is said
        self.ended_at: float | None = None
        self.attempts: int | None = None  # None, as below: not said
        self.blocked_by: int | None = None
        self.moved_because: str | None = None


class Batch:
    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._run_id = ids.run_id
        self._lives: dict[int, _Life] = {}
        self._started: dict[tuple[int, int], AttemptStarted] = {}
        self._ended: dict[tuple[int, int], AttemptEnded] = {}
        self._tuples: list[str] = []
        self._used: dict[str, None] = {}  # lines, each once
        self._transfers: list[str] = []  # lines
        self._files = Sheet(tables.file)
        self._allocations = Sheet(tables.allocation)
        self._runs = Sheet(tables.run)
        self._vms = Sheet(tables.vm)
        self._steering = Sheet(tables.steering)
        self._adders: Mapping[type, Callable[[Any], None]] = {
            TupleGenerated: self._add_tuple,
            FileRecorded: self._add_file,
            ActivationCreated: self._add_activation,
            TuplesUsed: self._use_tuples,
            ActivationMoved: self._move_activation,
            AttemptStarted: self._start_attempt,
            AttemptEnded: self._end_attempt,
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
        self._ids.require_tuple(fact.tuple)
        self._files.insert(file_row(self._run_id, fact))

    def _add_activation(self, fact: ActivationCreated) -> None:
        id = fact.id
        self._ids.remember(id, self._ids.activity_ids[fact.activity])
        life = self._lives[id] = _Life(fact)
        life.state, life.vm, life.blocked_by = fact.state, fact.vm, fact.blocked_by
        life.moved_because = fact.moved_because
        life.ended_at = fact.at if fact.state in _OVER else None
        for tuple_id in fact.used:
            self._ids.require_tuple(tuple_id)
            self._used[f"{self._run_id}\t{id}\t{tuple_id}\n"] = None

    def _use_tuples(self, fact: TuplesUsed) -> None:
        for tuple_id in fact.tuples:
            self._ids.require_tuple(tuple_id)
            self._used[f"{self._run_id}\t{fact.activation}\t{tuple_id}\n"] = None

    def _life(self, activation: int) -> _Life:
        life = self._lives.get(activation)
        if life is None:
            life = self._lives[activation] = _Life()
        return life

    def _move_activation(self, fact: ActivationMoved) -> None:
        life = self._life(fact.id)
        life.state = fact.state
        life.placed, life.vm = True, fact.vm
        life.judged, life.ended_at = True, fact.at if fact.state in _OVER else None
        if fact.blocked_by is not None:
            life.blocked_by = fact.blocked_by
        if fact.moved_because is not None:
            life.moved_because = fact.moved_because

    def _start_attempt(self, fact: AttemptStarted) -> None:
        self._started[fact.activation, fact.number] = fact
        life = self._life(fact.activation)
        life.state, life.attempts = _RUNNING, fact.number
        if fact.cpus != 1 or fact.grant is not None:
            self._allocations.insert(_allocation(self._run_id, fact))
        if not fact.redundant:  # beside a double it stays where it is until one of them wins
            life.placed, life.vm = True, fact.vm

    def _end_attempt(self, fact: AttemptEnded) -> None:
        self._ended[fact.activation, fact.number] = fact
        for each in fact.transfers:
            self._transfers.append(
                f"{self._run_id}\t{fact.activation}\t{fact.number}\t{each.way}\t{each.files}\t"
                f"{each.cached}\t{each.size_bytes}\t{each.seconds}\t{each.retries}\n"
            )

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
        self._runs.change((self._run_id,), {"state": fact.state})

    def _limit_run(self, fact: LimitReached) -> None:
        self._runs.change((self._run_id,), {"reason": fact.reason})

    def _handle_steering(self, fact: SteeringHandled) -> None:
        handled = {"handled_at": _time(fact.at), "outcome": fact.outcome}
        self._steering.change((self._run_id, fact.number), handled)

    def _end_run(self, fact: RunEnded) -> None:
        change: dict[str, object] = {"state": fact.state, "ended_at": _time(fact.at)}
        if fact.state in (RunState.FINISHED, RunState.FAILED):
            change["reason"] = ""  # a limit that came too late to matter
        self._runs.change((self._run_id,), change)

    # --- writing -------------------------------------------------------------------------------

    def write(self, connection: Connection) -> None:
        """Parents before children."""
        trust(connection)
        connection.execute(text(_BY_KEY))
        copy_lines(connection, tables.tuple_, _TUPLE, self._tuples)
        self._files.write(connection)
        created = [life for life in self._lives.values() if life.created is not None]
        copy_lines(connection, tables.activation, _ACTIVATION, map(self._activation, created))
        if len(created) < len(self._lives):
            self._update_activations(connection)
        copy_lines(connection, tables.used, _USED, self._used)
        whole = [key for key in self._started if key in self._ended]
        copy_lines(
            connection,
            tables.attempt,
            (*_STARTED, *_ENDED),
            [self._attempt(self._started[key], self._ended[key]) for key in whole],
        )
        under_way = [fact for key, fact in self._started.items() if key not in self._ended]
        copy_lines(connection, tables.attempt, _STARTED, map(self._beginning, under_way))
        before = [fact for key, fact in self._ended.items() if key not in self._started]
        if before:
            self._update_attempts(connection, before)
        self._allocations.write(connection)
        copy_lines(connection, tables.transfer, _TRANSFER, self._transfers)
        for sheet in (self._vms, self._steering, self._runs):
            sheet.write(connection)

    def _activation(self, life: _Life) -> str:
        fact = life.created
        assert fact is not None
        ended_at = NULL if life.ended_at is None else stamp(life.ended_at)
        return (
            f"{self._run_id}\t{fact.id}\t{self._ids.activity_ids[fact.activity]}\t{fact.name}\t"
            f"{fact.key}\t{life.state}\t{_or_null(life.vm)}\t{'t' if fact.planned else 'f'}\t"
            f"{_or_null(life.blocked_by)}\t{stamp(fact.at)}\t{ended_at}\t{life.attempts or 0}\t"
            f"{_or_null(fact.position)}\t{_or_null(fact.planned_vm)}\t{life.moved_because}\n"
        )

    def _update_activations(self, connection: Connection) -> None:
        changed = [(id, life) for id, life in self._lives.items() if life.created is None]
        lives = [life for _, life in changed]
        update_from(
            connection,
            tables.activation,
            _CHANGE_ACTIVATION,
            _CHANGED_ACTIVATION,
            (
                array([str(self._run_id)] * len(changed)),
                array([str(id) for id, _ in changed]),
                array([life.state for life in lives]),
                array(["t" if life.placed else "f" for life in lives]),
                array([element(life.vm) for life in lives]),
                array(["t" if life.judged else "f" for life in lives]),
                array([_moment(life.ended_at) for life in lives]),
                array([number(life.attempts) for life in lives]),
                array([number(life.blocked_by) for life in lives]),
                array([element(life.moved_because) for life in lives]),
            ),
            _SAME,
            len(changed),
        )

    def _beginning(self, fact: AttemptStarted) -> str:
        """It counts as started when it was granted, until its VM says when it really did."""
        granted_at = stamp(fact.at)
        return f"{self._grant(fact, granted_at)}\t{granted_at}\n"

    def _grant(self, fact: AttemptStarted, granted_at: str) -> str:
        return (
            f"{self._run_id}\t{fact.activation}\t{fact.number}\t"
            f"{self._ids.activity_of(fact.activation)}\t{copied(fact.vm)}\t"
            f"{'t' if fact.redundant else 'f'}\t{granted_at}"
        )

    def _attempt(self, started: AttemptStarted, ended: AttemptEnded) -> str:
        usage = ended.usage
        return (
            f"{self._grant(started, stamp(started.at))}\t{stamp(ended.started_at)}\t"
            f"{stamp(ended.ended_at)}\t{ended.cause}\t{_or_null(ended.exit_code)}\t"
            f"{copied(ended.command)}\t{copied(ended.workspace)}\t{copied(ended.stderr_tail)}\t"
            f"{usage.cpu_s}\t{usage.peak_rss_bytes}\t{usage.read_bytes}\t{usage.written_bytes}\t"
            f"{usage.stage_s}\t{ended.slot or NULL}\n"
        )

    def _update_attempts(self, connection: Connection, ended: list[AttemptEnded]) -> None:
        usages = [fact.usage for fact in ended]
        update_from(
            connection,
            tables.attempt,
            _CHANGE_ATTEMPT,
            _CHANGED_ATTEMPT,
            (
                array([str(self._run_id)] * len(ended)),
                array([str(fact.activation) for fact in ended]),
                array([str(fact.number) for fact in ended]),
                array([_moment(fact.started_at) for fact in ended]),
                array([_moment(fact.ended_at) for fact in ended]),
                array([element(fact.cause) for fact in ended]),
                array([number(fact.exit_code) for fact in ended]),
                array([element(fact.command) for fact in ended]),
                array([element(fact.workspace) for fact in ended]),
                array([element(fact.stderr_tail) for fact in ended]),
                array([number(usage.cpu_s) for usage in usages]),
                array([number(usage.peak_rss_bytes) for usage in usages]),
                array([number(usage.read_bytes) for usage in usages]),
                array([number(usage.written_bytes) for usage in usages]),
                array([number(usage.stage_s) for usage in usages]),
                array([number(fact.slot or None) for fact in ended]),
            ),
            f"{_SAME} AND old.number = new.number",
            len(ended),
        )


# Rows are found by their keys: the planner, whose statistics are old, would rather read it all.
_BY_KEY = """
    SELECT set_config('enable_hashjoin', 'off', true),
           set_config('enable_mergejoin', 'off', true),
           set_config('enable_seqscan', 'off', true)
"""


def _allocation(run_id: int, fact: AttemptStarted) -> Row:
    row: Row = {
        "run_id": run_id,
        "activation_id": fact.activation,
        "number": fact.number,
        "cpus": fact.cpus,
    }
    grant = fact.grant
    if grant is not None:
        row["memory_mb"] = grant.memory_mb or None
        row["asked_cpus"] = grant.asked_cpus
        row["asked_memory_mb"] = grant.asked_memory_mb or None
        row["input_bytes"] = grant.input_bytes
        row["because"] = grant.because
    return row


def _time(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _moment(at: float | None) -> str:
    return "NULL" if at is None else f'"{stamp(at)}"'


def _or_null(value: str | int | None) -> str | int:
    if value is None:
        return NULL
    return copied(value) if isinstance(value, str) else value
