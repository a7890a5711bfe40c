"""What can go wrong, told so that a scientist can act upon it.

    ScicumulusError            exit code 3: something around the run is broken
    ├── SpecificationError     exit code 2: the workflow's text; carries every defect found
    ├── UsageError             exit code 2: what was asked for makes no sense
    ├── DatabaseError          exit code 3: PostgreSQL cannot be reached, started or understood
    ├── LaunchError            exit code 3: mpirun, or the world it made, is not what a run needs
    └── RunFailed              for Python programs: a run did not finish; carries what went wrong

A user's program that fails is data (an attempt with an exit code), never one of these; only who
asks for a run from Python, and does not say `check=False`, is told of its end by RunFailed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


class ScicumulusError(Exception):
    """Base of all errors that are shown to the user as a message, without a traceback."""

    exit_code = 3

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint  # what to do next

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class UsageError(ScicumulusError):
    exit_code = 2


class DatabaseError(ScicumulusError):
    pass


class LaunchError(ScicumulusError):
    pass


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing wrong in a text that the user wrote."""

    file: str
    line: int  # 1-based; 0 when the defect has no place of its own
    found: str
    expected: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: found {self.found}; expected {self.expected}"


class SpecificationError(ScicumulusError):
    """All defects of a specification at once, in the order of their lines."""

    exit_code = 2

    def __init__(self, defects: Iterable[Defect]) -> None:
        self.defects = tuple(sorted(defects, key=lambda defect: (defect.file, defect.line)))
        count = len(self.defects)
        what = "1 problem" if count == 1 else f"{count} problems"
        listing = "\n".join(f"  {defect}" for defect in self.defects)
        super().__init__(f"the specification has {what}; nothing was started:\n{listing}")


class RunFailed(ScicumulusError):
    """A run that did not finish, and its first failed activation, if one failed."""

    exit_code = 1

    def __init__(
        self,
        run: Any,
        state: str,
        reason: str = "",
        *,
        failed: int = 0,  # activations
        blocked: int = 0,
        activation: str = "",
        attempts: int = 0,
        vm: str = "",
        host: str | None = "",
        cause: str | None = "",
        program_exit_code: int | None = None,
        command: str | None = "",
        workspace: str | None = "",
        stderr: str = "",
    ) -> None:
        self.run = run  # a scicore.Run, for everything else
        self.state, self.reason = state, reason
        self.failed, self.blocked = failed, blocked
        self.activation, self.attempts = activation, attempts
        self.vm, self.host = vm, host or ""
        self.cause, self.program_exit_code = cause or "", program_exit_code
        self.command, self.workspace = command or "", workspace or ""
        self.stderr = stderr  # its last lines
        why = f" ({reason})" if reason else ""
        message = f"run {run.id} is {state}{why}: {failed} activations failed, {blocked} blocked"
        if activation:
            code = "" if program_exit_code is None else f" {program_exit_code}"
            message += (
                f"\n  first: {activation} on {vm} ({self.host}), {self.cause}{code}, "
                f"attempt {attempts}\n  command: {self.command}\n  workspace: {self.workspace}"
            )
        if stderr:
            message += "\n  stderr: " + stderr.replace("\n", "\n          ")
        super().__init__(message)
