"""What the integration tests of exports do at the console."""

from __future__ import annotations

from typing import Any

import pytest

from scicore.exports.formats import FORMATS
from tests.acceptance.console import Console

EXTRA = "the extra `exports` is not installed"


def require(format: str) -> None:
    """Skip the test when the format's packages are not there."""
    for package in FORMATS[format].packages:
        pytest.importorskip(package, reason=EXTRA)


def export(console: Console, run: int, format: str, *options: str) -> Any:
    """What `export --json` says."""
    said = console("export", str(run), "--format", format, "--json", *options)
    assert said.code == 0, said
    return said.document


def count(console: Console, table: str, run: int) -> int:
    return int(console.rows(f"SELECT count(*) FROM {table} WHERE run_id = %s", run)[0][0])
