"""Parquet: the same tables as CSV, in typed columns, a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow.parquet import ParquetWriter

from scicore.exports.formats import Options, Written
from scicore.exports.snapshot import Records
from scicore.exports.tables import Cell, Table, write_tables

ROWS_AT_ONCE = 20_000

_TYPES: dict[type, Any] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    datetime: pa.timestamp("us", tz="UTC"),
}


def write(records: Records, target: Path, options: Options) -> Written:
    return write_tables(records, target, "parquet", _write_table)


def _write_table(table: Table, file: Path) -> int:
    file.parent.mkdir(exist_ok=True)
    schema = pa.schema([(column.name, _TYPES[column.type]) for column in table.columns])
    count = 0
    with ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in _batches(table):
            arrays = [
                pa.array(cells, type=field.type)
                for cells, field in zip(zip(*batch, strict=True), schema, strict=True)
            ]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            count += len(batch)
    return count


def _batches(table: Table) -> Iterator[list[tuple[Cell, ...]]]:
    rows = iter(table.rows)
    while batch := list(islice(rows, ROWS_AT_ONCE)):
        yield batch
