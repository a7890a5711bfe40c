"""A private server whose installation is deleted under it: renewed, or told, never a traceback."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from scicore.errors import DatabaseError
from scicore.provenance.connection import connect
from scicore.provenance.embedded import EmbeddedServer
from scicore.provenance.hold import Hold, held_runs
from tests.acceptance.console import Console, eventually
from tests.acceptance.workflows import Step, write_workflow
from tests.integration.embedded.private_server import (
    ask,
    copy_installation,
    new_place,
    pid_of,
    start_elsewhere,
)

NEEDS_A_LIBRARY = "DO $$ BEGIN NULL; END $$"


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with new_place() as path:
        monkeypatch.setenv("SCICUMULUS_HOME", str(path))
        for name in ("SCICUMULUS_DATABASE_URL", "PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE"):
            monkeypatch.delenv(name, raising=False)
        yield path


@pytest.fixture
def installation(place: Path) -> Path:
    other = place / "other venv"
    copy_installation(other)
    return other


@pytest.fixture
def server(place: Path, installation: Path) -> EmbeddedServer:
    """Started from the other installation, with a table in it."""
    server = EmbeddedServer(place / "postgres")
    with start_elsewhere(server.directory, installation=installation) as starter:
        url, _ = starter.communicate(timeout=60)
    assert ask(url.strip(), "CREATE TABLE kept AS SELECT 42 AS answer") == ""
    assert server.lost_program() is None
    return server


def starts_of(server: EmbeddedServer) -> int:
    return (server.directory / "log").read_text().count("starting PostgreSQL")


def test_a_server_that_lost_its_installation_is_started_again_from_ours(
    server: EmbeddedServer, installation: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    connect().engine.dispose()
    before, url = pid_of(server), server.url()
    assert capfd.readouterr().err == ""
    shutil.rmtree(installation)
    lost = server.lost_program()
    assert lost is not None
    assert lost.is_relative_to(installation)
    database = connect()
    assert database.url == url
    assert pid_of(server) != before
    assert server.lost_program() is None
    with database.engine.begin() as connection:
        connection.execute(text(NEEDS_A_LIBRARY))
        assert connection.scalar(text("SELECT answer FROM kept")) == 42
    database.engine.dispose()
    (line,) = capfd.readouterr().err.splitlines()
    assert f"{server.directory} runs from {lost}, which is deleted" in line
    assert line.endswith("it is started again from this installation")


def test_of_two_that_renew_it_at_once_one_does(server: EmbeddedServer, installation: Path) -> None:
    shutil.rmtree(installation)
    started = starts_of(server)
    console = Console(server.directory.parent, server.directory.parent)
    first, second = console.together([("db", "start", "--json")] * 2)
    assert (first.code, second.code) == (0, 0), (first, second)
    assert first.document == second.document
    assert starts_of(server) == started + 1
    assert ask(server.url(), NEEDS_A_LIBRARY) == ""


def test_while_a_run_goes_on_it_is_told_and_left_alone(
    server: EmbeddedServer, installation: Path, tmp_path: Path
) -> None:
    console = Console(server.directory.parent, tmp_path)
    spec = write_workflow(tmp_path / "wf", [Step("a")], [("1",)])
    number = console("run", spec, "--prepare", "--json").document["run_id"]
    database = connect()
    hold = Hold(database.engine, number)
    shutil.rmtree(installation)
    before = pid_of(server)
    needs_a_file = pytest.raises(DatabaseError, match="which is deleted, and it needs a file")
    with needs_a_file as caught, database.engine.begin() as connection:
        connection.execute(text(NEEDS_A_LIBRARY))
    assert "scicumulus db stop" in caught.value.hint
    doctor = console("doctor")
    assert doctor.code == 5
    assert f"FAIL postgresql: the private PostgreSQL server in {server.directory}" in doctor.out
    assert "fix: when no run is going on" in doctor.out
    status = console("status", str(number), "--json")
    assert status.code == 0, status
    assert f"run {number} uses it, so it is left alone until that has ended" in status.err
    assert pid_of(server) == before
    hold.close()
    with database.engine.connect() as connection:  # a session takes a moment to vanish
        eventually(lambda: not held_runs(connection), "nobody holds the run")
    database.engine.dispose()
    done = console("resume", str(number), "--json")
    assert done.code == 0, done
    assert done.document["state"] == "finished"
    assert "it is started again from this installation" in done.err
    assert pid_of(server) != before
    console.leave_nothing()
