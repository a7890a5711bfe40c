"""Programs that read tuples from stdin: one line per tuple, under a header with the fields.

They answer each, in turn, with the lines of its output tuples and an empty line; their first
line is a header, too. Everything is quoted as in datasets.
"""

from __future__ import annotations

import csv
import io
import os
import time
from pathlib import Path

from scicore.algebra.output import BadOutput, output_rows
from scicore.algebra.relation_text import write_lines, write_relation
from scicore.algebra.template import arguments
from scicore.engine import process
from scicore.engine.streams import STDERR
from scicore.engine.warm import Task, Verdict, Worker, open_log
from scicore.execution.messages import AttemptEnded
from scicore.model.activation import Cause
from scicore.model.workflow import Activity, Row

_CALLED = "the answer"


class Answers:
    """Cuts a program's output into answers; pure."""

    def __init__(self, *, header: bool) -> None:
        self._partial = b""  # of a line
        self._record = b""  # lines of a value with line ends
        self._lines: list[bytes] = []  # of the answer that is being read
        self._awaits_header = header
        self.header = b""

    def feed(self, data: bytes) -> list[list[bytes]]:
        """The answers that are complete now, each with its lines."""
        *lines, self._partial = (self._partial + data).split(b"\n")
        complete = []
        for line in lines:
            record = self._record + b"\n" + line if self._record else line
            if b'"' in record and _is_open(record):
                self._record = record
                continue
            self._record = b""
            if record.strip(b"\r"):
                if self._awaits_header:
                    self.header, self._awaits_header = record, False
                else:
                    self._lines.append(record)
            else:
                complete.append(self._lines)
                self._lines = []
        return complete


def _is_open(record: bytes) -> bool:
    """Whether a quoted value goes on in the next line."""
    text = record.decode("utf-8", "replace")
    try:
        for _ in csv.reader(io.StringIO(text, newline=""), delimiter=";", strict=True):
            pass
    except csv.Error as error:
        return "unexpected end of data" in str(error)
    return False


class StdinWorker(Worker):
    """A program of the user, started once for many tuples."""

    def __init__(
        self,
        activity: Activity,
        slots: tuple[int, ...],
        directory: Path,
        directories: dict[str, str],
        environment: process.Environment,
    ) -> None:
        super().__init__(activity, slots, directory, directories)
        words = arguments(activity.command, directories)
        stdin, self._inlet = os.pipe()
        self._outlet, stdout = os.pipe()
        stderr = open_log(directory, STDERR)
        try:
            self.process = process.spawn_warm(
                words, directory, environment, read=stdin, out=stdout, err=stderr
            )
        except (OSError, ValueError):
            self.hang_up()
            self.close()
            raise
        finally:
            for descriptor in (stdin, stdout, stderr):
                os.close(descriptor)
        os.set_blocking(self._inlet, False)
        os.set_blocking(self._outlet, False)
        self._outbox += write_relation(activity.input.field_names, ()).encode()
        self._answers = Answers(header=bool(activity.output.fields))
        self._cpu_s = self.process.cpu_s()
        self._answered_at = 0.0  # seconds since the epoch; 0 = it had nothing to do

    @property
    def outlets(self) -> tuple[int, ...]:
        return (self._outlet,)

    def encoded(self, tasks: list[Task]) -> bytes:
        if len(self.tasks) == len(tasks):  # it had nothing to do
            self._answered_at = time.time()
        return write_lines(task.row for task in tasks).encode()

    def answers(self) -> list[AttemptEnded]:
        data = self.heard()
        if not data or self.leaving:
            return []
        complete = self._answers.feed(data)
        if not complete:
            return []
        cpu_s = self.process.cpu_s()
        each_s, self._cpu_s = (cpu_s - self._cpu_s) / len(complete), cpu_s
        now = time.time()
        took_s = (now - self._answered_at) / len(complete)
        ended = []
        for lines in complete:
            if not self.tasks:
                break  # an answer to nothing
            started_at = self._answered_at
            self._answered_at = started_at + took_s
            verdict = self._judge(lines, self.tasks[0].row, started_at, each_s)
            ended.append(self.conclude(verdict))
            if verdict.cause is not Cause.FINISHED:
                # Who answers wrongly may be out of step: the others are given to another.
                self.dismiss()
                break
        self.at_work_since = time.monotonic()
        return ended

    def _judge(self, lines: list[bytes], row: Row, started_at: float, cpu_s: float) -> Verdict:
        cause, error = Cause.FINISHED, ""
        rows: tuple[Row, ...] = ()
        try:
            rows = self._rows(lines, row)
        except BadOutput as problem:
            cause, error = Cause.BAD_OUTPUT, f"scicumulus: {problem}"
        return Verdict(cause, started_at, self._answered_at, None, rows, error, cpu_s)

    def _rows(self, lines: list[bytes], row: Row) -> tuple[Row, ...]:
        if not self.activity.output.fields:
            return ((),)
        try:
            text = b"\n".join((self._answers.header, *lines, b"")).decode()
        except UnicodeDecodeError as error:
            raise BadOutput(f"{_CALLED} is not UTF-8: {error}") from error
        return output_rows(self.activity, text, (row,), _CALLED)

    def close(self) -> None:
        os.close(self._outlet)
