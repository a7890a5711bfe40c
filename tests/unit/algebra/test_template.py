"""`%=TAG%` substitution: a value is data, whatever it looks like."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.algebra.command_check import defect
from scicore.algebra.template import arguments, substitute, tags

HOSTILE = [
    "",
    "two words",
    "it's",
    'a "quoted" word',
    "$(touch owned)",
    "`touch owned`",
    "x; touch owned",
    "x && touch owned",
    "x | tee owned",
    "> owned",
    "%=ID%",
    "\\1 \\g<0>",
    "tab\tand\nnew line",
    "# no comment",
    "*",
    "~/x",
    "${HOME}",
]


@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_value_stays_one_argument(value: str) -> None:
    assert arguments("prog -i %=FILE% -o out", {"FILE": value, "ID": "7"}) == (
        "prog",
        "-i",
        value,
        "-o",
        "out",
    )


@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_value_within_a_word_stays_within_that_word(value: str) -> None:
    command = "prog --in=%=FILE%.fits 'a b %=FILE%'"
    expected = ("prog", f"--in={value}.fits", f"a b {value}")
    assert arguments(command, {"FILE": value, "ID": "7"}) == expected


@given(value=st.text(max_size=30), other=st.text(max_size=30))
@settings(max_examples=100, deadline=None)
def test_any_two_values_fill_exactly_their_two_arguments(value: str, other: str) -> None:
    assert arguments("prog %=A% %=B%", {"A": value, "B": other}) == ("prog", value, other)


def test_a_value_that_looks_like_a_tag_is_not_filled_in_again() -> None:
    assert substitute("%=A%-%=B%", {"A": "%=B%", "B": "%=A%"}) == "%=B%-%=A%"


def test_values_that_form_a_tag_only_together_are_not_filled_in() -> None:
    assert substitute("%=A%ID%=B%", {"A": "%=", "B": "%", "ID": "7"}) == "%=ID%"


def test_field_names_match_whatever_their_case() -> None:
    assert substitute("%=id% %=Id%", {"iD": "7"}) == "7 7"


def test_tags_are_listed_once_in_order_of_appearance() -> None:
    assert tags("%=B% %=A% %=B% %=1% %%") == ("B", "A")


def test_a_text_without_tags_stays_as_it_is() -> None:
    assert substitute("100% %= x% \\1", {}) == "100% %= x% \\1"


@pytest.mark.parametrize(
    "command",
    ["prog a b", "prog %=X%", "bash script.sh %=X%", "bash -c 'echo \"$1\"' name %=X%"],
)
def test_a_program_with_arguments_is_safe(command: str) -> None:
    assert defect(command) is None


@pytest.mark.parametrize(
    "command",
    ["", "prog 'a", "a | b", "a && b", "a > b", "a; b", "a &"],
)
def test_what_is_no_argument_vector_is_refused(command: str) -> None:
    assert defect(command) is not None


@pytest.mark.parametrize(
    "command",
    ["sh -c 'echo %=X%'", "/bin/bash -ec 'echo %=X%'", "python3 -c 'print(%=X%)'"],
)
def test_a_tag_inside_code_is_refused(command: str) -> None:
    assert defect(command) is not None


@pytest.mark.parametrize(
    "command",
    [
        "python3 -c'print(%=X%)'",
        "bash -cx 'echo %=X%'",
        "bash -c -- 'echo %=X%'",
        "env bash -c 'echo %=X%'",
        "perl -E 'say %=X%'",
        "node -p %=X%",
    ],
)
def test_a_tag_inside_code_is_refused_however_the_code_is_handed_over(command: str) -> None:
    assert defect(command) is not None


def test_a_users_script_may_have_an_option_c() -> None:
    assert defect("./run.sh -c %=CONFIG%") is None


def test_a_quoted_semicolon_is_an_argument() -> None:
    assert defect("cut -d ';' -f 1 %=FILE%") is None
