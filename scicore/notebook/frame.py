"""Answers of the database as pandas DataFrames; pandas is imported when the first one is made."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from types import ModuleType
from typing import TYPE_CHECKING, Any

from scicore.errors import UsageError

if TYPE_CHECKING:
    from pandas import DataFrame


def pandas() -> ModuleType:
    try:
        import pandas
    except ImportError:
        raise UsageError(
            "DataFrames need pandas, which is not installed",
            'install it with: pip install "scicumulus[notebook]"',
        ) from None
    module: ModuleType = pandas
    return module


def frame(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> DataFrame:
    plain = [[float(v) if isinstance(v, Decimal) else v for v in row] for row in rows]
    made: Any = pandas().DataFrame(plain, columns=list(columns))
    return made
