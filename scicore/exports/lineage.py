"""What came from what, worked out of a snapshot's rows: tuples, files, parents. Pure."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from scicore.exports.snapshot import (
    ActivationRow,
    AttemptRow,
    FileRow,
    Snapshot,
    TupleRow,
    finished,
)
from scicore.model.activation import Cause
from scicore.model.workflow import FieldType

_Value = TypeVar("_Value")
_Groups = Mapping[int, tuple[_Value, ...]]


@dataclass(frozen=True, slots=True)
class DataFile:
    """One content at one path, however many tuples name it."""

    tuple_id: int  # the first tuple that names it
    field: str  # of that tuple
    path: str
    size_bytes: int
    sha256: str
    maker: int | None  # activation; None = it was there before the run


@dataclass(frozen=True, slots=True)
class Lineage:
    tuples: Mapping[int, TupleRow]
    used_by: _Groups[int]  # activation → tuples
    made_by: _Groups[int]  # activation → tuples
    files: tuple[DataFile, ...]
    named_by: _Groups[DataFile]  # tuple → files
    written_by: _Groups[DataFile]  # activation → files
    tries: _Groups[AttemptRow]  # activation → attempts, in order
    named_parents: _Groups[int]  # activation → those it names itself, as imported traces do

    def used(self, activation: ActivationRow) -> tuple[TupleRow, ...]:
        return tuple(self.tuples[id] for id in self.used_by.get(activation.activation_id, ()))

    def made(self, activation: ActivationRow) -> tuple[TupleRow, ...]:
        return tuple(self.tuples[id] for id in self.made_by.get(activation.activation_id, ()))

    def files_used(self, activation: ActivationRow) -> tuple[DataFile, ...]:
        tuples = self.used_by.get(activation.activation_id, ())
        return _distinct(file for id in tuples for file in self.named_by.get(id, ()))

    def files_made(self, activation: ActivationRow) -> tuple[DataFile, ...]:
        return self.written_by.get(activation.activation_id, ())

    def parents(self, activation: ActivationRow) -> tuple[int, ...]:
        """The activations that it had to wait for, by data or by name."""
        makers = [row.generated_by for row in self.used(activation)]
        named = self.named_parents.get(activation.activation_id, ())
        return _distinct([*(id for id in makers if id is not None), *named])

    def attempts(self, activation: ActivationRow) -> tuple[AttemptRow, ...]:
        return self.tries.get(activation.activation_id, ())

    def happened(self, activation: ActivationRow) -> bool:
        """It was tried, or is known to have finished; not merely waited for or given up."""
        return bool(self.attempts(activation)) or finished(activation)

    def decisive(self, activation: ActivationRow) -> AttemptRow | None:
        """The attempt that tells how it went: the one that finished, else the last."""
        last = None
        for attempt in self.attempts(activation):
            last = attempt
            if attempt.cause == Cause.FINISHED:
                break
        return last


def lineage(snapshot: Snapshot) -> Lineage:
    tuples = {row.tuple_id: row for row in snapshot.tuples}
    used_by = _grouped((row.activation_id, row.tuple_id) for row in snapshot.used)
    named_by = _named_files(snapshot, tuples, used_by)
    files = _distinct(file for named in named_by.values() for file in named)
    return Lineage(
        tuples=tuples,
        used_by=used_by,
        made_by=_grouped(
            (row.generated_by, row.tuple_id)
            for row in snapshot.tuples
            if row.generated_by is not None
        ),
        files=files,
        named_by=named_by,
        written_by=_grouped((file.maker, file) for file in files if file.maker is not None),
        tries=_grouped((row.activation_id, row) for row in snapshot.attempts),
        named_parents=_named_parents(snapshot, tuples, used_by),
    )


def _grouped(pairs: Iterable[tuple[int, _Value]]) -> _Groups[_Value]:
    groups: defaultdict[int, list[_Value]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return {key: tuple(values) for key, values in groups.items()}


def _distinct(values: Iterable[_Value]) -> tuple[_Value, ...]:
    return tuple(dict.fromkeys(values))


def _named_files(
    snapshot: Snapshot, tuples: Mapping[int, TupleRow], used_by: _Groups[int]
) -> _Groups[DataFile]:
    """The files of each tuple; the first tuple that names one tells who made it."""
    known: dict[tuple[str, str], DataFile] = {}
    inputs = _InputPaths(snapshot, tuples, used_by)
    named = []
    for row in snapshot.files:
        identity = row.path, row.sha256
        if identity not in known:
            known[identity] = DataFile(
                tuple_id=row.tuple_id,
                field=row.field,
                path=row.path,
                size_bytes=row.size_bytes,
                sha256=row.sha256,
                maker=_maker(row, tuples, inputs),
            )
        named.append((row.tuple_id, known[identity]))
    return _grouped(named)


def _maker(row: FileRow, tuples: Mapping[int, TupleRow], inputs: _InputPaths) -> int | None:
    """Whoever made the tuple, unless it only passed on a file that it was given."""
    maker = tuples[row.tuple_id].generated_by
    return None if maker is not None and inputs.has(maker, row.path) else maker


class _InputPaths:
    """Paths that activations were given but that no earlier file row tells about."""

    def __init__(
        self, snapshot: Snapshot, tuples: Mapping[int, TupleRow], used_by: _Groups[int]
    ) -> None:
        self._tuples = tuples
        self._used_by = used_by
        self._told = {(row.tuple_id, row.field) for row in snapshot.files}
        self._directory = snapshot.head.workflow.experiment_directory
        self._file_fields = {
            relation.name: [field.name for field in relation.fields if field.type is FieldType.FILE]
            for relation in snapshot.head.workflow.relations
        }

    def has(self, activation_id: int, path: str) -> bool:
        for tuple_id in self._used_by.get(activation_id, ()):
            row = self._tuples[tuple_id]
            for field in self._file_fields[row.relation]:
                value = row.values.get(field)
                if value and (tuple_id, field) not in self._told and self._full(value) == path:
                    return True
        return False

    def _full(self, value: str) -> str:
        return os.path.normpath(os.path.join(self._directory, value))  # noqa: PTH118 (no I/O)


def _named_parents(
    snapshot: Snapshot, tuples: Mapping[int, TupleRow], used_by: _Groups[int]
) -> _Groups[int]:
    activities = {activity.tag: activity for activity in snapshot.head.workflow.activities}
    bearers: dict[str, int] = {}
    wanted: dict[int, list[str]] = {}
    for row in snapshot.activations:
        activity = activities[row.activity]
        if not activity.id_field:
            continue
        for tuple_id in used_by.get(row.activation_id, ()):
            values = tuples[tuple_id].values
            bearers[values[activity.id_field]] = row.activation_id
            wanted[row.activation_id] = values.get(activity.parents_field, "").split()
    return {
        child: _distinct(bearers[name] for name in names if name in bearers)
        for child, names in wanted.items()
    }
