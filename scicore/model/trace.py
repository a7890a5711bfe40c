"""A workflow that ran elsewhere, as public traces tell it: tasks, edges, runtimes, files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TraceFile:
    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class TraceTask:
    id: str  # unique within the trace
    activity: str  # name of the program (transformation, process) that it is a run of
    runtime_s: float  # on the reference machine
    parents: tuple[str, ...] = ()  # ids
    reads: tuple[TraceFile, ...] = ()
    writes: tuple[TraceFile, ...] = ()
    cpus: int = 1
    memory_mb: int = 0  # 0 = the trace does not say


@dataclass(frozen=True, slots=True)
class Trace:
    name: str
    tasks: tuple[TraceTask, ...]  # parents stand before their children
    warnings: tuple[str, ...] = ()  # what was odd in the file and how it was taken


def listed_files(text: str) -> dict[str, int]:
    """Sizes in bytes by name, of files as a trace's tuples list them: `NAME:BYTES NAME:BYTES`.

    What does not follow the form is data that we cannot read, and left out.
    """
    files = {}
    for entry in text.split():
        name, _, size = entry.rpartition(":")
        if name and size.isdecimal():
            files[name] = int(size)
    return files


def listed_bytes(text: str) -> int:
    return sum(listed_files(text).values())
