"""One attempt of a program, from the moment it can be started to the verdict on it."""

from __future__ import annotations

import shlex
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from scicore.algebra.output import BadOutput, MissingOutput
from scicore.algebra.request import request_of
from scicore.engine import workspace
from scicore.engine.process import Call, Io, Process
from scicore.engine.staging import Staged, output_files
from scicore.engine.streams import Streams
from scicore.execution.causes import cause_of_error, cause_of_exit
from scicore.execution.messages import AttemptEnded, FileFound, Start, Usage
from scicore.model.activation import Cause
from scicore.model.workflow import Activity, Row

GRACE_S = 3.0  # between SIGTERM and SIGKILL
_NOTHING = Usage()


class Prepared(NamedTuple):
    """An attempt whose program can be started."""

    staged: Staged
    streams: Streams
    call: Call
    stage_s: float  # how long it took to make it ready

    @property
    def directory(self) -> str:
        return self.call.directory


@dataclass(slots=True)
class Program:
    """One attempt under way."""

    order: Start
    ready: Prepared
    activity: Activity
    started_at: float
    process: Process
    slots: tuple[int, ...]
    timeout_at: float | None  # monotonic
    usage: Usage = _NOTHING  # when it has been reaped
    extracting: bool = False  # the extractor runs now
    unstartable: OSError | ValueError | None = None  # why the extractor does not
    ended_by_us: Cause | None = None  # it was told to end, and why
    kill_at: float | None = None  # monotonic; when SIGTERM was not enough
    tree_bytes: int = 0  # the most memory that its processes were seen to have together
    ended_at: float = 0.0  # when its process was seen to have exited
    vacated: bool = False  # its slots are others' already

    @property
    def lingers(self) -> bool:
        """It may need its slots though it has exited: for its extractor, or for children of what
        was cancelled."""
        return self.kill_at is not None or bool(self.activity.extractor and not self.extracting)

    def ask_to_end(self, cause: Cause) -> None:
        """SIGTERM now, SIGKILL after the grace period; the first reason counts."""
        if self.ended_by_us is None:
            self.ended_by_us = cause
            self.kill_at = time.monotonic() + GRACE_S
            self.process.signal(signal.SIGTERM)

    def reap(self, before: Io) -> tuple[int, Io]:
        """Its exit code; what it used is added to what was used before it."""
        exit_code, used, after = self.process.reap(before)
        so_far = self.usage
        self.usage = Usage(
            so_far.cpu_s + used.cpu_s,
            max(so_far.peak_rss_bytes, used.peak_rss_bytes, self.tree_bytes),
            so_far.read_bytes + used.read_bytes,
            so_far.written_bytes + used.written_bytes,
            self.ready.stage_s,
        )
        return exit_code, after


def verdict(
    program: Program, exit_code: int, directories: Mapping[str, str], memory_bytes: int
) -> AttemptEnded:
    """What an attempt has come to; `memory_bytes` is what the VM has."""
    if program.ended_by_us is Cause.OUT_OF_MEMORY:
        held = f"{program.tree_bytes / 2**20:.1f} MB of {program.order.memory_mb} MB"
        return _ended(program, Cause.OUT_OF_MEMORY, exit_code, note=f"killed at {held}")
    if program.ended_by_us is not None:
        return _ended(program, program.ended_by_us, exit_code)
    if program.unstartable is not None:
        cause = cause_of(program.unstartable, starting=True)
        return _ended(program, cause, 0, note=f"the extractor: {program.unstartable}")
    directory, activity = program.ready.directory, program.activity
    cause, note = Cause.FINISHED, ""
    if exit_code:
        tail = workspace.stderr_tail(directory)
        limit_bytes, sized = _limit_bytes(program, memory_bytes), program.order.sized
        peak_bytes = program.usage.peak_rss_bytes
        cause = cause_of_exit(exit_code, tail, peak_bytes, limit_bytes, sized=sized)
    if cause is Cause.FINISHED:
        try:
            rows = workspace.read_output(directory, activity, program.ready.staged.kept)
            rows, files = output_files(directory, activity, rows, directories)
            return _ended(program, cause, exit_code, rows=rows, files=files)
        except MissingOutput as error:
            cause, note = Cause.MISSING_OUTPUT, str(error)
        except (BadOutput, OSError) as error:
            cause, note = Cause.BAD_OUTPUT, str(error)
    if cause is not Cause.DISK_FULL and workspace.on_full_disk(directory):
        cause, note = Cause.DISK_FULL, f"the disk of {directory} is full"
    return _ended(program, cause, exit_code, note=note)


@lru_cache(maxsize=64)
def command_of(words: tuple[str, ...]) -> str:
    """As it was run, for reading."""
    return shlex.join(words)


def _limit_bytes(program: Program, memory_bytes: int) -> int:
    """What the program got, or asked for, else all there is."""
    if program.order.memory_mb:
        return program.order.memory_mb * 2**20
    values = program.activity.input.as_mapping(program.order.rows[0])
    return request_of(program.activity, values).memory_mb * 2**20 or memory_bytes


def cause_of(error: OSError | ValueError, *, starting: bool) -> Cause:
    """A file that could not be staged has its reason from the operating system, too."""
    origin = error.__cause__ if isinstance(error.__cause__, OSError) else error
    return cause_of_error(getattr(origin, "errno", None), starting=starting)


def _ended(
    program: Program,
    cause: Cause,
    exit_code: int,
    rows: tuple[Row, ...] = (),
    files: tuple[FileFound, ...] = (),
    note: str = "",
) -> AttemptEnded:
    tail = "" if cause is Cause.FINISHED else workspace.stderr_tail(program.ready.directory)
    return AttemptEnded(
        activation=program.order.activation,
        number=program.order.number,
        cause=cause,
        started_at=program.started_at,
        ended_at=program.ended_at,
        exit_code=exit_code,
        command=command_of(program.ready.call.words),
        workspace=program.ready.directory,
        stderr_tail="\n".join(part for part in (tail, f"scicumulus: {note}" * bool(note)) if part),
        slot=program.slots[0],
        usage=program.usage,
        rows=rows,
        files=files,
    )
