"""CSV: a directory with one file per table (RFC 4180, UTF-8, header line)."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from scicore.exports.formats import Options, Written
from scicore.exports.snapshot import Records
from scicore.exports.tables import Cell, Table, write_tables


def write(records: Records, target: Path, options: Options) -> Written:
    return write_tables(records, target, "csv", write_csv)


def write_csv(table: Table, file: Path) -> int:
    """The number of rows, without the header."""
    file.parent.mkdir(exist_ok=True)
    count = 0
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(column.name for column in table.columns)
        for row in _texts(table.rows):
            writer.writerow(row)
            count += 1
    return count


def _texts(rows: Iterable[tuple[Cell, ...]]) -> Iterable[list[str]]:
    return ([_text(cell) for cell in row] for row in rows)


def _text(cell: Cell) -> str:
    """Nothing is empty, times are ISO 8601 in UTC, and floats read back to the same number."""
    match cell:
        case None:
            return ""
        case bool():
            return "true" if cell else "false"
        case datetime():
            return cell.astimezone(UTC).isoformat(timespec="microseconds")
        case float():
            return repr(cell)
        case _:
            return str(cell)
