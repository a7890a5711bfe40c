"""What Python functions may return, and what becomes of it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from scicore.algebra.output import BadOutput
from scicore.algebra.returned import Returned
from scicore.model.workflow import Activity, Field, FieldType, Operator, Relation, Row

GIVEN = Relation("given", (Field("ID", FieldType.STRING), Field("X", FieldType.FLOAT)))
MADE = Relation("made", (Field("ID", FieldType.STRING), Field("Y", FieldType.FLOAT, 2)))


def rows(
    operator: Operator, returned: object, output: Relation = MADE, row: Row = ("a", "1")
) -> tuple[Row, ...]:
    return Returned(Activity("t", operator, "python:m.f", GIVEN, output)).rows(returned, row)


def test_a_map_returns_a_dict_and_takes_the_rest_from_its_input() -> None:
    assert rows(Operator.MAP, {"Y": 2}) == (("a", "2.00"),)
    assert rows(Operator.MAP, {"y": "3.14159", "id": "b", "other": []}) == (("b", "3.14"),)


def test_a_filter_returns_a_dict_or_none() -> None:
    assert rows(Operator.FILTER, None) == ()
    assert rows(Operator.FILTER, {"Y": 1.5}) == (("a", "1.50"),)


def test_a_split_map_returns_a_list() -> None:
    assert rows(Operator.SPLIT_MAP, []) == ()
    assert rows(Operator.SPLIT_MAP, [{"Y": 1}, {"ID": "b", "Y": 2}]) == (
        ("a", "1.00"),
        ("b", "2.00"),
    )


def test_numbers_and_paths_become_texts() -> None:
    text = Relation("made", (Field("P", FieldType.STRING),))
    for value, expected in ((Path("/a/b"), "/a/b"), (Decimal("1.50"), "1.50"), (7, "7")):
        assert rows(Operator.MAP, {"P": value}, text) == ((expected,),)


def test_without_output_fields_whatever_is_returned_is_fine() -> None:
    assert rows(Operator.MAP, object(), Relation("nothing", ())) == ((),)
    assert rows(Operator.FILTER, None, Relation("nothing", ())) == ()


@pytest.mark.parametrize(
    ("operator", "returned", "words"),
    [
        (Operator.MAP, None, "returned NoneType, expected a dict"),
        (Operator.MAP, [{"Y": 1}], "returned list, expected a dict"),
        (Operator.FILTER, True, "returned bool, expected a dict or None"),
        (Operator.SPLIT_MAP, {"Y": 1}, "returned dict, expected a list of dicts"),
        (Operator.MAP, {}, "output field 'Y' has no value"),
        (Operator.MAP, {"Y": "much"}, "found 'much', expected a number"),
        (Operator.MAP, {"Y": float("nan")}, "expected a number"),
        (Operator.MAP, {"Y": True}, "expected a number"),
        (Operator.MAP, {"ID": None, "Y": 1}, "found NoneType"),
        (Operator.MAP, {"ID": "a\x00", "Y": 1}, "NUL"),
    ],
)
def test_anything_else_is_told(operator: Operator, returned: object, words: str) -> None:
    with pytest.raises(BadOutput, match=words):
        rows(operator, returned)
