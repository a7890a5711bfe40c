"""Programs: started without a shell, each in its own session, measured when they end.

The only file that starts users' programs.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import shlex
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from scicore.algebra.output import BadOutput
from scicore.algebra.template import arguments, substitute
from scicore.engine import workspace
from scicore.engine.staging import Staged, output_files, stage
from scicore.engine.wire import Welcome
from scicore.execution.messages import AttemptEnded, FileFound, Start, Usage
from scicore.model.activation import Cause
from scicore.model.workflow import Activity, Row

GRACE_S = 3.0  # between SIGTERM and SIGKILL

# The launcher's variables would confuse a program that uses MPI itself.
_LAUNCHER = ("OMPI_", "PMIX_", "PRTE_", "OPAL_")
# The provenance database is none of a program's business.
_SECRETS = frozenset({"SCICUMULUS_DATABASE_URL", "PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE"})


def program_environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name not in _SECRETS and not name.startswith(_LAUNCHER)
    }


@dataclass(slots=True)
class _Program:
    """One attempt under way."""

    order: Start
    activity: Activity
    directory: Path
    started_at: float
    process: subprocess.Popen[bytes]
    pidfd: int
    command: str
    staged: Staged
    timeout_at: float | None  # monotonic
    extracting: bool = False  # the extractor runs now
    ended_by_us: Cause | None = None  # it was told to end, and why
    kill_at: float | None = None  # monotonic; when SIGTERM was not enough
    usage: Usage = field(default_factory=Usage)


class Runner:
    """Runs what a slave is ordered to. Never raises for what a program does."""

    def __init__(self, welcome: Welcome) -> None:
        self._welcome = welcome
        self._activities = {activity.tag: activity for activity in welcome.activities}
        self._directories = {
            "WFDIR": welcome.workflow_directory,
            "EXPDIR": welcome.experiment_directory,
            "RUNDIR": welcome.run_directory,
        }
        self._environment = program_environment()
        self._programs: dict[int, _Program] = {}  # by pidfd
        self._exited: list[_Program] = []  # not reaped: children of theirs may be left
        self._poll = select.poll()
        self._stillborn: list[AttemptEnded] = []  # could not even be started

    @property
    def busy(self) -> bool:
        return bool(self._programs or self._exited or self._stillborn)

    def start(self, order: Start) -> None:
        activity = self._activities[order.activity]
        directory = Path(self._welcome.run_directory, order.workspace)
        started_at = time.time()
        command = activity.command  # for the record, until its values are filled in
        try:
            workspace.make(directory)
            staged = stage(directory, activity, order.rows, self._directories)
            words = arguments(activity.command, self._values(activity, staged))
            command = shlex.join(words)
            process = self._spawn(words, directory, activity, staged)
        except (OSError, ValueError) as error:  # no such program, no permission, bad data
            self._stillborn.append(
                AttemptEnded(
                    activation=order.activation,
                    number=order.number,
                    cause=Cause.NOT_STARTED,
                    started_at=started_at,
                    ended_at=time.time(),
                    command=command,
                    workspace=str(directory),
                    stderr_tail=f"scicumulus: the program could not be started: {error}",
                )
            )
            return
        timeout_s = activity.timeout_s
        self._watch(
            _Program(
                order=order,
                activity=activity,
                directory=directory,
                started_at=started_at,
                process=process,
                pidfd=os.pidfd_open(process.pid),
                command=command,
                staged=staged,
                timeout_at=time.monotonic() + timeout_s if timeout_s else None,
            )
        )

    def cancel(self, activation: int, number: int) -> None:
        for program in self._programs.values():
            order = program.order
            if (order.activation, order.number) == (activation, number):
                _ask_to_end(program, Cause.CANCELLED)

    def wait(self, timeout_s: float) -> list[AttemptEnded]:
        """The attempts that ended, waiting for the first one no longer than the timeout."""
        ended, self._stillborn = self._stillborn, []
        timeout_ms = 0 if ended else max(1, round(timeout_s * 1000))
        for pidfd, _ in self._poll.poll(timeout_ms):
            self._poll.unregister(pidfd)
            os.close(pidfd)
            self._exited.append(self._programs.pop(pidfd))
        now = time.monotonic()
        for program in self._programs.values():
            if program.timeout_at is not None and now > program.timeout_at:
                _ask_to_end(program, Cause.TIMEOUT)
        for program in (*self._programs.values(), *self._exited):
            if program.kill_at is not None and now > program.kill_at:
                _signal(program, signal.SIGKILL)
        exited, self._exited = self._exited, []
        for program in exited:
            if program.kill_at is not None and now <= program.kill_at and _groups(program):
                self._exited.append(program)  # cancelled, and its children have their grace too
                continue
            attempt = self._program_ended(program)
            if attempt is not None:
                ended.append(attempt)
        return ended

    def kill_all(self) -> None:
        """The slave is being ended: nothing it started may stay."""
        for program in (*self._programs.values(), *self._exited):
            _signal(program, signal.SIGKILL)

    def _values(self, activity: Activity, staged: Staged) -> dict[str, str]:
        """What the tags of the activity's texts stand for."""
        return {**activity.input.as_mapping(staged.seen[0]), **self._directories}

    def _spawn(
        self, words: tuple[str, ...], directory: Path, activity: Activity, staged: Staged
    ) -> subprocess.Popen[bytes]:
        environment = self._environment
        if activity.environment:
            values = self._values(activity, staged)
            wanted = {name: substitute(text, values) for name, text in activity.environment}
            environment = {**environment, **wanted}
        try:
            return _popen(words, directory, environment)
        except OSError as error:
            # A script of the workspace without `#!`, or without leave to be executed, as the
            # templates of old have: what a shell would do with it.
            script = words[0].startswith("./") and (directory / words[0]).is_file()
            if not script or error.errno not in (errno.ENOEXEC, errno.EACCES):
                raise
            return _popen(("/bin/sh", *words), directory, environment)

    def _watch(self, program: _Program) -> None:
        self._programs[program.pidfd] = program
        self._poll.register(program.pidfd, select.POLLIN)

    def _program_ended(self, program: _Program) -> AttemptEnded | None:
        """Reap; go on with the extractor if there is one left to run."""
        exit_code, usage = _reap(program.process)
        program.usage = _add(program.usage, usage)
        extractor = program.activity.extractor
        if exit_code == 0 and extractor and not program.extracting and not program.ended_by_us:
            return self._extract(program, extractor)
        return self._conclude(program, exit_code)

    def _extract(self, program: _Program, extractor: str) -> AttemptEnded | None:
        try:
            words = arguments(extractor, self._values(program.activity, program.staged))
            program.process = self._spawn(
                words, program.directory, program.activity, program.staged
            )
        except (OSError, ValueError) as error:
            return _ended(program, Cause.NOT_STARTED, 0, note=f"the extractor: {error}")
        program.extracting = True
        program.pidfd = os.pidfd_open(program.process.pid)
        self._watch(program)
        return None

    def _conclude(self, program: _Program, exit_code: int) -> AttemptEnded:
        ended = self._verdict(program, exit_code)
        program.staged.clean(finished=ended.cause is Cause.FINISHED)
        return ended

    def _verdict(self, program: _Program, exit_code: int) -> AttemptEnded:
        if program.ended_by_us is not None:
            return _ended(program, program.ended_by_us, exit_code)
        if exit_code < 0:
            return _ended(program, Cause.SIGNAL, exit_code)
        if exit_code > 0:
            return _ended(program, Cause.EXIT_CODE, exit_code)
        directory, activity = program.directory, program.activity
        try:
            rows = workspace.read_output(directory, activity, program.staged.kept)
            rows, files = output_files(directory, activity, rows, self._directories)
        except (BadOutput, OSError) as error:
            return _ended(program, Cause.BAD_OUTPUT, exit_code, note=str(error))
        return _ended(program, Cause.FINISHED, exit_code, rows=rows, files=files)


