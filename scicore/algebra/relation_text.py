"""Relations as text: `;`-separated lines under a header, as in datasets and ERelation.txt.

A value that holds `;`, a line break or a `"` is written in double quotes, with inner quotes
doubled; every other value stands as it is.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from scicore.model.workflow import Row

csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # values have no length limit


@dataclass(frozen=True, slots=True)
class RelationText:
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    lines: tuple[int, ...]  # 1-based line on which each row ends, for messages


class MalformedRelation(ValueError):
    """A row cannot be read: an open quote, say, that would swallow all rows after it."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line  # 1-based, where the row begins
        self.reason = reason


def read_relation(text: str) -> RelationText:
    """Split the text; blank lines do not count. Widths are the caller's to check."""
    source = io.StringIO(text.removeprefix("\ufeff"), newline="")
    reader = csv.reader(source, delimiter=";", strict=True)
    header: tuple[str, ...] = ()
    rows: list[Row] = []
    lines: list[int] = []
    begin = 1
    try:
        for values in reader:
            begin = reader.line_num + 1
            if not values:
                continue
            if not header:
                header = tuple(name.strip() for name in values)
            else:
                rows.append(tuple(values))
                lines.append(reader.line_num)
    except csv.Error as error:
        raise MalformedRelation(begin, str(error)) from error
    return RelationText(header, tuple(rows), tuple(lines))


def write_relation(header: Iterable[str], rows: Iterable[Row]) -> str:
    """The inverse of `read_relation`."""
    return write_lines((tuple(header), *rows))


def write_lines(rows: Iterable[Row]) -> str:
    """Without a header."""
    return "".join(map(_line, rows))


def _line(row: Row) -> str:
    """By hand, because Python 3.11's csv does not quote a lone carriage return."""
    line = ";".join(map(_quoted, row))
    return f"{line}\n" if line else '""\n'  # a blank line would not count


def _quoted(value: str) -> str:
    if not any(special in value for special in ';"\r\n'):
        return value
    return '"' + value.replace('"', '""') + '"'
