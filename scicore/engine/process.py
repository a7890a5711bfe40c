"""One process of a user's program: started in a session of its own, watched, ended, measured.

The only file that starts users' programs.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from scicore.execution.messages import Usage

_PAGE = os.sysconf("SC_PAGE_SIZE")

# The launcher's variables would confuse a program that uses MPI, or scicumulus, itself.
_LAUNCHER = ("OMPI_", "PMIX_", "PRTE_", "OPAL_", "SCICUMULUS_SUPERVISED")
_LIBRARIES = "LD_LIBRARY_PATH"  # mpirun puts its own first: programs would search them, too
# The provenance database is none of a program's business.
_SECRETS = frozenset({"SCICUMULUS_DATABASE_URL", "PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE"})
ATTEMPT = "SCICUMULUS_ATTEMPT"  # tells to which attempt a process belongs, wherever it went


Environment = Mapping[bytes, bytes]


def program_environment() -> dict[bytes, bytes]:
    """As it was before there was a launcher."""
    variables = dict(os.environ)
    ours = str(Path(sys.prefix, "lib"))
    places = [place for place in variables.pop(_LIBRARIES, "").split(":") if place != ours]
    if any(places):
        variables[_LIBRARIES] = ":".join(places)
    return {
        os.fsencode(name): os.fsencode(value)
        for name, value in variables.items()
        if name not in _SECRETS and not name.startswith(_LAUNCHER)
    }


def with_variables(environment: Environment, *variables: tuple[str, str]) -> Environment:
    changed = dict(environment)
    for name, value in variables:
        changed[os.fsencode(name)] = os.fsencode(value)
    return changed


class Io(NamedTuple):
    """Of this process, and of the children that it has reaped."""

    read_bytes: int = 0
    written_bytes: int = 0
    asked_bytes: int = 0  # to ask is to read: so much more will have been read by the next time


class Process(NamedTuple):
    pid: int
    pidfd: int  # readable when the process has ended

    def signal(self, number: signal.Signals) -> None:
        """To the whole session, so that the program's children get it, too."""
        for group in {self.pid} | groups(self.pid):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, number)

    def cpu_s(self) -> float:
        """So far, of the process itself; 0 when it is gone."""
        clock = (~self.pid << 3) | 2  # Linux: the CPU clock of a process
        try:
            return time.clock_gettime(clock)
        except OSError:
            return 0.0

    def reap(self, before: Io | None = None) -> tuple[int, Usage, Io]:
        """Exit code (negative = signal), usage, and what is `before` for the next one, if nothing
        is read or written until then.

        The kernel adds a child's I/O to its parent's when it is reaped. What the zombie itself
        would tell is for root's eyes only.
        """
        before = before or own_io()
        _, status, used = os.wait4(self.pid, 0)
        after = own_io()
        os.close(self.pidfd)
        usage = Usage(
            used.ru_utime + used.ru_stime,
            used.ru_maxrss * 1024,
            max(0, after.read_bytes - before.read_bytes - before.asked_bytes),
            after.written_bytes - before.written_bytes,
        )
        return os.waitstatus_to_exitcode(status), usage, after


class Call(NamedTuple):
    """A program that can be started, with all that can be done for it beforehand."""

    program: str | None  # None: there was no such program when it was looked for
    words: tuple[str, ...]
    directory: str
    environment: Environment
    streams: tuple[tuple[int, int, int], ...]  # as posix_spawn wants them


def call(
    words: tuple[str, ...],
    directory: str,
    environment: Environment,
    out: int,
    err: int,
    read: int | None = None,
) -> Call:
    """On descriptors of ours; nothing to read from: it finds nothing there."""
    stdin = _null() if read is None else read
    streams = [
        (os.POSIX_SPAWN_DUP2, stream, target) for target, stream in enumerate((stdin, out, err))
    ]
    return Call(_find(words[0], environment), words, directory, environment, tuple(streams))


def spawn(called: Call) -> Process:
    try:
        return _spawn(called)
    except OSError as error:
        # A script of the workspace without `#!`, or without leave to be executed, as the
        # templates of old have: what a shell would do with it.
        words, directory = called.words, called.directory
        script = words[0].startswith("./") and Path(directory, words[0]).is_file()
        if not script or error.errno not in (errno.ENOEXEC, errno.EACCES):
            raise
        return _spawn(called._replace(program="/bin/sh", words=("/bin/sh", *words)))


def spawn_warm(
    words: tuple[str, ...],
    directory: Path,
    environment: Environment,
    *,
    read: int | None = None,
    out: int,
    err: int,
    kept: tuple[int, ...] = (),
) -> Process:
    """A process that serves many activations, on descriptors of its keeper."""
    for descriptor in kept:
        os.set_inheritable(descriptor, True)
    try:
        return _spawn(call(words, str(directory), environment, out, err, read))
    finally:
        for descriptor in kept:
            os.set_inheritable(descriptor, False)


_elsewhere = Lock()  # held while this process is in a workspace: tests have keepers in threads
# Python ignores some, programs must not. For one that is not named, posix_spawn asks first what
# becomes of it: to name all of them is a tenth of a spawn less.
_DEFAULT_SIGNALS = tuple(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})


