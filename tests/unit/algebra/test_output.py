"""From what a program or a query gave to tuples."""

from __future__ import annotations

import pytest

from scicore.algebra.output import BadOutput, output_rows, query_rows
from scicore.model.workflow import Activity, Field, FieldType, Operator, Relation

INPUT = Relation("in", (Field("ID", FieldType.STRING), Field("SITE", FieldType.STRING)))


def activity(operator: Operator, *fields: Field, operand: tuple[str, ...] = ()) -> Activity:
    return Activity("a", operator, "run", INPUT, Relation("out", fields), operand=operand)


ID = Field("ID", FieldType.STRING)
X = Field("X", FieldType.FLOAT)
ROUNDED = Field("X", FieldType.FLOAT, decimal_places=2)


def test_fields_come_from_the_program_else_from_the_input() -> None:
    rows = output_rows(activity(Operator.MAP, ID, X), "x\n1.50\n", (("7", "north"),))
    assert rows == (("7", "1.50"),)


def test_decimal_places_are_kept() -> None:
    assert output_rows(activity(Operator.MAP, ROUNDED), "X\n1.239\n", ()) == (("1.24",),)


@pytest.mark.parametrize(
    ("operator", "text", "told"),
    [
        (Operator.MAP, "", "is empty"),
        (Operator.MAP, "ID;X\n", "found 0 tuples, expected exactly one"),
        (Operator.MAP, "ID;X\na;1\nb;2\n", "found 2 tuples, expected exactly one"),
        (Operator.FILTER, "ID;X\na;1\nb;2\n", "one tuple or none"),
        (Operator.REDUCE, "ID;X\n", "expected exactly one"),
        (Operator.MAP, "ID;X\na\n", "line 2: found 1 values, expected 2"),
        (Operator.MAP, "ID;X\na;warm\n", "found 'warm', expected a number"),
        (Operator.MAP, "ID;X\na;nan\n", "expected a number"),
        (Operator.MAP, "ID\na\n", "output field 'X' has no value"),
        (Operator.MAP, 'ID;X\n"a;1\n', "line 2"),
    ],
)
def test_bad_output_is_told_in_words(operator: Operator, text: str, told: str) -> None:
    with pytest.raises(BadOutput, match=told):
        output_rows(activity(operator, ID, X), text, (("7", "north"),))


def test_a_reduce_takes_over_its_operand_only() -> None:
    reduce = activity(Operator.REDUCE, ID, Field("SITE", FieldType.STRING), operand=("SITE",))
    assert output_rows(reduce, "ID\nsum\n", (("7", "north"), ("8", "north"))) == (("sum", "north"),)
    with pytest.raises(BadOutput, match="'ID' has no value"):
        output_rows(reduce, "OTHER\nx\n", (("7", "north"),))


QUERY = activity(Operator.SR_QUERY, ID, X)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (["x", "id"], ("2", "a")),  # by name, in any order
        (["ewkfid", "ik", "x", "more", "id"], ("1", "3", "2", "?", "a")),
        (["?column?", "?column?"], ("a", "2")),  # by place
        (["ewkfid", "?column?", "max"], ("1", "a", "2")),
    ],
)
def test_a_querys_columns_become_fields(header: list[str], row: tuple[str, ...]) -> None:
    assert query_rows(QUERY, header, [row]) == (("a", "2"),)


def test_columns_that_fit_no_fields_are_refused() -> None:
    with pytest.raises(BadOutput, match="gives the columns a, b, c; expected ID, X"):
        query_rows(QUERY, ["a", "b", "c"], [])
