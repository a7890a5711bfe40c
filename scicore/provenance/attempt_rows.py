"""The attempts of a batch of facts: one that begins and ends within it is written once."""

from __future__ import annotations

from sqlalchemy import Connection

from scicore.execution.messages import AttemptEnded, AttemptStarted
from scicore.provenance import tables
from scicore.provenance.activation_rows import SAME
from scicore.provenance.bulk import (
    NULL,
    Lines,
    array,
    copied,
    element,
    moment,
    named,
    number,
    or_null,
    shared_stamp,
    stamp,
    update_from,
)
from scicore.provenance.ids import Ids
from scicore.provenance.sheet import Row, Sheet

_STARTED = (
    *("run_id", "activation_id", "number", "activity_id", "vm", "redundant", "granted_at"),
    "started_at",
)
_ENDED = (
    *("ended_at", "cause", "exit_code", "command", "workspace", "stderr_tail"),
    *("cpu_s", "peak_rss_bytes", "read_bytes", "written_bytes", "stage_s", "slot"),
)
_TRANSFER = (
    *("run_id", "activation_id", "number", "way", "files", "cached", "size_bytes", "seconds"),
    "retries",
)

_CHANGED = (
    *(("run", "int"), ("id", "int"), ("number", "int"), ("started_at", "timestamptz")),
    *(("ended_at", "timestamptz"), ("cause", "text"), ("exit_code", "int"), ("command", "text")),
    *(("workspace", "text"), ("stderr_tail", "text"), ("cpu_s", "float8")),
    *(("peak_rss_bytes", "bigint"), ("read_bytes", "bigint"), ("written_bytes", "bigint")),
    *(("stage_s", "float8"), ("slot", "int")),
)
_CHANGE = ", ".join(f"{name} = new.{name}" for name in ("started_at", *_ENDED))


class AttemptRows:
    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._run_id = ids.run_id
        self._started: dict[tuple[int, int], AttemptStarted] = {}  # and not ended
        self._ended: list[AttemptEnded] = []  # started before this batch
        self._whole: list[str] = []  # lines of those that started and ended in it
        self._transfers: list[str] = []  # lines
        self._allocations = Sheet(tables.allocation)

    def start(self, fact: AttemptStarted) -> None:
        self._started[fact.activation, fact.number] = fact
        if fact.cpus != 1 or fact.grant is not None:
            self._allocations.insert(_allocation(self._run_id, fact))

    def end(self, fact: AttemptEnded) -> None:
        started = self._started.pop((fact.activation, fact.number), None)
        if started is None:
            self._ended.append(fact)
        else:
            self._whole.append(self._line(started, fact))
        for each in fact.transfers:
            self._transfers.append(
                f"{self._run_id}\t{fact.activation}\t{fact.number}\t{each.way}\t{each.files}\t"
                f"{each.cached}\t{each.size_bytes}\t{each.seconds}\t{each.retries}\n"
            )

    def new(self) -> tuple[Lines, ...]:
        return (
            Lines(tables.attempt, (*_STARTED, *_ENDED), self._whole),
            Lines(tables.attempt, _STARTED, map(self._beginning, self._started.values())),
            Lines(tables.transfer, _TRANSFER, self._transfers),
        )

    def change(self, connection: Connection) -> None:
        """Those that had been started before; and what belongs to new ones."""
        if self._ended:
            self._update(connection, self._ended)
        self._allocations.write(connection)

    def _beginning(self, fact: AttemptStarted) -> str:
        """It counts as started when it was granted, until its VM says when it really did."""
        granted_at = shared_stamp(fact.at)
        return f"{self._grant(fact, granted_at)}\t{granted_at}\n"

    def _grant(self, fact: AttemptStarted, granted_at: str) -> str:
        return (
            f"{self._run_id}\t{fact.activation}\t{fact.number}\t"
            f"{self._ids.activity_of(fact.activation)}\t{named(fact.vm)}\t"
            f"{'t' if fact.redundant else 'f'}\t{granted_at}"
        )

    def _line(self, started: AttemptStarted, ended: AttemptEnded) -> str:
        usage = ended.usage
        return (
            f"{self._grant(started, shared_stamp(started.at))}\t{stamp(ended.started_at)}\t"
            f"{stamp(ended.ended_at)}\t{ended.cause}\t{or_null(ended.exit_code)}\t"
            f"{named(ended.command)}\t{copied(ended.workspace)}\t{copied(ended.stderr_tail)}\t"
            f"{usage.cpu_s:.6f}\t{usage.peak_rss_bytes}\t{usage.read_bytes}\t"
            f"{usage.written_bytes}\t{usage.stage_s:.6f}\t{ended.slot or NULL}\n"
        )

    def _update(self, connection: Connection, ended: list[AttemptEnded]) -> None:
        usages = [fact.usage for fact in ended]
        update_from(
            connection,
            tables.attempt,
            _CHANGE,
            _CHANGED,
            (
                array([str(self._run_id)] * len(ended)),
                array([str(fact.activation) for fact in ended]),
                array([str(fact.number) for fact in ended]),
                array([moment(fact.started_at) for fact in ended]),
                array([moment(fact.ended_at) for fact in ended]),
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
            f"{SAME} AND old.number = new.number",
            len(ended),
        )


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