def _popen(
    words: tuple[str, ...], directory: Path, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    with (
        (directory / workspace.STDOUT).open("ab") as stdout,
        (directory / workspace.STDERR).open("ab") as stderr,
    ):
        return subprocess.Popen(
            words,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )


def _ask_to_end(program: _Program, cause: Cause) -> None:
    """SIGTERM now, SIGKILL after the grace period; the first reason counts."""
    if program.ended_by_us is None:
        program.ended_by_us = cause
        program.kill_at = time.monotonic() + GRACE_S
        _signal(program, signal.SIGTERM)


def _ended(
    program: _Program,
    cause: Cause,
    exit_code: int,
    rows: tuple[Row, ...] = (),
    files: tuple[FileFound, ...] = (),
    note: str = "",
) -> AttemptEnded:
    tail = "" if cause is Cause.FINISHED else workspace.stderr_tail(program.directory)
    return AttemptEnded(
        activation=program.order.activation,
        number=program.order.number,
        cause=cause,
        started_at=program.started_at,
        ended_at=time.time(),
        exit_code=exit_code,
        command=program.command,
        workspace=str(program.directory),
        stderr_tail="\n".join(part for part in (tail, f"scicumulus: {note}" * bool(note)) if part),
        usage=program.usage,
        rows=rows,
        files=files,
    )


def _signal(program: _Program, number: signal.Signals) -> None:
    """To the program's whole session, so that its children go with it."""
    for group in {program.process.pid} | _groups(program):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, number)


def _groups(program: _Program) -> set[int]:
    """Process groups alive in the program's session: a child may lead its own, as `timeout` does.

    The program itself is not reaped yet, so that its id, the session's, is nobody else's.
    """
    groups = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it is gone meanwhile
            state, _, group, session = stat.read_bytes().rpartition(b")")[2].split()[:4]
            if int(session) == program.process.pid and state != b"Z":
                groups.add(int(group))
    return groups


def _reap(process: subprocess.Popen[bytes]) -> tuple[int, Usage]:
    """Exit code (negative = signal) and usage.

    The kernel adds a child's I/O to its parent's when it is reaped. What the zombie itself would
    tell is for root's eyes only.
    """
    read_before, written_before = _own_io()
    _, status, used = os.wait4(process.pid, 0)
    read_after, written_after = _own_io()
    process.returncode = os.waitstatus_to_exitcode(status)  # so that Popen does not wait again
    usage = Usage(
        cpu_s=used.ru_utime + used.ru_stime,
        peak_rss_bytes=used.ru_maxrss * 1024,
        read_bytes=read_after - read_before,
        written_bytes=written_after - written_before,
    )
    return process.returncode, usage


def _own_io() -> tuple[int, int]:
    """Bytes read and written by this process and the children that it has reaped."""
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
    except OSError:  # a kernel that does not count
        return 0, 0
    figures = dict(line.split(": ") for line in lines)
    return int(figures["rchar"]), int(figures["wchar"])


def _add(one: Usage, other: Usage) -> Usage:
    return Usage(
        cpu_s=one.cpu_s + other.cpu_s,
        peak_rss_bytes=max(one.peak_rss_bytes, other.peak_rss_bytes),
        read_bytes=one.read_bytes + other.read_bytes,
        written_bytes=one.written_bytes + other.written_bytes,
    )
