"""A private PostgreSQL server: made, started, found again and stopped, with nothing to install.

The password stands in the directory's `pgpass` alone: never in a URL, a command line or an
environment. A running server is no child of ours; it goes on until it is stopped.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import quote

from scicore.errors import DatabaseError
from scicore.provenance.postgres_home import (
    MAJOR,
    account,
    locked,
    make_directory,
    reachable_programs,
    staging_directory,
    write_private,
)
from scicore.provenance.postmaster import (
    HOST,
    Postmaster,
    answers,
    lost_program,
    postmaster,
    serves,
    shut_down,
)

_NAME = "scicumulus"  # of the user and of the database
_PATIENCE_S = 60.0  # for a stop, or for a start, which may have to recover from a crash
_INITDB = (
    *("--auth=scram-sha-256", "--data-checksums", "--encoding=UTF8", f"--username={_NAME}"),
    *("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
    *("--set=max_connections=100", "--set=shared_buffers=64MB", "--set=synchronous_commit=on"),
    *(f"--set=listen_addresses={HOST}", "--set=unix_socket_directories="),
)
_PASSING = (  # what a start says of a killed server's remains, or when its port was snatched
    'lock file "postmaster.pid" already exists',
    "pre-existing shared memory block",
    "Address already in use",
)
_HINTS = {
    "No space left on device": "free some space there, or choose another SCICUMULUS_HOME",
    "Permission denied": "become the owner of that place, or choose another SCICUMULUS_HOME",
    "user does not exist": "give your user id a name in /etc/passwd, as PostgreSQL demands",
}


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DatabaseError(f"the private PostgreSQL server: {error}", _hint(str(error))) from error


@dataclass(frozen=True, slots=True)
class EmbeddedServer:
    directory: Path  # everything of the server: data/, log, pgpass (0600), port, lock, stopped

    @_explained()
    def start(self) -> str:
        """The URL of the server, which is made and started if need be.

        Any number of processes may call this at once; while the server is up it starts none.
        """
        if url := self.url():
            return url
        home = self.directory.resolve()
        make_directory(home)
        with locked(home) as lock:
            programs = reachable_programs(home)
            if not _is_initialised(home):
                _initialise(home, programs, lock)
            return self._launch(home, programs)

    @_explained()
    def stop(self) -> bool:
        """Shut down cleanly, without waiting for clients to leave. True if it was running."""
        home = self.directory.resolve()
        if postmaster(home) is None:
            return False
        with locked(home):
            server = postmaster(home)
            if server is None:
                return False
            (home / "stopped").touch()
            _end(server, home)
            return True

    @_explained()
    def lost_program(self) -> Path | None:
        """Where the running server was started from, if that has been deleted since."""
        home = self.directory.resolve()
        return lost_program(home) if postmaster(home) else None

    @_explained()
    def renew(self, may_end: Callable[[str], bool]) -> str:
        """Start it again from this installation, if the one that it runs from was deleted and the
        server with that URL may end. Of processes that call this at once, the first one does it.
        """
        home = self.directory.resolve()
        with locked(home):
            programs = reachable_programs(home)  # what might be refused comes before the end
            _is_initialised(home)
            server, url = postmaster(home), self.url()
            if server and url and lost_program(home) and may_end(url):
                _end(server, home)
            return self._launch(home, programs)

    @_explained()
    def crashed(self) -> bool:
        """It was made and is not there, though nobody has stopped it."""
        home = self.directory.resolve()
        made, stopped = (home / "data").exists(), (home / "stopped").exists()
        return made and not stopped and postmaster(home) is None

    @_explained()
    def url(self) -> str | None:
        """Without a password: libpq reads it from the file that the URL names. None when down."""
        home = self.directory.resolve()
        server = postmaster(home)
        if server is None or not server.ready or not answers(server.port):
            return None
        passfile = quote(os.fsencode(home / "pgpass"))
        return f"postgresql://{_NAME}@{HOST}:{server.port}/{_NAME}?passfile={passfile}"

    def _launch(self, home: Path, programs: Path) -> str:
        """Start the server unless one is on its way up (or down), and wait until it is ready.

        The orphans of a killed server keep its shared memory for a moment, and a port found free
        may be taken by now: such starts are tried again.
        """
        deadline = time.monotonic() + _PATIENCE_S
        pid = told = 0
        while not (url := self.url()):
            dead = postmaster(home) is None and not serves(pid, home / "data")
            hopeless = dead and pid and not any(sign in _log(home)[told:] for sign in _PASSING)
            if hopeless or time.monotonic() > deadline:
                raise _failure("it did not start", home, _log(home)[told:])
            if dead and pid:
                pid = 0
                time.sleep(0.2)
            elif dead:
                told = len(_log(home))
                pid = _spawn(home, programs)
            time.sleep(0.02)
        (home / "stopped").unlink(missing_ok=True)
        return url


def _spawn(home: Path, programs: Path) -> int:
    """Start the server as an orphan; its pid. The shell gets the paths as arguments: `pg_ctl`
    would paste them into shell code, where a quote or `$` in a directory's name breaks it.
    """
    # A file left by a dead server: PostgreSQL would respect it if any process has that pid now.
    (home / "data" / "postmaster.pid").unlink(missing_ok=True)
    shell = ("/bin/sh", "-c", '"$@" </dev/null >&2 & echo $!', "sh")
    server = (programs / "postgres", "-D", home / "data", "-p", str(_choose_port(home)))
    (home / "log").touch(mode=0o600)
    with (home / "log").open("ab") as log:
        return int(_run(home, *shell, *server, stderr=log).stdout or 0)


def _choose_port(home: Path) -> int:
    """The port of last time, so that a URL someone noted stays true; else one that is free."""
    kept = home / "port"
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, int(kept.read_text())))
        except (OSError, ValueError, OverflowError):  # taken, or there is no last time
            probe.bind((HOST, 0))
            kept.write_text(f"{probe.getsockname()[1]}\n")
        return int(probe.getsockname()[1])


def _is_initialised(home: Path) -> bool:
    data = home / "data"
    if not data.exists() or not any(data.iterdir()):
        return False
    version = (data / "PG_VERSION").read_text().strip()
    if version != str(MAJOR):
        raise DatabaseError(
            f"{data} was written by PostgreSQL {version}; this is PostgreSQL {MAJOR}",
            f"dump it with the programs of PostgreSQL {version} (pg_dumpall), move {home} away, "
            "start again and restore the dump; or only move it away, to begin with nothing",
        )
    if not (home / "pgpass").exists():
        raise DatabaseError(
            f"{home / 'pgpass'}, which holds the password of the database, is missing",
            f"bring it back from a backup, or move {home} away to begin with nothing",
        )
    return True


def _initialise(home: Path, programs: Path, lock: int) -> None:
    """Make the database aside and move it into place whole, so that a kill leaves no half of one.

    The programs hold the lock, too: if we are killed, the next start waits until they have ended.
    """
    password = secrets.token_urlsafe(32)
    write_private(home / "pgpass", f"{HOST}:*:*:{_NAME}:{password}")
    with staging_directory(home) as staging:
        data, pwfile = staging / "data", staging / "password"
        data.mkdir(mode=0o700)
        write_private(pwfile, password)
        if owner := account():
            os.chown(data, *owner)
            os.chown(pwfile, *owner)
        server = (programs / "postgres", "--single", "-D", data, "-c", "exit_on_error=on")
        initdb = (programs / "initdb", *_INITDB, "--pgdata", data, "--pwfile", pwfile)
        for command, stdin in (initdb, ""), ((*server, "postgres"), f"CREATE DATABASE {_NAME}\n"):
            done = _run(home, *command, stdin=stdin, keep=(lock,))
            if done.returncode != 0:
                raise _failure("the database could not be made", home, done.stdout)
        data.replace(home / "data")


def _run(
    home: Path,
    *command: str | Path,
    stdin: str = "",
    stderr: int | IO[bytes] = subprocess.STDOUT,
    keep: tuple[int, ...] = (),
) -> subprocess.CompletedProcess[str]:
    """Run as the server's account without our descriptors, our terminal and our environment:
    that may hold credentials, and its PG* variables would change the outcome.
    """
    uid, gid = account() or (None, None)
    kept = {name: value for name, value in os.environ.items() if name == "LD_LIBRARY_PATH"}
    return subprocess.run(
        command,
        check=False,
        cwd=home,
        env={"LC_ALL": "C", "TZ": "UTC", **kept},
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        encoding="utf-8",
        errors="replace",
        pass_fds=keep,
        start_new_session=True,
        user=uid,
        group=gid,
        extra_groups=None if uid is None else [],
    )


def _end(server: Postmaster, home: Path) -> None:
    if not shut_down(server.pid, home / "data", _PATIENCE_S):
        raise _failure(f"process {server.pid} does not stop", home, _log(home))


def _log(home: Path) -> str:
    log = home / "log"
    return log.read_text("utf-8", errors="replace") if log.exists() else ""


def _hint(story: str) -> str:
    return next((hint for sign, hint in _HINTS.items() if sign in story), "")


def _failure(what: str, home: Path, story: str) -> DatabaseError:
    lines = story.strip().splitlines()[-8:]
    text = "\n  ".join([f"the private PostgreSQL server in {home}: {what}", *lines])
    return DatabaseError(text, _hint(text) or f"the whole log is {home / 'log'}")
