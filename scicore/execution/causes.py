"""Why an attempt died, told from what it left behind, and whether another one can help."""

from __future__ import annotations

import errno
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from scicore.model.activation import Cause

# A program that the shell of a script could not find or not execute ends with these.
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
_SHELL_SIGNAL = 128  # a shell reports a child's death by signal N as 128 + N
NEAR_LIMIT = 0.9  # of its memory limit: who crashes there crashed for it
FAR_FROM_LIMIT = 0.5  # whom SIGKILL meets below that was not killed for its memory

_CRASHES = frozenset({signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS})

_OUT_OF_MEMORY = re.compile(
    r"\bMemoryError\b"
    r"|ArrayMemoryError\b"  # numpy
    r"|std::bad_alloc"
    r"|java\.lang\.OutOfMemoryError"
    r"|[Cc]annot allocate (memory|vector of size)"  # libc's ENOMEM; R
    r"|\b[Oo]ut[ -]of[ -][Mm]emory\b"
    r"|\boom[-_ ]?kill"
    r"|\bOOM[- ]?[Kk]illed\b"
    r"|Memory cgroup out of memory"
    r"|\bENOMEM\b"
    r"|(virtual )?memory exhausted"
    r"|fatal error: runtime: out of memory"  # Go
    r"|memory allocation of \d+ bytes failed"  # Rust
    r"|JavaScript heap out of memory"
    r"|OutOfMemory(Error|Exception)\b"  # Julia, .NET
    r"|NoMemoryError|failed to allocate memory"  # Ruby, and many a C program
    r"|Allowed memory size of \d+ bytes exhausted"  # PHP
    r"|GC overhead limit exceeded"
    r"|\b([Nn]ot enough|[Ii]nsufficient) (memory|space for the Java)"
    r"|Exceeded (job|step) memory limit"  # Slurm
    r"|Unable to allocate [\d.]+ [KMGTP]i?B"  # numpy
)
_DISK_FULL = re.compile(
    r"No space left on device"
    r"|\bENOSPC\b"
    r"|\bEDQUOT\b"
    r"|[Dd]isk quota exceeded"
    r"|\b[Dd]isk (is )?full\b"
    r"|\bQuota exceeded\b"
)
_DISK_FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_PROGRAM_ERRORS = frozenset({errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR})


def cause_of_exit(
    exit_code: int,
    stderr_tail: str = "",
    peak_rss_bytes: int = 0,
    memory_limit_bytes: int = 0,
    *,
    sized: bool = False,
) -> Cause:
    """Why a program that nobody told to end did; a negative exit code is a signal's number.

    The limit is what the program may use at most, if only its VM's memory; 0 = not known. Words
    of stderr count only when the program failed: many print `MemoryError` and recover. Who is
    `sized` and killed is taken to lack memory, wherever it was: a container's peak is not seen.
    """
    if exit_code == 0:
        return Cause.FINISHED
    killed_by = _signal_of(exit_code)
    used = peak_rss_bytes / memory_limit_bytes if memory_limit_bytes else None
    if used is not None and used >= NEAR_LIMIT and killed_by in _CRASHES:
        return Cause.OUT_OF_MEMORY
    if _DISK_FULL.search(stderr_tail) or killed_by == signal.SIGXFSZ:
        return Cause.DISK_FULL
    if _OUT_OF_MEMORY.search(stderr_tail):
        return Cause.OUT_OF_MEMORY
    if killed_by == signal.SIGKILL and (sized or used is None or used >= FAR_FROM_LIMIT):
        return Cause.OUT_OF_MEMORY  # the kernel's last resort leaves no other trace
    if killed_by == signal.SIGXCPU:
        return Cause.TIMEOUT
    if exit_code in (_NOT_EXECUTABLE, _NOT_FOUND):
        return Cause.NO_PROGRAM
    return Cause.SIGNAL if exit_code < 0 else Cause.EXIT_CODE


def cause_of_error(number: int | None, *, starting: bool) -> Cause:
    """Why an operating system's error ended an attempt; `starting`: the program itself could not
    be executed, else its workspace or its output could not be dealt with."""
    if number in _DISK_FULL_ERRORS:
        return Cause.DISK_FULL
    if number == errno.ENOMEM:
        return Cause.OUT_OF_MEMORY
    if starting and number in _NO_PROGRAM_ERRORS:
        return Cause.NO_PROGRAM
    return Cause.NOT_STARTED


def _signal_of(exit_code: int) -> int:
    """The signal that ended the program, or a child that its shell waited for; 0 = none."""
    if exit_code < 0:
        return -exit_code
    return exit_code - _SHELL_SIGNAL if _SHELL_SIGNAL < exit_code < _SHELL_SIGNAL + 65 else 0


# --- what is tried again --------------------------------------------------------------------------


class Where(Enum):
    """Which VM another attempt may help on."""

    ANY = auto()  # the same one as well
    RATHER_ELSEWHERE = auto()
    ONLY_ELSEWHERE = auto()


@dataclass(frozen=True, slots=True)
class Retry:
    counts: bool = True  # against max_failure
    where: Where = Where.ANY


RETRY: Mapping[Cause, Retry] = {
    Cause.EXIT_CODE: Retry(),
    Cause.SIGNAL: Retry(),
    Cause.OUT_OF_MEMORY: Retry(where=Where.RATHER_ELSEWHERE),
    Cause.DISK_FULL: Retry(where=Where.RATHER_ELSEWHERE),
    Cause.NO_PROGRAM: Retry(where=Where.ONLY_ELSEWHERE),
    Cause.NO_DATA: Retry(where=Where.RATHER_ELSEWHERE),
    Cause.NOT_STARTED: Retry(where=Where.RATHER_ELSEWHERE),
    Cause.TIMEOUT: Retry(),
    Cause.MISSING_OUTPUT: Retry(),
    Cause.BAD_OUTPUT: Retry(),
    Cause.CANCELLED: Retry(counts=False),
    Cause.LOST_VM: Retry(counts=False),
    Cause.PREEMPTED: Retry(counts=False),
}
"""Every cause but FINISHED; docs/reliability.md explains it to users."""
