"""Dataset files: the tuples of an external relation, checked row by row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from scicore.algebra.relation_text import MalformedRelation, RelationText, read_relation
from scicore.model.workflow import Dataset, FieldType, Relation, Row
from scicore.spec.reader import Findings, did_you_mean

_ROW_DEFECTS_SHOWN = 20  # per file: a wrong column would otherwise bury everything else


def read_dataset(relation: Relation, file: Path, line: int, findings: Findings) -> Dataset:
    """The tuples of one file, in the order of the relation's fields; none if it has defects."""
    try:
        if not file.is_file():
            raise FileNotFoundError(0, "not a file" if file.exists() else "not there")
        text = file.read_bytes().decode("utf-8").removeprefix("\ufeff")
    except OSError as error:
        found = f"the dataset {file}, which cannot be read: {error.strerror}"
        findings.defect(line, found, f"a text file with the tuples of relation {relation.name}")
        return Dataset(relation, ())
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{error.object[error.start]:02x}, which is not UTF-8"
        findings.defect(line, found, "text in UTF-8", str(file))
        return Dataset(relation, ())
    return Dataset(relation, _Table(relation, str(file), findings).rows(text))


@dataclass(frozen=True, slots=True)
class _Table:
    """One dataset file on its way to tuples."""

    relation: Relation
    file: str
    findings: Findings

    def rows(self, text: str) -> tuple[Row, ...]:
        content = self._content(text)
        if content is None:
            return ()
        header_line = _first_line(text)
        if not content.header:
            self._defect(1, "an empty file", f"a header line: {self._header()}")
            return ()
        columns = self._columns(content.header, header_line)
        self._tell(self._row_defects(content, columns))
        if len(columns) < len(self.relation.fields):
            return ()
        order = [columns[field.name] for field in self.relation.fields]
        width = len(content.header)
        return tuple(tuple(row[at] for at in order) for row in content.rows if len(row) == width)

    def _content(self, text: str) -> RelationText | None:
        if "\x00" in text:
            line = text.count("\n", 0, text.index("\x00")) + 1
            self._defect(line, "a NUL character", "text, which a program can take as an argument")
            return None
        try:
            return read_relation(text)
        except MalformedRelation as error:
            found = f"a row that begins here and cannot be read ({error.reason})"
            expected = 'values in double quotes closed before the next ";", inner quotes doubled'
            self._defect(error.line, found, expected)
            return None

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

    def _row_defects(
        self, content: RelationText, columns: dict[str, int]
    ) -> Iterator[tuple[int, str, str]]:
        width = len(content.header)
        floats = [
            (field.name, columns[field.name])
            for field in self.relation.fields
            if field.type is FieldType.FLOAT and field.name in columns
        ]
        for row, line in zip(content.rows, content.lines, strict=True):
            if len(row) != width:
                expected = f'{width}, as in the header; a value with ";" goes in double quotes'
                yield line, f"{len(row)} values", expected
                continue
            for name, at in floats:
                if not _is_number(row[at]):
                    expected = "a finite number with a decimal point, e.g. 3 or 2.5e-1"
                    yield line, f"{row[at][:40]!r} in the float field {name}", expected

    def _tell(self, defects: Iterator[tuple[int, str, str]]) -> None:
        for line, found, expected in islice(defects, _ROW_DEFECTS_SHOWN):
            self._defect(line, found, expected)
        first_unshown = next(defects, None)
        if first_unshown is not None:
            more = 1 + sum(1 for _ in defects)
            what = "1 more problem" if more == 1 else f"{more} more problems"
            self._defect(first_unshown[0], f"{what} from here on", "rows like the header says")

    def _header(self) -> str:
        return ";".join(self.relation.field_names)

    def _defect(self, line: int, found: str, expected: str) -> None:
        self.findings.defect(line, found, expected, self.file)


def _first_line(text: str) -> int:
    lines = text.split("\n")
    return next((number for number, line in enumerate(lines, 1) if line.rstrip("\r")), 1)


def _is_number(text: str) -> bool:
    """What programs in any language read as a number, so not all that Python does."""
    try:
        return text.isascii() and "_" not in text and math.isfinite(float(text))
    except ValueError:
        return False
