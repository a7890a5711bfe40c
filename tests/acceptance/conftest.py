"""Whoever sits at the console of an acceptance test, and what must not be left after it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.console import Console


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_is_heard() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so would all that we start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
