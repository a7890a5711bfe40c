"""Relations as text: what is written is what is read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.algebra.relation_text import read_relation, write_relation
from scicore.model.workflow import Row

NAMES = st.text("ABCxyz_09", min_size=1, max_size=6)
# Without "\r": see the known bugs at the end.
VALUES = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=12),
    st.text(';"\n \t%=,#\\', max_size=8),
)


@st.composite
def relations(draw: st.DrawFn) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    header = draw(st.lists(NAMES, min_size=1, max_size=4))
    values = VALUES if len(header) > 1 else VALUES.filter(bool)  # see the known bugs
    rows = draw(st.lists(st.tuples(*[values] * len(header)), max_size=5))
    return tuple(header), tuple(rows)


@given(relation=relations())
@settings(max_examples=200, deadline=None)
def test_what_is_written_is_what_is_read(relation: tuple[tuple[str, ...], tuple[Row, ...]]) -> None:
    header, rows = relation
    text = read_relation(write_relation(header, rows))
    assert (text.header, text.rows) == (header, rows)


@given(relation=relations())
@settings(max_examples=50, deadline=None)
def test_the_line_of_a_row_is_where_it_ends(
    relation: tuple[tuple[str, ...], tuple[Row, ...]],
) -> None:
    header, rows = relation
    written = write_relation(header, rows)
    lines = read_relation(written).lines
    assert len(lines) == len(rows)
    if rows:
        assert lines[-1] == written.count("\n")


def test_an_empty_text_is_an_empty_relation() -> None:
    text = read_relation("")
    assert (text.header, text.rows, text.lines) == ((), (), ())


def test_plain_values_are_written_without_quotes() -> None:
    assert write_relation(("ID", "NAME"), [("1", "it's a, b")]) == "ID;NAME\n1;it's a, b\n"


def test_a_byte_order_mark_and_spaces_around_names_are_dropped() -> None:
    assert read_relation("\ufeff ID ; NAME\n 1 ;x\n").header == ("ID", "NAME")


def test_spaces_around_values_are_kept() -> None:
    assert read_relation("ID;NAME\n 1 ;x \n").rows == ((" 1 ", "x "),)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_may_end_as_on_any_system(line_end: str) -> None:
    text = read_relation(line_end.join(["ID;NAME", "1;x", "2;y", ""]))
    assert text.rows == (("1", "x"), ("2", "y"))


def test_blank_lines_do_not_count_but_keep_their_number() -> None:
    text = read_relation("ID;NAME\n\n1;x\n\n\n2;y\n")
    assert text.rows == (("1", "x"), ("2", "y"))
    assert text.lines == (3, 6)


def test_a_row_of_the_wrong_width_is_the_callers_to_find() -> None:
    assert read_relation("ID;NAME\n1\n1;2;3\n").rows == (("1",), ("1", "2", "3"))


# -- known bugs of relation_text; remove the mark when they are mended ---------------------------


def test_an_empty_value_in_a_relation_of_one_field_survives() -> None:
    assert read_relation(write_relation(("ID",), [("",), ("x",)])).rows == (("",), ("x",))


@pytest.mark.parametrize("value", ["a\rb", "\r", "a\r"])
def test_a_carriage_return_in_a_value_survives(value: str) -> None:
    assert read_relation(write_relation(("ID", "X"), [("1", value)])).rows == (("1", value),)


def test_a_long_value_survives() -> None:
    value = "x" * 200_000
    assert read_relation(write_relation(("ID", "X"), [("1", value)])).rows == (("1", value),)
