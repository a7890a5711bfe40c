"""Filling in files: data anywhere in data, but never as code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scicore.algebra.instrument import UnsafeValue, instrument


def test_a_text_takes_any_value() -> None:
    values = {"NOTE": "$(rm -rf /); '%=ID%'", "ID": "7"}
    filled = instrument("settings.ini", "[%=ID%] %=NOTE%", values, executable=False)
    assert filled == "[7] $(rm -rf /); '%=ID%'"


@pytest.mark.parametrize(
    ("name", "text", "executable"),
    [
        ("run.sh", "echo %=X%", False),
        ("experiment.cmd", "echo %=X%", False),
        ("tool", "#!/usr/bin/perl\nprint '%=X%'", False),
        ("tool", "echo %=X%", True),
        ("model.py", "x = '%=X%'", False),
        ("select.SQL", "SELECT %=X%", False),
    ],
)
@pytest.mark.parametrize("value", ["; ls", "$(ls)", "`ls`", "a b", "'", '"', "a\nb", "f()", "*"])
def test_a_program_takes_no_value_that_could_act_as_code(
    name: str, text: str, executable: bool, value: str
) -> None:
    with pytest.raises(UnsafeValue, match="could act as code"):
        instrument(name, text, {"X": value}, executable=executable)


@pytest.mark.parametrize("value", ["3.14", "-2e5", "/data/é.fits", "a=b,c:d@e", ""])
def test_a_program_takes_plain_values(value: str) -> None:
    assert instrument("run.sh", "echo %=X%", {"X": value}, executable=False) == f"echo {value}"


@given(st.text())
def test_what_a_program_takes_has_no_character_that_a_shell_interprets(value: str) -> None:
    try:
        filled = instrument("run.sh", "%=X%", {"X": value}, executable=False)
    except UnsafeValue:
        return
    assert not set(filled) & set(" \t\r\n;&|<>()$`\\\"'*?[]{}!#~^")


def test_an_unknown_tag_stays() -> None:
    assert instrument("a.txt", "%=OTHER%", {"X": "1"}, executable=False) == "%=OTHER%"
