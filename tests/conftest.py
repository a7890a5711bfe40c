"""One real PostgreSQL for every test that asks for it: the embedded one, in a place of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.console import Console
from tests.integration.ec2_stand_in import Ec2Server, serving

TOLD = "told"  # a property of a test: a line for whoever reads the end of the output


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, text in report.user_properties:
            if name == TOLD:
                terminalreporter.write_line(str(text))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first: the others are shared out beside it."""
    items.sort(key=lambda item: item.path.name != "test_soak.py")


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


@pytest.fixture(scope="session")
def ec2_server() -> Iterator[Ec2Server]:
    with serving() as server:
        yield server


@pytest.fixture
def ec2(ec2_server: Ec2Server, monkeypatch: pytest.MonkeyPatch) -> Ec2Server:
    """An AWS account with nothing in it; this process and its children talk to it."""
    for name, value in ec2_server.environment().items():
        monkeypatch.setenv(name, value)
    ec2_server.reset()
    return ec2_server
