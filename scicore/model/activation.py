"""One run of an activity on one piece of data, and the tries it took."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from scicore.model.workflow import Row

Path = tuple[int, ...]
"""Where a tuple comes from: its 1-based line in the dataset, then one number per SPLIT_MAP.

A path does not depend on the order in which programs happen to finish, so the same workflow on
the same data gives the same activation names in every run; plans rely on that.
"""


class ActivationState(StrEnum):
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
    STOPPED = "stopped"  # by the user
    INTERRUPTED = "interrupted"  # its MPI job ended before the run did


class Cause(StrEnum):
    """Why an attempt ended."""

    FINISHED = "finished"
    EXIT_CODE = "exit code"
    SIGNAL = "signal"
    NOT_STARTED = "not started"  # the program or its workspace could not be set up
    TIMEOUT = "timeout"
    BAD_OUTPUT = "bad output"  # ERelation.txt missing or malformed
    CANCELLED = "cancelled"
    LOST_VM = "lost vm"


@dataclass(frozen=True, slots=True)
class DataTuple:
    """A tuple of a relation within one run."""

    id: int  # unique within the run
    relation: str
    path: Path
    row: Row


@dataclass(frozen=True, slots=True)
class Activation:
    id: int  # unique within the run
    activity: str
    path: Path
    key: str  # stable over runs: activity, command and values
    inputs: tuple[DataTuple, ...]

    @property
    def name(self) -> str:
        return activation_name(self.activity, self.path)


@dataclass(frozen=True, slots=True)
class Observation:
    """How long one finished attempt took."""

    activity: str  # tag
    vm_type: str  # name
    runtime_s: float


def activation_name(activity: str, path: Path) -> str:
    return ".".join((activity, *map(str, path)))


def activation_key(activity: str, command: str, rows: Iterable[Row]) -> str:
    """Same activity, command and values → same key, in this run and in any other."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (activity, command):
        digest.update(part.encode() + b"\x00")
    for row in rows:
        for value in row:
            digest.update(value.encode() + b"\x1f")
        digest.update(b"\x1e")
    return digest.hexdigest()
