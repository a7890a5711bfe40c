"""`scicumulus fetch`: bring the files of a run home from hosts that have their own disks."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scicore.cli.output import database_option, json_option, print_json, say

if TYPE_CHECKING:
    from provisioning.hostfile import Seat
    from scicore.cli.hosts import Hosts

AT_ONCE = 8
_PACK = 'cd "$1" 2>/dev/null || exit 0; tar -czf - --exclude=./.scicumulus .'


@click.command(epilog="Example: scicumulus fetch last")
@click.argument("run")
@click.option(
    "--hostfile",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where its hosts are; default: as the run was started.",
)
@database_option
@json_option
def command(run: str, hostfile: Path | None, database_url: str | None, as_json: bool) -> int:
    """Copy the workspaces of RUN (a number, or `last`) from all its hosts into its directory here,
    and compare every file that provenance knows with its checksum. If the run has a storage
    (`run --storage`), these files come from there, and no host need be left.

    What is here already and is the same stays; hosts that do not answer are named.
    """
    from scicore.cli.hosts import hosts_of_run
    from scicore.cli.preparation import catalog_of
    from scicore.errors import UsageError
    from scicore.provenance.connection import connect
    from scicore.provenance.reader import files_of, resolve_run
    from scicore.provenance.store import load_run

    database = connect(database_url)
    with database.engine.connect() as connection:
        run_id = resolve_run(connection, run)
        stored = load_run(connection, run_id, whole=False)
        # Inputs are where they were.
        recorded = {
            path: digest
            for path, digest in files_of(connection, run_id).items()
            if Path(path).is_relative_to(stored.directory)
        }
    hosts = hosts_of_run(stored.directory, hostfile, catalog_of(None, stored.workflow))
    if hosts is None:
        raise UsageError(f"run {run_id} was on this machine: everything is in {stored.directory}")
    seats: tuple[Seat, ...] = ()
    failed: dict[str, str] = {}
    if hosts.storage:
        from scicore.cli.storing import bring_home

        failed = bring_home(hosts.storage, run_id, recorded)
    else:
        seats = hosts.seats(stored.plan.fleet)
        failed = _bring(hosts, seats, Path(stored.directory))
    wrong = {
        path: why
        for path, digest in recorded.items()
        if path not in failed and (why := _compare(path, digest))
    }
    document = {
        "run_id": run_id,
        "directory": stored.directory,
        "storage": hosts.storage,
        "hosts": len({seat.address for seat in seats}),
        "unreachable": failed,
        "files": len(recorded),
        "wrong": wrong,
    }
    if as_json:
        print_json(document)
    else:
        good = len(recorded) - len({*wrong, *failed} & {*recorded})
        say(f"{stored.directory}: {good} of {len(recorded)} recorded files")
        for name, why in (*failed.items(), *wrong.items()):
            say(f"  {name}: {why}")
    return 3 if failed or wrong else 0


def _bring(hosts: Hosts, seats: tuple[Seat, ...], directory: Path) -> dict[str, str]:
    """From all hosts at once; returns why not, where it failed."""
    addresses = sorted({seat.address for seat in seats})
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = pool.map(lambda address: _bring_one(hosts, address, directory), addresses)
        return {address: why for address, why in zip(addresses, answers, strict=True) if why}


def _bring_one(hosts: Hosts, address: str, directory: Path) -> str:
    words = hosts.reaching(address, ["sh", "-c", _PACK, "sh", str(directory)])
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        return said[-1] if said else f"exit code {done.returncode}"
    if done.stdout:
        with tarfile.open(fileobj=io.BytesIO(done.stdout), mode="r:gz") as archive:
            archive.extractall(directory, filter="data")  # nothing leaves the directory
    return ""


def _compare(path: str, digest: str) -> str:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        return error.strerror or str(error)
    return "" if hashlib.sha256(data).hexdigest() == digest else "differs from what was recorded"
