"""What a value in a dataset must be to fit its field, and what the tuple then holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from scicore.algebra.output import is_number
from scicore.model.workflow import Activity, Field, FieldType, Relation
from scicore.spec.program import need_field

Fit = Callable[[str], str]
"""The value as it shall be in the tuple; raises Unfit."""


class Unfit(ValueError):
    def __init__(self, kind: str, expected: str, detail: str = "") -> None:
        super().__init__(expected)
        self.kind = kind  # the field's type
        self.expected = expected
        self.detail = detail  # what is wrong, where the value alone does not show it


def fits(relation: Relation, activities: Iterable[Activity], places: Places) -> dict[str, Fit]:
    """How the values of a dataset's fields are judged; fields that take anything are left out."""
    uses = _uses(relation, activities)
    found: dict[str, Fit] = {}
    for field in relation.fields:
        if field.type is FieldType.FILE:
            found[field.name] = places.locate
        elif field.type is FieldType.FLOAT:
            found[field.name] = _number(field, uses.get(field.name.casefold(), ""))
    return found


def _uses(relation: Relation, activities: Iterable[Activity]) -> Mapping[str, str]:
    """Fields that tell what an activation needs, and which of its needs; cpus ask for most."""
    uses: dict[str, str] = {}
    for activity in activities:
        if activity.producer is None and activity.input.name == relation.name:
            needs = {
                "runtime": activity.runtime_s,
                "memory": activity.memory_mb,
                "cpus": activity.cpus,
            }
            uses |= {need_field(text).casefold(): need for need, text in needs.items()}
    return uses


def _number(field: Field, use: str) -> Fit:
    places = field.decimal_places

    def fit(value: str) -> str:
        if not is_number(value):
            raise Unfit("float", "a finite number with a decimal point, e.g. 3 or 2.5e-1")
        number = float(value)
        if use == "cpus" and (number < 1 or not number.is_integer()):
            raise Unfit("float", "a whole number from 1 up: the activity's cpus")
        if use and number < 0:
            raise Unfit("float", f"a number from 0 up: the activity's {use}")
        return value if places is None else f"{number:.{places}f}"

    return fit


@dataclass(frozen=True, slots=True)
class Places:
    """Where the files of a dataset may be: the workflow's own two directories.

    Paths are compared as they are written. A link inside the directories may lead elsewhere: it is
    the user who made it, whereas a dataset may come from anybody.
    """

    workflow: str  # WFDIR, absolute
    experiment: str  # EXPDIR, absolute

    def locate(self, value: str) -> str:
        """The absolute path of the file that a value names; an empty value names none."""
        if not value:
            return value
        bases = (self.experiment, f"{self.experiment}/input", self.workflow)
        written = [value] if value.startswith("/") else [f"{base}/{value}" for base in bases]
        paths = [os.path.normpath(path) for path in written]
        inside = [path for path in paths if self._holds(path)]
        for path in inside:
            if Path(path).is_file():
                return path
        if paths[0] not in inside:
            raise Unfit(
                "file",
                f"a file below {self.workflow}: move it there, or make a symbolic link to it there",
                ", which leads out of the workflow's directories",
            )
        directory = next((path for path in inside if Path(path).is_dir()), "")
        looked = f"a directory: {directory}" if directory else f"not there: {', '.join(inside)}"
        expected = "an existing file, absolute or relative to expdir"
        raise Unfit("file", expected, f", which is {looked}")

    def _holds(self, path: str) -> bool:
        return any(
            path.startswith(f"{root.rstrip('/')}/") for root in (self.workflow, self.experiment)
        )
