"""What can go wrong, told so that a scientist can act upon it.

    ScicumulusError            exit code 3: something around the run is broken
    ├── SpecificationError     exit code 2: the workflow's text; carries every defect found
    ├── UsageError             exit code 2: what was asked for makes no sense
    ├── DatabaseError          exit code 3: PostgreSQL cannot be reached, started or understood
    └── LaunchError            exit code 3: mpirun, or the world it made, is not what a run needs

A user's program that fails is data (an attempt with an exit code), never one of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


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
