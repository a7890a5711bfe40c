"""`scicumulus doctor`: does everything that a run needs work here? It really tries."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from scicore.cli.output import database_option, json_option, print_json, say

LEAST_FREE_GB = 1.0
MPI_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    ok: bool
    detail: str
    fix: str  # what to do when it is not ok


@click.command(epilog="Example: scicumulus doctor --json")
@database_option
@json_option
def command(database_url: str | None, as_json: bool) -> int:
    """Check Python, MPI (starts two ranks), PostgreSQL (connects) and free disk space.

    Exit code 5 when a check fails.
    """
    steps: list[Callable[[], Check]] = [_python, _mpi, lambda: _postgresql(database_url), _disk]
    checks = []
    for step in steps:
        check = step()
        checks.append(check)
        if not as_json:
            mark = click.style("ok  ", fg="green") if check.ok else click.style("FAIL", fg="red")
            click.echo(f"{mark} {check.name}: {check.detail}")
            if not check.ok:
                click.echo(f"     fix: {check.fix}")
    healthy = all(check.ok for check in checks)
    if as_json:
        print_json({"ok": healthy, "checks": [asdict(check) for check in checks]})
    elif healthy:
        say("everything a run needs works")
    return 0 if healthy else 5


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return Check(
        "python",
        sys.version_info >= (3, 11),
        f"{version} at {sys.executable}",
        "use Python 3.11 or newer: make PYTHON=/path/to/python3.11 setup",
    )


def _mpi() -> Check:
    from scicore.engine.launch import clear_away, environment, mpirun_command
    from scicore.errors import LaunchError

    fix = "reinstall the MPI wheels: make clean setup"
    code = "from mpi4py import MPI; print(MPI.COMM_WORLD.allreduce(1))"
    try:
        command = mpirun_command(1, "-c", code)
        done = subprocess.run(
            command,
            env=environment({}),
            capture_output=True,
            text=True,
            timeout=MPI_TIMEOUT_S,
            check=False,
        )
    except (LaunchError, OSError, subprocess.TimeoutExpired) as error:
        return Check("mpi", False, str(error), fix)
    finally:
        clear_away()
    if done.returncode == 0 and done.stdout.split() == ["2", "2"]:
        return Check("mpi", True, f"two ranks found each other under {command[0]}", fix)
    said = (done.stderr or done.stdout).strip()[-500:]
    return Check("mpi", False, f"two ranks did not find each other: {said}", fix)


def _postgresql(database_url: str | None) -> Check:
    from sqlalchemy import text

    from scicore.errors import ScicumulusError
    from scicore.provenance.connection import connect, redacted
    from scicore.provenance.renewal import REMEDY, told

    fix = "see the message; `scicumulus db start` starts the embedded server"
    try:
        database = connect(database_url)
        with database.engine.connect() as connection:
            version = connection.scalar(text("SHOW server_version"))
        server = database.server
        lost = server.lost_program() if server else None
    except ScicumulusError as error:
        return Check("postgresql", False, error.message, error.hint or fix)
    if server and lost:  # a run keeps it from being started again
        return Check("postgresql", False, told(server, lost), REMEDY)
    return Check("postgresql", True, f"version {version} at {redacted(database.url)}", fix)


def _disk() -> Check:
    from scicore.provenance.postgres_home import default_directory

    places = [Path.cwd(), *default_directory().parents]
    place_free = [
        (shutil.disk_usage(place).free / 1e9, place) for place in places if place.exists()
    ]
    free_gb, place = min(place_free, key=lambda pair: pair[0])
    return Check(
        "disk",
        free_gb >= LEAST_FREE_GB,
        f"{free_gb:.1f} GB free at {place}",
        f"free some space: a run needs at least {LEAST_FREE_GB:.0f} GB",
    )
