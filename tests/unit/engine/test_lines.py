"""Cutting a program's output into answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scicore.algebra.relation_text import read_relation, write_relation
from scicore.engine.lines import Answers

VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
ANSWERS = st.lists(st.lists(st.tuples(VALUES, VALUES), max_size=3), max_size=4)


def test_a_header_comes_first_and_empty_lines_end_answers() -> None:
    answers = Answers(header=True)
    assert answers.feed(b"ID;X\na;1\n\n\nb;") == [[b"a;1"], []]
    assert answers.header == b"ID;X"
    assert answers.feed(b"2\nc;3\n\n") == [[b"b;2", b"c;3"]]


def test_without_output_fields_an_empty_line_is_the_whole_answer() -> None:
    assert Answers(header=False).feed(b"\n\r\n") == [[], []]


def test_an_empty_line_within_quotes_ends_nothing() -> None:
    answers = Answers(header=True)
    assert answers.feed(b'T\n"one\n\ntwo"\n') == []
    assert answers.feed(b"\n") == [[b'"one\n\ntwo"']]


def test_quotes_inside_of_a_value_are_part_of_it() -> None:
    assert Answers(header=True).feed(b'T\n5" wide\n\n') == [[b'5" wide']]


@given(ANSWERS, st.lists(st.integers(1, 20), min_size=1))
def test_whatever_is_written_is_read_however_it_arrives(
    answers: list[list[tuple[str, str]]], sizes: list[int]
) -> None:
    text = "A;B\n" + "".join(write_relation((), rows)[3:] + "\n" for rows in answers)
    data, reader, read, turn = text.encode(), Answers(header=True), [], 0
    while data:
        size = sizes[turn % len(sizes)]
        read += reader.feed(data[:size])
        data, turn = data[size:], turn + 1
    lines = [b"\n".join([reader.header, *each, b""]).decode() for each in read]
    assert [list(read_relation(each).rows) for each in lines] == answers
