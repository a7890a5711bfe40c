"""One real PostgreSQL for every test that asks for it: the embedded one, in a place of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.console import Console


@contextmanager
def new_home() -> Iterator[Path]:
    """A SCICUMULUS_HOME; as root the server runs as nobody, who cannot enter pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="scicumulus-tests-", dir="/tmp"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        Console(path, path)("db", "stop")
        shutil.rmtree(path)


@pytest.fixture(scope="session")
def home() -> Iterator[Path]:
    with new_home() as path:
        yield path


@pytest.fixture
def fresh_home() -> Iterator[Path]:
    """Where no server was ever started."""
    with new_home() as path:
        yield path
