"""CSV and Parquet: the same typed tables."""

from __future__ import annotations

import csv
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from scicore.exports import csv_files
from scicore.exports.formats import Options
from scicore.exports.tables import Cell, Table, relation_table, tables
from tests.unit.exports import building as b

COUNTS = {
    "run": 1,
    "activity": 4,
    "field": 7,
    "plan": 1,
    "assignment": 1,
    "vm": 2,
    "steering": 0,
    "activation": 7,
    "attempt": 7,
    "used": 8,
    "file": 4,
    "relation/stations": 2,
    "relation/pieces": 3,
    "relation/results": 2,
    "relation/summary": 1,
    "relation/none": 0,
}


def test_every_table_of_the_run_is_there() -> None:
    assert {table.name: len(list(table.rows)) for table in tables(b.snapshot())} == COUNTS


def test_a_field_called_like_our_own_column_gives_way() -> None:
    table = relation_table(b.RESULTS, b.snapshot().tuples_of("results"))
    named = [(column.name, column.type) for column in table.columns]
    assert named == [
        ("tuple_id", int),
        ("path", str),
        ("generated_by", int),
        ("NAME", str),
        ("path_", float),
    ]
    assert list(table.rows) == [(6, "6", 3, b.ODD, 0.5), (7, "7", 4, b.ODD, 1000.0)]


def test_what_is_no_number_in_a_float_field_is_unknown() -> None:
    row = b.tuple_(9, "summary", {"COUNT": "many"}, by=6)
    assert list(relation_table(b.SUMMARY, [row]).rows) == [(9, "9", 6, None)]


def test_csv_reads_back_cell_by_cell(tmp_path: Path) -> None:
    written = csv_files.write(b.snapshot(), tmp_path / "out", Options())
    assert written.records == COUNTS
    assert set(written.files) == {f"{name}.csv" for name in COUNTS}
    for table in tables(b.snapshot()):
        with (tmp_path / "out" / f"{table.name}.csv").open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        assert header == [column.name for column in table.columns]
        assert [_typed(row, table) for row in rows] == [_unknown(row) for row in table.rows]


def _typed(row: list[str], table: Table) -> tuple[object, ...]:
    """What a reader who knows the columns' types makes of a line."""
    read: dict[type, Any] = {bool: "true".__eq__, datetime: datetime.fromisoformat}
    return tuple(
        read.get(column.type, column.type)(text) if text else None
        for text, column in zip(row, table.columns, strict=True)
    )


def _unknown(row: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """CSV does not tell an empty text from none."""
    return tuple(None if cell == "" else cell for cell in row)


def test_parquet_reads_back_with_its_types(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra `exports` is not installed")
    from scicore.exports import parquet as writer

    written = writer.write(b.snapshot(), tmp_path / "out", Options())
    assert written.records == COUNTS
    for table in tables(b.snapshot()):
        read = parquet.read_table(tmp_path / "out" / f"{table.name}.parquet", partitioning=None)
        assert read.column_names == [column.name for column in table.columns]
        assert [tuple(row.values()) for row in read.to_pylist()] == list(table.rows)
    schema = parquet.read_schema(tmp_path / "out" / "attempt.parquet")
    assert str(schema.field("started_at").type) == "timestamp[us, tz=UTC]"
    assert str(schema.field("peak_rss_bytes").type) == "int64"
    assert str(schema.field("cpu_s").type) == "double"
