"""From what a Python function returns to output tuples, under the rules of its activity."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from pathlib import PurePath
from typing import NamedTuple

from scicore.algebra.output import CARDINALITY, BadOutput, is_number
from scicore.model.workflow import Activity, FieldType, Operator, Row


class _Field(NamedTuple):
    name: str
    is_float: bool
    decimal_places: int | None
    place: int | None  # of the input's field of the same name, which can stand in for it


class Returned:
    """One activity's rules, made ready for many calls."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        places = {name.upper(): place for place, name in enumerate(activity.input.field_names)}
        self._fields = tuple(
            _Field(
                field.name,
                field.type is FieldType.FLOAT,
                field.decimal_places,
                places.get(field.name.upper()),
            )
            for field in activity.output.fields
        )

    def rows(self, returned: object, row: Row) -> tuple[Row, ...]:
        """`row` is what the function was called with."""
        operator = self._activity.operator
        if operator is Operator.SPLIT_MAP:
            if not isinstance(returned, list | tuple):
                raise self._unexpected(returned, "a list of dicts")
            return tuple([self._row(each, row) for each in returned])
        if returned is None and operator is Operator.FILTER:
            return ()
        if not self._fields:  # it is called for its effect
            return ((),)
        return (self._row(returned, row),)

    def _row(self, returned: object, row: Row) -> Row:
        if not isinstance(returned, Mapping):
            words = "a dict or None" if self._activity.operator is Operator.FILTER else "a dict"
            raise self._unexpected(returned, words)
        return tuple([self._value(field, returned, row) for field in self._fields])

    def _value(self, field: _Field, returned: Mapping[object, object], row: Row) -> str:
        name = field.name
        if name in returned:
            value = _text(name, returned[name])
        else:
            value = self._otherwise(field, returned, row)
        if field.is_float:
            if not is_number(value):
                raise BadOutput(f"output field {name!r}: found {value!r}, expected a number")
            if field.decimal_places is not None:
                return f"{float(value):.{field.decimal_places}f}"
        return value

    def _otherwise(self, field: _Field, returned: Mapping[object, object], row: Row) -> str:
        """Under its name in another case, else the input's."""
        for key, value in returned.items():
            if isinstance(key, str) and key.upper() == field.name.upper():
                return _text(field.name, value)
        if field.place is None:
            raise BadOutput(
                f"output field {field.name!r} has no value: it is neither a key of what the "
                f"function returned ({', '.join(map(str, returned))}) nor a field of the input"
            )
        return row[field.place]

    def _unexpected(self, returned: object, words: str) -> BadOutput:
        tag, operator = self._activity.tag, self._activity.operator
        least_most = CARDINALITY[operator][2]
        return BadOutput(
            f"the function returned {type(returned).__name__}, expected {words}: "
            f"{least_most} ({operator} activity {tag!r})"
        )


def _text(name: str, value: object) -> str:
    """Texts, numbers and paths; anything else would only be a guess."""
    if isinstance(value, str):
        if "\x00" in value:  # neither an argument nor the database can hold it
            raise BadOutput(f"output field {name!r} has a NUL character; expected text")
        return value
    if isinstance(value, Number | PurePath):
        return str(value)
    kind = type(value).__name__
    raise BadOutput(f"output field {name!r}: found {kind}, expected a text, a number or a path")
