"""One run of an activity on one piece of data, and the tries it took."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct

from scicore.model.workflow import Row

Path = tuple[int, ...]
"""Where a tuple comes from: its 1-based line in the dataset, then one number per SPLIT_MAP.

A path does not depend on the order in which programs happen to finish, so the same workflow on
the same data gives the same activation names in every run; plans rely on that.
"""


class ActivationState(StrEnum):
    __hash__ = str.__hash__  # an enumeration's own is slow, and states are counted all the time

    LOCKED = "locked"  # waits for a parent
    READY = "ready"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"  # its attempts are used up
    BLOCKED = "blocked"  # a parent failed
    CANCELLED = "cancelled"  # by the user; what it would have fed does not exist


class RunState(StrEnum):
    PREPARED = "prepared"  # stored, not started
    RUNNING = "running"
    PAUSED = "paused"  # by the user: nothing new is started
    FINISHED = "finished"  # every activation finished
    FAILED = "failed"  # it ran to its end, but some activations failed or are blocked
    STOPPED = "stopped"  # by the user, or by a limit of time or money
    INTERRUPTED = "interrupted"  # its MPI job ended before the run did


class Dispatch(StrEnum):
    """How closely a run follows its plan."""

    STRICT = "strict"  # to the letter: each VM waits for its own next one, in plan order
    ADAPTIVE = "adaptive"  # the plan is a preference: work moves when times leave the plan
    DYNAMIC = "dynamic"  # whoever has a free slot takes the oldest ready activation


class Cause(StrEnum):
    """Why an attempt ended."""

    __hash__ = str.__hash__

    FINISHED = "finished"
    EXIT_CODE = "exit code"
    SIGNAL = "signal"
    OUT_OF_MEMORY = "out of memory"
    DISK_FULL = "disk full"
    NO_PROGRAM = "no program"  # it is not on this VM, or may not be executed there
    NO_DATA = "no data"  # its files could not be fetched, or not be stored
    NOT_STARTED = "not started"  # the program or its workspace could not be set up
    TIMEOUT = "timeout"
    MISSING_OUTPUT = "missing output"  # exit code 0, but no ERelation.txt or no declared file
    BAD_OUTPUT = "bad output"  # ERelation.txt malformed (or, from older runs, missing)
    CANCELLED = "cancelled"  # by the user, or because another attempt won
    LOST_VM = "lost vm"
    PREEMPTED = "pre-empted"  # the provider takes the VM back


class DataTuple(Struct, frozen=True, gc=False):
    """A tuple of a relation within one run."""

    id: int  # unique within the run
    relation: str
    path: Path
    row: Row


class Activation(Struct, frozen=True, gc=False):
    id: int  # unique within the run
    activity: str
    path: Path
    inputs: tuple[DataTuple, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple([data.row for data in self.inputs])

    @property
    def name(self) -> str:
        return activation_name(self.activity, self.path)


@dataclass(frozen=True, slots=True)
class Observation:
    """How long one finished attempt took, and what was known of it before."""

    activity: str  # tag
    vm_type: str  # name
    runtime_s: float
    key: str = ""  # of its activation; empty = not known
    declared_s: float | None = None  # what its tuple said it would take, at speed 1.0
    input_bytes: int | None = None  # size of the files that it read


def activation_name(activity: str, path: Path) -> str:
    if len(path) == 1:
        return f"{activity}.{path[0]}"
    return ".".join((activity, *map(str, path)))


def activation_key(activity: str, command: str, rows: Iterable[Row]) -> str:
    """Same activity, command and values → same key, in this run and in any other."""
    digest = _begun(activity, command).copy()
    for row in rows:
        digest.update("\x1f".join((*row, "\x1e")).encode())
    return digest.hexdigest()


@lru_cache(maxsize=256)
def _begun(activity: str, command: str) -> hashlib.blake2b:
    """All activations of an activity begin alike."""
    return hashlib.blake2b(f"{activity}\x00{command}\x00".encode(), digest_size=16)
