"""What befalls a private server or its directory, and what is made of it or told."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from scicore.errors import DatabaseError
from scicore.provenance.embedded import EmbeddedServer
from scicore.provenance.postgres_home import binary
from tests.integration.embedded.private_server import (
    AS_ROOT,
    ask,
    pid_of,
    processes_of,
    start_elsewhere,
)


def eventually(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.005)


def test_a_killed_server_comes_back_with_what_was_committed(server: EmbeddedServer) -> None:
    ask(server.url(), "CREATE TABLE committed AS SELECT 'yes' AS safe")
    os.kill(pid_of(server), signal.SIGKILL)
    assert ask(server.start(), "SELECT safe FROM committed") == "yes"


def test_start_waits_until_the_orphans_of_a_killed_server_are_gone(server: EmbeddedServer) -> None:
    postmaster, orphan = pid_of(server), processes_of(server)["postgres: checkpointer"]
    os.kill(orphan, signal.SIGSTOP)
    os.kill(postmaster, signal.SIGKILL)
    release = threading.Timer(0.7, os.kill, (orphan, signal.SIGCONT))
    release.start()
    began = time.monotonic()
    try:
        assert ask(server.start(), "SELECT 1") == "1"
    finally:
        release.join()
    assert time.monotonic() - began > 0.6
    assert "pre-existing shared memory block" in (server.directory / "log").read_text()


def test_a_pid_that_now_belongs_to_another_program_is_no_server(server: EmbeddedServer) -> None:
    pid_file = server.directory / "data" / "postmaster.pid"
    notes = pid_file.read_text().split("\n")
    server.stop()
    account = pwd.getpwnam("nobody").pw_uid if AS_ROOT else os.getuid()
    with subprocess.Popen(["sleep", "60"], user=account) as stranger:
        pid_file.write_text("\n".join([str(stranger.pid), *notes[1:]]))
        assert server.url() is None
        assert server.stop() is False
        assert ask(server.start(), "SELECT 1") == "1"
        assert stranger.poll() is None
        stranger.kill()


def test_an_empty_pid_file_of_a_crashed_machine_does_no_harm(server: EmbeddedServer) -> None:
    server.stop()
    (server.directory / "data" / "postmaster.pid").touch()
    (server.directory / "port").write_text("")
    assert ask(server.start(), "SELECT 1") == "1"


def test_a_copy_of_a_running_directory_is_not_taken_for_the_original(
    server: EmbeddedServer, place: Path
) -> None:
    (place / "copy" / "data").mkdir(parents=True)
    shutil.copy(server.directory / "data" / "postmaster.pid", place / "copy" / "data")
    with pytest.raises(DatabaseError, match="moved or copied"):
        EmbeddedServer(place / "copy").start()
    shutil.rmtree(place / "copy")


def test_a_start_killed_while_it_made_the_database_is_made_good(place: Path) -> None:
    server = EmbeddedServer(place / "half")
    with start_elsewhere(server.directory) as caller:
        eventually(server.directory / "staging" / "data" / "PG_VERSION")
        caller.kill()
    assert not (server.directory / "data").exists()
    assert ask(server.start(), "SELECT current_database()") == "scicumulus"
    assert not (server.directory / "staging").exists()
    assert server.stop() is True


def test_data_of_another_postgresql_is_left_alone(place: Path) -> None:
    old = place / "old" / "data"
    old.mkdir(parents=True)
    (old / "PG_VERSION").write_text("16\n")
    with pytest.raises(DatabaseError, match="PostgreSQL 16; this is PostgreSQL 18") as caught:
        EmbeddedServer(place / "old").start()
    assert "pg_dumpall" in caught.value.hint
    assert f"move {place / 'old'} away" in caught.value.hint
    assert [path.name for path in old.iterdir()] == ["PG_VERSION"]


def test_a_lost_password_is_told_before_anything_starts(server: EmbeddedServer) -> None:
    server.stop()
    pgpass = server.directory / "pgpass"
    pgpass.rename(server.directory / "mislaid")
    with pytest.raises(DatabaseError, match="pgpass, which holds the password"):
        server.start()
    (server.directory / "mislaid").rename(pgpass)


def test_a_failed_start_shows_the_last_lines_of_the_log(server: EmbeddedServer) -> None:
    server.stop()
    settings = server.directory / "data" / "postgresql.conf"
    good = settings.read_text()
    settings.write_text(good + "no_such_setting = 1\n")
    with pytest.raises(DatabaseError, match="no_such_setting") as caught:
        server.start()
    settings.write_text(good)
    assert str(server.directory / "log") in caught.value.hint


def test_a_place_that_cannot_be_written_is_told_with_what_to_do() -> None:
    with pytest.raises(DatabaseError, match="/proc/scicumulus"):
        EmbeddedServer(Path("/proc/scicumulus")).start()


def test_a_program_that_postgresql_does_not_have_is_told() -> None:
    with pytest.raises(DatabaseError, match="no program 'psqll'"):
        binary("psqll")
