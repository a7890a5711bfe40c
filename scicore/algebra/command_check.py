"""Commands that cannot be run safely as an argument vector are refused before a run starts.

Two traps: shell syntax, which no shell would ever see, and a tag inside code that an interpreter
is given as an argument (`sh -c "ls %=X%"`), where a value would become part of the program.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from scicore.algebra.template import tags

_SINGLE_QUOTED = re.compile(r"'[^']*'")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.")
_OPERATOR = re.compile(r"&&|\|\||>>|<<|[|&;<>]")
_EXPANSION = re.compile(r"\$[\w({]|`")

# Interpreters that take code after an option, with the letters of such options.
_CODE_OPTIONS = {
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh", "fish"), "c"),
    "python": "c",
    "perl": "eE",
    "ruby": "e",
    "node": "ep",
    "Rscript": "e",
    "php": "r",
    "lua": "e",
}
# Programs whose first plain argument is code, unless a file with the code is given by -f.
_CODE_FIRST = frozenset({"awk", "gawk", "mawk", "nawk", "sed"})
_OPTIONS_WITH_VALUE = frozenset({"-W", "-X", "-v", "-F", "-I", "-r", "-O"})


def defect(command: str) -> tuple[str, str] | None:
    """Why a command is refused, as (found, expected); None when it is fine."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        return f"the command {command!r} ({error})", "balanced quotes"
    if not words:
        return "an empty command", "a program and its arguments"
    syntax = _shell_syntax(command)
    if syntax:
        return (
            f"shell syntax ({syntax!r}) in the command, which is run without a shell",
            "a program and its arguments; put shell code into a script and call that",
        )
    for code in _code_arguments(words):
        if tags(code):
            return (
                f"a tag inside the code {code!r}, where a value would become code",
                "the tag as an argument after the code, or the code in a script file",
            )
    return None


def _shell_syntax(command: str) -> str:
    operator = _OPERATOR.search(_QUOTED.sub("", command))
    expansion = _EXPANSION.search(_SINGLE_QUOTED.sub("", command))
    found = operator or expansion
    return found[0] if found else ""


def _code_arguments(words: Sequence[str]) -> Iterator[str]:
    """The words that some interpreter among the words would run as code.

    Every word may name an interpreter: `env`, `timeout 5` or `nice` may stand before it.
    """
    for position, word in enumerate(words):
        name = word.rpartition("/")[2]
        family = "python" if re.fullmatch(r"python[\d.]*", name) else name
        rest = words[position + 1 :]
        if family in _CODE_OPTIONS:
            yield from _after_code_option(rest, _CODE_OPTIONS[family])
        elif family in _CODE_FIRST:
            yield from _first_plain(rest)


def _after_code_option(words: Sequence[str], letters: str) -> Iterator[str]:
    """Code is glued to its option or follows it; the first plain word is a script: the end."""
    option = re.compile(rf"-[A-Za-z]*[{letters}]")
    rest = iter(words)
    for word in rest:
        if word.startswith(("--eval", "--print")) or option.match(word):
            yield word
            yield next((follower for follower in rest if not follower.startswith("-")), "")
        elif word in _OPTIONS_WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            return


def _first_plain(words: Sequence[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        if word.startswith(("-f", "--file")):  # the code is in a file
            return
        if word in ("-e", "--expression"):
            yield next(rest, "")
        elif word in ("-v", "-F"):
            next(rest, None)
        elif not word.startswith("-"):
            yield word
            return
