"""A process that serves many activations of one activity, as its keeper sees it.

It answers in the order in which it was given the tuples, so the first one without an answer is
the one it is at: that one is to blame when the process dies or takes too long, and the others
have lost nothing.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scicore.algebra.output import BadOutput
from scicore.engine.process import Process
from scicore.engine.staging import Staged, output_files
from scicore.engine.streams import STDERR, STDOUT
from scicore.execution.causes import cause_of_exit
from scicore.execution.messages import AttemptEnded, FileFound, Start, Usage
from scicore.model.activation import Cause
from scicore.model.workflow import Activity, FieldType, Row

GRACE_S = 3.0  # between SIGTERM and SIGKILL
TAIL_BYTES = 4000  # of stderr
START_S = 60.0  # for a process to get ready before its first tuple's time begins
_CHUNK = 1 << 18


@dataclass(slots=True)
class Task:
    """One attempt in the hands of a worker."""

    order: Start
    row: Row  # its tuple, as it is to be seen
    directory: str = ""  # the activation's own; empty = it has none
    staged: Staged | None = None
    stage_s: float = 0.0
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one attempt went."""

    cause: Cause
    started_at: float
    ended_at: float
    exit_code: int | None = None
    rows: tuple[Row, ...] = ()
    error: str = ""
    cpu_s: float = 0.0
    peak_rss_bytes: int = 0


