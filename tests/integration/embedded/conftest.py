"""One private server for all tests of a file; each test finds it running."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scicore.provenance.embedded import EmbeddedServer
from tests.integration.embedded.private_server import new_place


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with new_place() as path:
        yield path


@pytest.fixture(scope="module")
def made(place: Path) -> EmbeddedServer:
    return EmbeddedServer(place / 'it\'s a "strange" $(name) 100% ütf' / "postgres")


@pytest.fixture
def server(made: EmbeddedServer) -> EmbeddedServer:
    made.start()
    return made
