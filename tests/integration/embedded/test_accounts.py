"""Where a private server lives and as whom it runs, for root and for everybody else."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

import pytest

from scicore.errors import DatabaseError
from scicore.provenance import postgres_home
from scicore.provenance.embedded import EmbeddedServer
from scicore.provenance.postgres_home import binary, default_directory
from tests.integration.embedded.private_server import (
    ask,
    copy_installation,
    only_as_root,
    pid_of,
    processes_of,
)


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
    closed = place / "closed venv"
    closed.mkdir(mode=0o700)
    copy_installation(closed)
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