class Worker:
    """The parts that functions and programs on stdin share; `answers` is theirs."""

    def __init__(
        self,
        activity: Activity,
        slots: tuple[int, ...],
        directory: Path,
        directories: dict[str, str],
    ) -> None:
        self.activity = activity
        self.slots = slots
        self.home = slots[0]
        self.directory = directory  # its own: what it prints is there
        self.tasks: deque[Task] = deque()  # given and not answered
        self.process: Process
        self.mark = ""
        self.at_work_since = 0.0  # monotonic; on the first task, as far as it is known
        self.ended_by_us: Cause | None = None  # it was told to end, and why
        self.dismissed = False  # it must go, and nobody who waits is to blame
        self.kill_at: float | None = None  # monotonic; when SIGTERM was not enough
        self.idle_since = 0.0  # monotonic
        self.mute_since: float | None = None  # monotonic; it has closed its output
        self._directories = directories
        self._has_files = any(each.type is FieldType.FILE for each in activity.output.fields)
        self._outbox = bytearray()
        self._inlet = -1  # where it reads from
        self._outlet = -1  # where it answers
        self._stderr_read = self._stderr_size = self.stderr_size()  # not of this task; seen last

    # --- giving --------------------------------------------------------------------------------

    @property
    def inlet(self) -> int:
        return self._inlet

    @property
    def unsent(self) -> bool:
        return bool(self._outbox)

    def give(self, tasks: Iterable[Task]) -> None:
        given = list(tasks)
        if not self.tasks:
            self.at_work_since = time.monotonic()
        self.tasks.extend(given)
        self._outbox += self.encoded(given)
        self.flush()

    def encoded(self, tasks: list[Task]) -> bytes:
        raise NotImplementedError

    def flush(self) -> None:
        """To a process that is gone: nothing happens; its end is noticed elsewhere."""
        try:
            while self._outbox:
                del self._outbox[: os.write(self._inlet, self._outbox)]
        except BlockingIOError:
            pass
        except OSError:
            self._outbox.clear()

    # --- hearing -------------------------------------------------------------------------------

    @property
    def outlets(self) -> tuple[int, ...]:
        """Readable when there may be answers."""
        raise NotImplementedError

    def answers(self) -> list[AttemptEnded]:
        """What has been answered since, in the order of the tasks."""
        raise NotImplementedError

    def heard(self) -> bytes:
        """What it has written since."""
        data = b""
        try:
            while chunk := os.read(self._outlet, _CHUNK):
                data += chunk
        except BlockingIOError:
            return data
        if self.mute_since is None:
            self.mute_since = time.monotonic()
        return data

    def conclude(self, verdict: Verdict) -> AttemptEnded:
        """The first task has ended."""
        task = self.tasks.popleft()
        cause, rows, error = verdict.cause, verdict.rows, verdict.error
        files: tuple[FileFound, ...] = ()
        if cause is Cause.FINISHED and self._has_files:
            try:
                place = task.directory or str(self.directory)
                rows, files = output_files(place, self.activity, rows, self._directories)
            except (BadOutput, OSError) as problem:
                cause, rows, error = Cause.BAD_OUTPUT, (), f"scicumulus: {problem}"
        if task.staged is not None:
            with contextlib.suppress(OSError):
                task.staged.clean(finished=cause is Cause.FINISHED)
        order = task.order
        return AttemptEnded(
            order.activation,
            order.number,
            cause,
            verdict.started_at,
            verdict.ended_at,
            verdict.exit_code,
            self.command,
            task.directory or str(self.directory),
            error,
            Usage(verdict.cpu_s, verdict.peak_rss_bytes, stage_s=task.stage_s),
            rows,
            files,
            self.slots[0],
        )

    @property
    def command(self) -> str:
        return self.activity.command

    # --- ending --------------------------------------------------------------------------------

    @property
    def due_at(self) -> float:
        """When the task that it is at must have been answered; monotonic."""
        timeout_s = self.activity.timeout_s
        timeout_at = self.at_work_since + timeout_s if timeout_s else math.inf
        # Without an output it can only end, and most are about to.
        mute_at = math.inf if self.mute_since is None else self.mute_since + GRACE_S
        return min(timeout_at, mute_at)

    def overdue(self, now: float) -> bool:
        return bool(self.tasks) and now > self.due_at

    @property
    def leaving(self) -> bool:
        """What it says no longer counts."""
        return self.dismissed or self.ended_by_us is not None

    def give_up(self) -> None:
        """It is overdue."""
        self.end(Cause.TIMEOUT if self.mute_since is None else Cause.BAD_OUTPUT)

    def end(self, cause: Cause) -> None:
        """Because of the task that it is at: SIGTERM now, SIGKILL after the grace period."""
        if not self.leaving:
            self.ended_by_us = cause
            self._terminate()

    def dismiss(self) -> None:
        """Because of itself: those that wait are given to another."""
        if not self.leaving:
            self.dismissed = True
            self._terminate()

    def _terminate(self) -> None:
        self.kill_at = time.monotonic() + GRACE_S
        self.process.signal(signal.SIGTERM)

    def retire(self) -> None:
        """There is nothing more to do: it may end by itself."""
        self.dismissed = True
        self.kill_at = time.monotonic() + GRACE_S
        self.hang_up()

    def hang_up(self) -> None:
        """It reads the end of its input."""
        if self._inlet >= 0:
            os.close(self._inlet)
            self._inlet = -1

    def bury(self) -> tuple[list[AttemptEnded], list[Start]]:
        """It is dead: the task it was at has ended, those behind it are to be given to another."""
        exit_code, usage, _ = self.process.reap()
        ended: list[AttemptEnded] = []
        if self.tasks and not self.dismissed:
            now = time.time()
            started_at = now - max(0.0, time.monotonic() - self.at_work_since)
            cause = self.ended_by_us
            tail = self._stderr_tail()
            if cause is None:
                cause = cause_of_exit(exit_code, tail)
            if cause in (Cause.FINISHED, Cause.BAD_OUTPUT):
                cause = Cause.BAD_OUTPUT
                tail = f"{tail}\nscicumulus: the process ended without an answer".strip()
            peak = usage.peak_rss_bytes
            dead = Verdict(cause, started_at, now, exit_code, error=tail, peak_rss_bytes=peak)
            ended.append(self.conclude(dead))
        back = [task.order for task in self.tasks if not task.cancelled]
        for task in self.tasks:
            if task.cancelled:
                now, order = time.time(), task.order
                ended.append(
                    AttemptEnded(order.activation, order.number, Cause.CANCELLED, now, now)
                )
        self.tasks.clear()
        self.hang_up()
        self.close()
        return ended, back

    def close(self) -> None:
        """Its descriptors."""
        raise NotImplementedError

    def _stderr_tail(self) -> str:
        """The end of what it wrote since its last answer."""
        path = self.directory / STDERR
        try:
            with path.open("rb") as stream:
                size = stream.seek(0, os.SEEK_END)
                stream.seek(max(self._stderr_read, size - TAIL_BYTES))
                text = stream.read().decode("utf-8", "replace")
        except OSError:
            return ""
        return text.replace("\x00", "\ufffd").strip()

    def stderr_size(self) -> int:
        try:
            return (self.directory / STDERR).stat().st_size
        except OSError:
            return 0

    def note_stderr(self, size: int) -> None:
        """So much of it was there *before* the answers that were just heard. The task that it was
        at then may have written some of that, but none after it: what was there at the look
        before this one is surely of tasks that have been answered by now."""
        self._stderr_read, self._stderr_size = self._stderr_size, size


def open_log(directory: Path, name: str) -> int:
    return os.open(directory / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def open_logs(directory: Path) -> tuple[int, int]:
    """For stdout and stderr of one process after the other."""
    return open_log(directory, STDOUT), open_log(directory, STDERR)
