"""The JSON of WfFormat: its shapes, and pieces of text that become them one by one.

Pieces stay undecoded until they are asked for, so that a wrong one is a defect with its line and
not the end of reading, and only one task at a time exists as JSON. What the figures mean is none
of this file's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from scicore.spec.trace_draft import TraceDraft

DOCUMENT = "a WfFormat document: a JSON object with workflow.specification or workflow.tasks"

_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_MALFORMED = re.compile(r"(.*) \(byte (\d+)\)")
_WRONG_TYPE = re.compile(r"Expected (.*), got (.*?)(?: - at `\$(.*)`)?")
_NO_NUMBER = re.compile(rb"-?(?:NaN|Infinity)")

Name = Annotated[str, Meta(min_length=1)]
_T = TypeVar("_T")


class Document(Struct, rename="camel"):
    workflow: Raw
    schema_version: object = None


class Workflow(Struct):
    specification: Raw = Raw()  # 1.5
    execution: Raw = Raw()  # 1.5
    tasks: list[Raw] | None = None  # 1.4
    machines: list[Raw] | None = None  # 1.4


class Specification(Struct):
    tasks: list[Raw]
    files: list[Raw] | None = None


class Execution(Struct):
    tasks: list[Raw] | None = None
    machines: list[Raw] | None = None


class Command(Struct, gc=False):
    program: str | None = None


class Measured(Struct, rename="camel", gc=False, kw_only=True):
    runtime_in_seconds: float | None = None
    core_count: float | None = None  # 1.5
    cores: float | None = None  # 1.4
    memory_in_bytes: float | None = None
    command: Command | None = None


class Run(Measured, rename="camel", gc=False, kw_only=True):
    """1.5: how one task was executed."""

    id: Name


class Task(Struct, rename="camel", gc=False, kw_only=True):
    """1.5: what a task is; the sizes of its files are told elsewhere."""

    id: Name
    name: Name
    parents: list[Name] | None = None
    children: list[Name] | None = None
    input_files: list[Name] | None = None
    output_files: list[Name] | None = None


class File(Struct, rename="camel", gc=False):
    id: Name
    size_in_bytes: int | float | None = None


class FileUse(Struct, rename="camel", gc=False):
    name: Name
    link: str
    size_in_bytes: int | float | None = None


class OldTask(Measured, rename="camel", gc=False, kw_only=True):
    """1.4: everything about a task in one place; its name is its identity."""

    name: Name
    id: str | None = None
    category: str | None = None
    parents: list[Name] | None = None
    children: list[Name] | None = None
    files: list[FileUse] | None = None


class Glance(Struct, rename="camel", gc=False):
    """What has to be known of all tasks or machines before any one is read."""

    id: object = None
    name: object = None
    memory_in_bytes: object = None
    cpu: object = None


def is_given(piece: Raw) -> bool:
    return bytes(piece) not in (b"", b"null")


def glance(piece: Raw) -> Glance:
    """Never a defect: whoever reads the piece afterwards tells what is wrong with it."""
    try:
        return msgspec.json.decode(piece, type=Glance)
    except _BROKEN:
        return Glance()


class Text:
    """One document; tells its draft whatever cannot be read."""

    def __init__(self, data: bytes, draft: TraceDraft) -> None:
        self._data = data
        self._draft = draft

    def document(self) -> Document | None:
        return self.piece(self._data, Document, "", 1)

    def each(self, pieces: Sequence[Raw], type_: type[_T], where: str) -> Iterator[tuple[int, _T]]:
        """The pieces that can be read, each with the line on which it begins."""
        line, position = 1, 0
        for number, piece in enumerate(pieces):
            found = max(position, self._data.find(piece, position))  # they follow each other
            line += self._data.count(b"\n", position, found)
            position = found
            item = self.piece(piece, type_, f"{where}[{number}]", line)
            if item is not None:
                yield line, item

    def piece(self, piece: bytes | Raw, type_: type[_T], where: str, line: int = 1) -> _T | None:
        try:
            return msgspec.json.decode(piece, type=type_)
        except msgspec.ValidationError as error:
            wrong = _WRONG_TYPE.fullmatch(str(error))
            if wrong:
                place = f"{where}{wrong[3] or ''}".removeprefix(".") or "the top"
                self._draft.unreadable(line, f"{wrong[2]} at {place}", wrong[1])
            else:
                found = f"{error} in {where.removeprefix('.') or 'the document'}"
                self._draft.unreadable(line, found, DOCUMENT)
        except _BROKEN as error:
            self._tell_broken(str(error), where, line)
        return None

    def _tell_broken(self, message: str, where: str, line: int) -> None:
        found = f"JSON that cannot be read ({message})"
        match = _MALFORMED.fullmatch(message)
        if match and not where:
            position = int(match[2])
            line = self._data.count(b"\n", 0, position) + 1
            found = f"JSON that is malformed here ({match[1].rpartition(': ')[2]})"
            for begin in (position, position - 1):  # a sign may stand before it
                if number := _NO_NUMBER.match(self._data, max(0, begin)):
                    found = f"{number[0].decode()}, which is no number in JSON"
        expected = "well-formed JSON with finite numbers"
        found = f"{found} in {where.removeprefix('.')}" if where else found
        self._draft.unreadable(line, found, expected)
