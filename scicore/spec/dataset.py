"""Dataset files: the tuples of an external relation, read line by line and checked on the way.

Only the tuples themselves are kept, so that a million of them need no more memory than they must.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scicore.algebra.relation_text import MalformedRelation
from scicore.model.workflow import Dataset, Relation, Row
from scicore.spec.reader import Findings, did_you_mean
from scicore.spec.values import Fit, Unfit

_ROW_DEFECTS_SHOWN = 20  # per file: a wrong column would otherwise bury everything else


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """What the specification says of one dataset."""

    relation: Relation
    path: Path
    line: int  # of the specification, which names the file
    fits: Mapping[str, Fit]  # by field name: how a value becomes the tuple's, or does not


@dataclass(frozen=True, slots=True)
class Table:
    """The tuples of one file, and where each of them stands; none if the file is unreadable."""

    relation: Relation
    file: str
    rows: Sequence[Row]
    lines: Sequence[int]  # on which each row ends

    @property
    def dataset(self) -> Dataset:
        return Dataset(self.relation, tuple(self.rows))


class RowDefects:
    """The defects of one file's rows: the first ones in full, the rest counted."""

    def __init__(self, file: str, findings: Findings) -> None:
        self.file = file
        self._findings = findings
        self._told = 0
        self._first_untold = 0  # line

    def tell(self, line: int, found: str, expected: str) -> None:
        if self._told < _ROW_DEFECTS_SHOWN:
            self._findings.defect(line, found, expected, self.file)
        elif self._told == _ROW_DEFECTS_SHOWN:
            self._first_untold = line
        self._told += 1

    def close(self) -> None:
        more = self._told - _ROW_DEFECTS_SHOWN
        if more > 0:
            what = "1 more problem" if more == 1 else f"{more} more problems"
            expected = "rows like the header says"
            self._findings.defect(self._first_untold, f"{what} from here on", expected, self.file)


def read_dataset(source: DatasetFile, findings: Findings) -> Table:
    """The tuples of one file, in the order of the relation's fields."""
    reading = _Reading(source, findings)
    path, relation = source.path, source.relation
    try:
        if not path.is_file():
            raise FileNotFoundError(0, "not a file" if path.exists() else "not there")
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reading.read(stream)
    except UnicodeDecodeError:
        line, byte = _first_foreign_byte(path)
        found = f"byte 0x{byte:02x}, which is not UTF-8"
        findings.defect(line, found, "text in UTF-8", str(path))
    except OSError as error:
        found = f"the dataset {path}, which cannot be read: {error.strerror}"
        expected = f"a text file with the tuples of relation {relation.name}"
        findings.defect(source.line, found, expected)
    return Table(relation, str(path), reading.rows, reading.lines)


def _first_foreign_byte(path: Path) -> tuple[int, int]:
    """Line and value of the first byte that is not UTF-8."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return number, line[error.start]
    return 1, 0  # the file has changed meanwhile


@dataclass(slots=True)
class _Reading:
    """One dataset file on its way to tuples."""

    source: DatasetFile
    findings: Findings
    rows: list[Row] = field(default_factory=list)
    lines: array[int] = field(default_factory=lambda: array("L"))

    @property
    def relation(self) -> Relation:
        return self.source.relation

    def read(self, stream: Iterable[str]) -> None:
        try:
            content = _records(stream)
            header_line, header = next(content, (1, ()))
            if not header:
                self._defect(1, "an empty file", f"a header line: {self._header()}")
                return
            names = tuple(name.strip() for name in header)
            self._read_rows(content, names, self._columns(names, header_line))
        except _NulCharacter as error:
            expected = "text, which a program can take as an argument"
            self._defect(error.line, "a NUL character", expected)
        except MalformedRelation as error:
            found = f"a row that begins here and cannot be read ({error.reason})"
            expected = 'values in double quotes closed before the next ";", inner quotes doubled'
            self._defect(error.line, found, expected)

    def _columns(self, header: Row, line: int) -> dict[str, int]:
        """Where each field of the relation stands in the file; fields not found are left out."""
        folded = [name.casefold() for name in header]
        for at, name in enumerate(folded):
            if name in folded[:at]:
                self._defect(line, f"column {header[at]} twice", "every column once")
        columns = {
            field.name: folded.index(field.name.casefold())
            for field in self.relation.fields
            if field.name.casefold() in folded
        }
        for name in self.relation.field_names:
            if name not in columns:
                found = f"a header without {name}: {';'.join(header)}"
                hint = did_you_mean(name, header)
                self._defect(line, found, f"all fields of the relation: {self._header()}{hint}")
        for at, name in enumerate(header):
            if at not in columns.values() and folded[at] not in folded[:at]:
                told = f"column {name or '(without a name)'} is no field of {self.relation.name}"
                self.findings.warn(line, f"{told}: it is ignored", self.file)
        return columns

    def _read_rows(
        self, content: Iterator[tuple[int, Row]], header: Row, columns: Mapping[str, int]
    ) -> None:
        defects = RowDefects(self.file, self.findings)
        width = len(header)
        names = [name for name in self.relation.field_names if name in columns]
        order = [columns[name] for name in names]
        fits: list[tuple[int, str, Callable[[str], str]]] = [
            (at, name, self.source.fits[name])
            for at, name in enumerate(names)
            if name in self.source.fits
        ]
        for line, values in content:
            if len(values) != width:
                expected = f'{width}, as in the header; a value with ";" goes in double quotes'
                defects.tell(line, f"{len(values)} values", expected)
                continue
            row = [values[at] for at in order]
            for at, name, fit in fits:
                try:
                    row[at] = fit(row[at])
                except Unfit as problem:
                    found = f"{row[at][:40]!r} in the {problem.kind} field {name}"
                    defects.tell(line, found + problem.detail, problem.expected)
            self.rows.append(tuple(row))
            self.lines.append(line)
        defects.close()

    @property
    def file(self) -> str:
        return str(self.source.path)

    def _header(self) -> str:
        return ";".join(self.relation.field_names)

    def _defect(self, line: int, found: str, expected: str) -> None:
        self.findings.defect(line, found, expected, self.file)


class _NulCharacter(ValueError):
    """Neither an argument nor the database can hold it."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def _records(stream: Iterable[str]) -> Iterator[tuple[int, Row]]:
    """The line on which each record ends, and its values; blank lines do not count."""
    reader = csv.reader(_without_nul(stream), delimiter=";", strict=True)
    begin = 1
    try:
        for values in reader:
            begin = reader.line_num + 1
            if values:
                yield reader.line_num, tuple(values)
    except csv.Error as error:
        raise MalformedRelation(begin, str(error)) from error


def _without_nul(stream: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(stream, start=1):
        if "\x00" in line:
            raise _NulCharacter(number)
        yield line
