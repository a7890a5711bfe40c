"""The keeper's side of function_worker.py."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

from scicore.engine import process
from scicore.engine.function_worker import (
    HEAD,
    Call,
    Setup,
    decode_answer,
    encode,
    framed,
)
from scicore.engine.warm import START_S, Task, Verdict, Worker, open_logs
from scicore.execution.messages import AttemptEnded
from scicore.model.activation import Cause
from scicore.model.workflow import Activity

_MODULE = "scicore.engine.function_worker"
_FAILED = 1  # the exit code that Python has after an exception


def _call(task: Task) -> Call:
    if task.staged is None:
        return Call(task.row)
    return Call(task.row, task.directory, task.staged.kept[0])


class FunctionWorker(Worker):
    """Calls a Python function of the workflow's directory."""

    def __init__(
        self,
        activity: Activity,
        slots: tuple[int, ...],
        directory: Path,
        directories: dict[str, str],
        environment: process.Environment,
    ) -> None:
        super().__init__(activity, slots, directory, directories)
        calls, self._inlet = os.pipe()
        self._outlet, answers = os.pipe()
        self._bell = os.eventfd(0, os.EFD_NONBLOCK)
        out, err = open_logs(directory)
        inherited = (calls, answers, self._bell)
        words = (sys.executable, "-P", "-X", "faulthandler", "-m", _MODULE, *map(str, inherited))
        try:
            self.process = process.spawn_warm(
                words, directory, environment, out=out, err=err, kept=inherited
            )
        except OSError:
            self.hang_up()
            self.close()
            raise
        finally:
            for descriptor in (calls, answers, out, err):
                os.close(descriptor)
        os.set_blocking(self._inlet, False)
        os.set_blocking(self._outlet, False)
        self._inbox = bytearray()
        self._ready = False
        self._outbox += framed(encode(Setup(activity, directories["WFDIR"])))

    @property
    def outlets(self) -> tuple[int, ...]:
        return (self._bell,)

    def encoded(self, tasks: list[Task]) -> bytes:
        return framed(encode(list(map(_call, tasks))))

    @property
    def due_at(self) -> float:
        return super().due_at if self._ready else self.at_work_since + START_S

    def answers(self) -> list[AttemptEnded]:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._bell)
        self._inbox += self.heard()
        ended: list[AttemptEnded] = []
        if self.leaving or not self._inbox:
            return ended
        inbox, place = memoryview(self._inbox), 0
        while place + HEAD.size <= len(inbox):
            end = place + HEAD.size + HEAD.unpack_from(inbox, place)[0]
            if end > len(inbox):
                break
            answer = decode_answer(inbox[place + HEAD.size : end])
            place = end
            if not self._ready:
                self._ready = True
                self.at_work_since = time.monotonic()
                continue
            verdict = Verdict(
                answer.cause,
                answer.started_at,
                answer.ended_at,
                0 if answer.cause is Cause.FINISHED else _FAILED,
                answer.rows,
                answer.error,
                answer.cpu_s,
                answer.peak_rss_bytes,
            )
            ended.append(self.conclude(verdict))
        inbox.release()
        del self._inbox[:place]
        if ended:
            # It has been at the next one since the last answer, not since we heard of it.
            late_s = max(0.0, time.time() - ended[-1].ended_at)
            self.at_work_since = time.monotonic() - late_s
        return ended

    def close(self) -> None:
        os.close(self._outlet)
        os.close(self._bell)