def _spawn(called: Call) -> Process:
    """By posix_spawn, which is less work than subprocess. It knows no working directory but its
    parent's."""
    program, words, directory, environment, streams = called
    program = program or _find(words[0], environment)
    if program is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), words[0])
    with _elsewhere:
        os.chdir(directory)
        try:
            pid = os.posix_spawn(
                program,
                words,
                environment,
                file_actions=streams,
                setsid=True,
                setsigdef=_DEFAULT_SIGNALS,
            )
        finally:
            os.fchdir(_home())
    return Process(pid, os.pidfd_open(pid))


def _find(program: str, environment: Environment) -> str | None:
    if "/" in program:
        return program
    places = environment.get(b"PATH", os.defpath.encode())
    return shutil.which(program, path=os.fsdecode(places))


@cache
def _home() -> int:
    return os.open(".", os.O_RDONLY | os.O_DIRECTORY)


@cache
def _null() -> int:
    return os.open(os.devnull, os.O_RDWR)


@cache
def memory_bytes() -> int:
    """What the programs of this host may use at most: its memory, or what its cgroup leaves."""
    limits = [os.sysconf("SC_PHYS_PAGES") * _PAGE]
    with contextlib.suppress(OSError):
        place = Path("/proc/self/cgroup").read_text().rpartition("::/")[2].strip()
        group = Path("/sys/fs/cgroup", place)
        for directory in (group, *group.parents):
            with contextlib.suppress(OSError, ValueError):  # `max` is no number
                limits.append(int((directory / "memory.max").read_text()))
    return min(limits)


# --- what /proc tells ---------------------------------------------------------------------------


class Seen(NamedTuple):
    pid: int
    state: str
    parent: int
    group: int
    session: int
    rss_bytes: int


def look(pid: int | str) -> Seen | None:
    """A process as the kernel shows it; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:  # noqa: PTH123 (a path costs as much)
            text = stream.read()
    except OSError:
        return None
    words = text.rpartition(b")")[2].split()
    return Seen(
        int(pid),
        words[0].decode(),
        int(words[1]),
        int(words[2]),
        int(words[3]),
        int(words[21]) * _PAGE,
    )


def everyone() -> Iterator[Seen]:
    """All processes that are alive."""
    for name in os.listdir("/proc"):  # noqa: PTH208 (paths of all files would be made for nothing)
        if name.isdecimal():
            seen = look(name)
            if seen is not None and seen.state != "Z":
                yield seen


def groups(session: int) -> set[int]:
    """Process groups alive in a session: a child may lead its own, as `timeout` does.

    The session's leader must not be reaped yet, so that its id is nobody else's.
    """
    return {seen.group for seen in everyone() if seen.session == session}


def memory_of_sessions() -> dict[int, int]:
    """Bytes resident now, by session."""
    memory: dict[int, int] = {}
    for seen in everyone():
        memory[seen.session] = memory.get(seen.session, 0) + seen.rss_bytes
    return memory


def memory_of_tree(pid: int) -> int:
    """Bytes resident now, of a process and its descendants: less to read than all processes."""
    total, left = 0, [pid]
    while left:
        seen = look(one := left.pop())
        if seen is None:
            continue
        total += seen.rss_bytes
        with contextlib.suppress(OSError):  # it has ended meanwhile
            for task in os.listdir(f"/proc/{one}/task"):  # noqa: PTH208
                left += map(int, Path(f"/proc/{one}/task/{task}/children").read_bytes().split())
    return total


def own_memory(session: int) -> int:
    """Bytes that the processes of a session hold together, what they share counted once; 0 = the
    kernel does not tell."""
    total = 0
    for seen in everyone():
        if seen.session != session:
            continue
        try:
            text = Path(f"/proc/{seen.pid}/smaps_rollup").read_bytes()
        except OSError:
            continue
        found = re.search(rb"^Pss: +(\d+) kB", text, re.MULTILINE)
        total += int(found[1]) * 1024 if found else 0
    return total


_SHORT = 2048  # bytes; the kernel gives less only when there is no more


def children() -> set[int]:
    """Of this process's main thread: those it started, and orphans that were left to it."""
    text = b""
    try:
        while chunk := os.pread(_children(), 4096, len(text)):
            text += chunk
            if len(chunk) < _SHORT:
                break
    except OSError:  # a kernel that does not tell
        return set()
    return set(map(int, text.split()))


def attempt_of(pid: int) -> str:
    """The attempt that a process says it belongs to; empty when it does not say."""
    try:
        text = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return ""
    mark = f"{ATTEMPT}=".encode()
    values = [word[len(mark) :] for word in text.split(b"\x00") if word.startswith(mark)]
    return values[-1].decode("utf-8", "replace") if values else ""


def end_marked(mark: str) -> None:
    """Kill every process that says it belongs to an attempt whose mark begins so."""
    for seen in everyone():
        if attempt_of(seen.pid).startswith(mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(seen.pid, signal.SIGKILL)


def own_io() -> Io:
    try:
        text = os.pread(_io_counts(), 100, 0)
    except OSError:  # a kernel that does not count
        return Io()
    words = text.split(maxsplit=4)
    return Io(int(words[1]), int(words[3]), len(text))


@cache
def _children() -> int:
    return os.open(f"/proc/self/task/{os.getpid()}/children", os.O_RDONLY)


@cache
def _io_counts() -> int:
    return os.open("/proc/self/io", os.O_RDONLY)


for _opened in (_home, _null, _children, _io_counts):
    os.register_at_fork(after_in_child=_opened.cache_clear)  # a keeper begins without descriptors
