"""Whoever sits at the console of an acceptance test, and what must not be left after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.console import Console


@pytest.fixture
def console(home: Path, tmp_path: Path) -> Iterator[Console]:
    user = Console(home, tmp_path)
    yield user
    user.leave_nothing()


@pytest.fixture(scope="module")
def module_console(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """For a run that several tests look at."""
    user = Console(home, tmp_path_factory.mktemp("module"))
    yield user
    user.leave_nothing()
