"""Parameters of algorithms: frozen dataclasses whose fields the user may set by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, TypeVar, get_type_hints

from scicore.errors import UsageError

T = TypeVar("T")
WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class Parameters:
    """Of an algorithm that has none; the others' derive from it."""


@dataclass(frozen=True, slots=True)
class Limits:
    help: str
    least: float
    most: float


def setting(default: T, help: str, least: float = -float("inf"), most: float = float("inf")) -> T:
    """A field of a Parameters class, documented for `--set NAME=VALUE`."""
    value: T = dataclasses.field(default=default, metadata={"limits": Limits(help, least, most)})
    return value


def read_settings(
    kind: type[Parameters], algorithm: str, settings: Mapping[str, str]
) -> Parameters:
    """The parameters that the user has set, the others at their defaults."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    types = get_type_hints(kind)
    values: dict[str, Any] = {}
    for name, text in settings.items():
        if name not in fields:
            close = get_close_matches(name, fields, n=1, cutoff=0.5)
            guess = f"; did you mean {close[0]!r}?" if close else ""
            known = ", ".join(fields) or "none"
            raise UsageError(
                f"algorithm {algorithm} has no parameter {name!r}{guess}", f"it has: {known}"
            )
        values[name] = _value(f"--set {name}={text}", text, types[name], limits_of(fields[name]))
    return kind(**values)


def limits_of(field: dataclasses.Field[Any]) -> Limits:
    limits: Limits = field.metadata["limits"]
    return limits


def _value(where: str, text: str, kind: type, limits: Limits) -> object:
    if issubclass(kind, StrEnum):
        if text not in list(kind):
            raise UsageError(f"{where}: expected one of {', '.join(kind)}")
        return kind(text)
    if kind is bool:
        if text.lower() not in WORDS:
            raise UsageError(f"{where}: expected true or false")
        return WORDS[text.lower()]
    if kind not in (int, float):
        return text
    try:
        number = kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise UsageError(f"{where}: expected {what}") from None
    if not limits.least <= number <= limits.most:  # not a number is not between them, either
        raise UsageError(f"{where}: expected a number from {limits.least:g} to {limits.most:g}")
    return number


def as_texts(parameters: Parameters) -> dict[str, str]:
    """As they are stored with a plan."""
    return {
        field.name: str(getattr(parameters, field.name)) for field in dataclasses.fields(parameters)
    }
