"""From ERelation.txt to output tuples, under the rules of the activity's operator."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from scicore.algebra.relation_text import MalformedRelation, RelationText, read_relation
from scicore.model.workflow import Activity, FieldType, Operator, Row

CARDINALITY: Mapping[Operator, tuple[int, float, str]] = {
    Operator.MAP: (1, 1, "exactly one tuple"),
    Operator.SPLIT_MAP: (0, math.inf, "any number of tuples"),
    Operator.FILTER: (0, 1, "one tuple or none"),
    Operator.REDUCE: (1, 1, "exactly one tuple"),
    Operator.SR_QUERY: (0, math.inf, "any number of tuples"),
    Operator.MR_QUERY: (0, math.inf, "any number of tuples"),
}


class BadOutput(ValueError):
    """What the program wrote is not what its activity promises; the text goes to provenance."""


class MissingOutput(BadOutput):
    """It did not even write it."""


def output_rows(
    activity: Activity, text: str, inputs: tuple[Row, ...], called: str = "ERelation.txt"
) -> tuple[Row, ...]:
    """Output fields come from the text, else from the same-named field of the input."""
    if "\x00" in text:  # neither an argument nor the database can hold it
        raise BadOutput(f"{called} has a NUL character; expected text")
    try:
        extracted = read_relation(text)
    except MalformedRelation as error:
        raise BadOutput(f"{called}, {error}") from error
    _check_shape(activity, extracted, called)
    columns = {name.upper(): position for position, name in enumerate(extracted.header)}
    carried = _carried(activity, inputs)
    return tuple(_row(activity, values, columns, carried, called) for values in extracted.rows)


def query_rows(activity: Activity, header: Sequence[str], rows: Iterable[Row]) -> tuple[Row, ...]:
    """A query's columns become fields by their names, else by their places.

    The columns of the original system's keys (ewkfid, ik, ok) may be among them.
    """
    wanted = [field.name.upper() for field in activity.output.fields]
    keys = {"EWKFID", "IK", "OK"} - set(wanted)
    places = [place for place, name in enumerate(header) if name.upper() not in keys]
    columns = {header[place].upper(): place for place in places}
    if not set(wanted) <= set(columns):
        if len(places) != len(wanted):
            raise BadOutput(
                f"the query gives the columns {', '.join(header)}; expected "
                f"{', '.join(activity.output.field_names)}"
            )
        columns = dict(zip(wanted, places, strict=True))
    return tuple(_row(activity, row, columns, {}) for row in rows)


def _check_shape(activity: Activity, extracted: RelationText, called: str) -> None:
    if not extracted.header:
        raise BadOutput(f"{called} is empty; expected a header line with the field names")
    for values, line in zip(extracted.rows, extracted.lines, strict=True):
        if len(values) != len(extracted.header):
            raise BadOutput(
                f"{called}, line {line}: found {len(values)} values, expected "
                f"{len(extracted.header)} as in its header {';'.join(extracted.header)!r}"
            )
    least, most, words = CARDINALITY[activity.operator]
    if not least <= len(extracted.rows) <= most:
        raise BadOutput(
            f"{called}: found {len(extracted.rows)} tuples, expected {words} "
            f"({activity.operator} activity {activity.tag!r})"
        )


def _carried(activity: Activity, inputs: tuple[Row, ...]) -> dict[str, str]:
    """Input values that may stand in for missing output fields: for REDUCE, the operand's."""
    if not inputs:
        return {}
    values = {name.upper(): value for name, value in activity.input.as_mapping(inputs[0]).items()}
    if activity.operator is Operator.REDUCE:
        return {name.upper(): values[name.upper()] for name in activity.operand}
    return values


def _row(
    activity: Activity,
    values: Row,
    columns: Mapping[str, int],
    carried: Mapping[str, str],
    called: str = "the query",
) -> Row:
    row = []
    for field in activity.output.fields:
        name = field.name.upper()
        if name in columns:
            value = values[columns[name]]
        elif name in carried:
            value = carried[name]
        else:
            raise BadOutput(
                f"output field {field.name!r} has no value: it is neither a column of "
                f"{called} ({';'.join(columns)}) nor a field of the input"
            )
        if field.type is FieldType.FLOAT and not is_number(value):
            raise BadOutput(f"output field {field.name!r}: found {value!r}, expected a number")
        if field.type is FieldType.FLOAT and field.decimal_places is not None:
            value = f"{float(value):.{field.decimal_places}f}"
        row.append(value)
    return tuple(row)


def is_number(text: str) -> bool:
    """A finite number as programs in any language read it, so not all that Python takes."""
    try:
        return text.isascii() and "_" not in text and math.isfinite(float(text))
    except ValueError:
        return False
