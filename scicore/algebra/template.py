"""`%=TAG%` substitution. A command is split into arguments first and filled in afterwards,
so a value is always (part of) one argument: it can never become another word, let alone code.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import lru_cache

_TAG = re.compile(r"%=([A-Za-z_][A-Za-z0-9_]*)%")


def tags(text: str) -> tuple[str, ...]:
    """The names of the tags in a text, each once, in order of appearance."""
    return tuple(dict.fromkeys(_TAG.findall(text)))


def substitute(text: str, values: Mapping[str, str]) -> str:
    """Fill in the tags. Field names match whatever their case, as in the original system.

    Filled-in values are not looked at again, so a value that looks like a tag stays as it is; so
    does a tag that nobody knows (in commands, the specification's check has refused those).
    """
    if "%=" not in text:
        return text
    folded = {name.upper(): value for name, value in values.items()}
    return _TAG.sub(lambda match: folded.get(match[1].upper(), match[0]), text)


def arguments(command: str, values: Mapping[str, str]) -> tuple[str, ...]:
    """The argument vector of a command for one activation."""
    words = _words(command)
    return tuple([substitute(word, values) for word in words]) if "%=" in command else words


@lru_cache(maxsize=1024)
def _words(command: str) -> tuple[str, ...]:
    return tuple(shlex.split(command))
