"""Filling in the tags of a file. In a program's text a value must not become code, so there
only values without any character that means something to an interpreter are let in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath

from scicore.algebra.template import substitute, tags

_HARMLESS = re.compile(r"[\w.,:/@%+=-]*")  # letters and digits of any script, and these
_CODE = frozenset(
    (
        *(".sh", ".bash", ".zsh", ".ksh", ".cmd", ".bat", ".awk", ".sed", ".tcl", ".sql"),
        *(".py", ".pl", ".rb", ".r", ".jl", ".js", ".lua", ".php", ".m"),
    )
)


class UnsafeValue(ValueError):
    """A value would become code."""


def is_code(name: str, text: str, executable: bool) -> bool:
    return executable or text.startswith("#!") or PurePath(name).suffix.lower() in _CODE


def instrument(name: str, text: str, values: Mapping[str, str], *, executable: bool) -> str:
    """The text with its tags filled in; raises UnsafeValue where that could change a program."""
    if is_code(name, text, executable):
        folded = {field.upper(): value for field, value in values.items()}
        for tag in tags(text):
            value = folded.get(tag.upper(), "")
            if not _HARMLESS.fullmatch(value):
                raise UnsafeValue(
                    f"%={tag}% in {name} would put {value[:60]!r} into a program's text, where it "
                    "could act as code; pass it as an argument of the command instead"
                )
    return substitute(text, values)
