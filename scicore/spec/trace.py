"""Traces as workflows: which kind a file is, and how its tasks become activities and tuples.

Activities of a trace may feed each other in circles, which relations cannot. So every activity
reads a dataset of its own, one tuple per task, and the edges stand in the tuples.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal
from urllib.parse import quote
from xml.parsers import expat

from scicore.errors import Defect, SpecificationError, UsageError
from scicore.model.trace import Trace, TraceFile, TraceTask
from scicore.model.workflow import (
    Activity,
    Dataset,
    Field,
    FieldType,
    Operator,
    Relation,
    Row,
    Workflow,
)
from scicore.spec.dax import read_dax
from scicore.spec.wfformat import read_wfformat

Kind = Literal["scicumulus", "dax", "wfformat"]

FIELDS = (
    Field("ID", FieldType.STRING),
    Field("PARENTS", FieldType.STRING),  # ids, separated by blanks
    Field("RUNTIME", FieldType.FLOAT),  # seconds, scaled
    Field("CPUS", FieldType.FLOAT),
    Field("MEMORY_MB", FieldType.FLOAT),
    Field("READS", FieldType.STRING),  # NAME:BYTES, separated by blanks; names percent-encoded
    Field("WRITES", FieldType.STRING),
)

_HEAD_BYTES = 1 << 16  # a root element has begun by then
_LONGEST_TAG = 57  # so that <tag>_tasks fits into 63 characters, PostgreSQL's limit for names
_LONGEST_FILE_NAME = 200  # bytes; file systems allow 255
_PLAIN = "!$&'()*+,/:=@[]{}|^#?<>"  # besides letters, digits and _.-~ what an id may hold


class _RootSeen(Exception):
    def __init__(self, name: str) -> None:
        self.name = name


def kind_of(path: Path) -> Kind:
    """Told by content. What is neither JSON nor DAX is left to the reader of our own language."""
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError as error:
        found = f"no readable file ({error.strerror})"
        expected = "a workflow: SciCumulus XML, Pegasus DAX or WfFormat JSON"
        raise SpecificationError([Defect(str(path), 0, found, expected)]) from error
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        return "wfformat"
    return "dax" if _root(head).rpartition(":")[2] == "adag" else "scicumulus"


def _root(head: bytes) -> str:
    def seen(name: str, *_: object) -> None:
        raise _RootSeen(name)

    parser = expat.ParserCreate()
    parser.StartElementHandler = seen
    parser.StartDoctypeDeclHandler = seen  # its name is the root's; its reader refuses it
    try:
        parser.Parse(head, False)
    except _RootSeen as root:
        return root.name
    except (expat.ExpatError, LookupError, ValueError):
        pass
    return ""


def load_trace(path: Path) -> Trace:
    kind = kind_of(path)
    if kind == "wfformat":
        return read_wfformat(path)
    if kind == "dax":
        return read_dax(path)
    found = "neither JSON nor XML with the root <adag>"
    expected = "a trace: Pegasus DAX 2.1 or 3.x, or WfCommons WfFormat 1.4 or 1.5"
    raise SpecificationError([Defect(str(path), 1, found, expected)])


def trace_workflow(
    trace: Trace, directory: Path, command: str, time_scale: float = 1.0, size_scale: float = 1.0
) -> Workflow:
    """One MAP activity per program of the trace, one tuple per task; `directory` is absolute.

    `command` gets the name of the file with its tuple as its last word."""
    for what, scale in (("time", time_scale), ("size", size_scale)):
        if not 0 <= scale < math.inf:
            hint = "1 is as the trace says, 0.01 is a hundredth of it"
            raise UsageError(f"{what} scale {scale}: expected a number from 0 up", hint)
    rows: dict[str, list[Row]] = {}
    for task in trace.tasks:
        rows.setdefault(task.activity, []).append(_row(task, time_scale, size_scale))
    taken: set[str] = set()
    tags = {activity: _tag(activity, taken) for activity in rows}
    relations = {activity: Relation(f"{tag}_tasks", FIELDS) for activity, tag in tags.items()}
    tag = _tag(trace.name, set())
    return Workflow(
        tag=tag,
        activities=tuple(
            Activity(
                tag=tags[activity],
                operator=Operator.MAP,
                command=f"{command} {relation.name}.hfrag",
                input=relation,
                output=Relation(f"{tags[activity]}_done", ()),
                description="" if tags[activity] == activity else _printable(activity),
                cpus="%=CPUS%",
                memory_mb="%=MEMORY_MB%",
                runtime_s="%=RUNTIME%",
                id_field="ID",
                parents_field="PARENTS",
            )
            for activity, relation in relations.items()
        ),
        datasets=tuple(
            Dataset(relation, tuple(rows[activity])) for activity, relation in relations.items()
        ),
        directory=str(directory),
        experiment_directory=str(directory),
        execution_tag=tag,
    )


def _row(task: TraceTask, time_scale: float, size_scale: float) -> Row:
    return (
        _id(task.id),
        " ".join(map(_id, task.parents)),
        repr(round(task.runtime_s * time_scale, 6)),
        str(task.cpus),
        str(task.memory_mb),
        _files(task.reads, size_scale),
        _files(task.writes, size_scale),
    )


def _id(text: str) -> str:
    """Without blanks and other characters that lists and tables trip over; no two become one."""
    return quote(text, safe=_PLAIN)


def _files(files: Iterable[TraceFile], scale: float) -> str:
    return " ".join(f"{_file_name(file.name)}:{round(file.size_bytes * scale)}" for file in files)


def _file_name(name: str) -> str:
    """A flat name for any path, so that a replay's files lie in one directory."""
    encoded = quote(name, safe="")
    if encoded in (".", ".."):
        return encoded.replace(".", "%2E")
    if len(encoded) > _LONGEST_FILE_NAME:
        digest = hashlib.blake2b(encoded.encode(), digest_size=16).hexdigest()
        return f"{digest}~{encoded[-(_LONGEST_FILE_NAME - 33) :].lstrip('%')}"
    return encoded


def _tag(name: str, taken: set[str]) -> str:
    """A tag that no other activity has, whatever its case; of a long name its more telling end."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", name)[-_LONGEST_TAG:]
    if not plain or plain[0].isdigit():
        plain = f"_{plain}"[:_LONGEST_TAG]
    tag, number = plain, 1
    while tag.casefold() in taken:
        number += 1
        tag = f"{plain[: _LONGEST_TAG - 1 - len(str(number))]}_{number}"
    taken.add(tag.casefold())
    return tag


def _printable(text: str) -> str:
    """XML cannot hold control characters."""
    return "".join(character if character.isprintable() else " " for character in text)
