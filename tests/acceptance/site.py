"""A cluster of namespace hosts in tests: as its user sees it, and from behind."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provisioning.netns import SHORT, Netns
from provisioning.netns_host import NetnsHost
from provisioning.provider import Machine
from tests.acceptance.console import Console, Said

SHARED = [Path(__file__).parents[2], Path(sys.prefix), Path(sys.base_prefix)]
PATIENCE_S = 120.0
# Tells, in its host's own copy of the workflow's directory, that it has begun, and waits until the
# test opens the gate there, for a minute or two at most.
GATE = (
    'here=$(dirname "$0")\ntouch "$here/begun"\nn=0\n'
    'while [ ! -e "$here/open" ] && [ $n -lt 600 ]; do sleep 0.2; n=$((n+1)); done\n'
)


def until(condition: Any, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for: {what}"
        time.sleep(0.2)


@dataclass
class Site:
    """A cluster of namespace hosts, as its user sees it, and from behind."""

    console: Console
    directory: Path  # on this side only
    name: str

    @property
    def behind(self) -> Netns:
        return Netns(self.console.home / "netns")

    def say(self, *words: str | Path) -> Said:
        said = self.console(*words)
        assert said.code == 0, said
        return said

    def machines(self) -> dict[str, Machine]:
        return {machine.vm: machine for machine in self.behind.observe(self.name)}

    def host(self, vm: str) -> NetnsHost:
        return self.behind.host(self.machines()[vm])

    @contextmanager
    def short_of(self, *vm_types: str) -> Iterator[None]:
        with shortage(self.console, *vm_types):
            yield

    def on_host(self, vm: str, path: Path) -> Path:
        """A file below the host's own /tmp, as it is seen from here."""
        return self.host(vm).directory / "tmp" / path.relative_to("/tmp")


@contextmanager
def rented(home: Path, fleet: str, name: str, *options: str, **extra: str) -> Iterator[Site]:
    """A cluster that is up; whatever happens, it is ended. `extra`: environment of its user."""
    directory = Path(tempfile.mkdtemp(prefix="scicumulus-hosts-", dir="/tmp"))
    settle = {"SCICUMULUS_CLOUD_SETTLE_S": "1"}  # these hosts are seen as soon as they are there
    made = Site(Console(home, directory, settle | extra), directory, f"{name}-{os.getpid()}")
    rent = ("--provider", "netns", "--name", made.name, "--reachable-from", "none", "--yes")
    try:
        made.say("cluster", "up", "--fleet", fleet, *rent, *options, "--json")
        yield made
    finally:
        made.console("cluster", "down", made.name, "--provider", "netns")
        made.console.leave_nothing()
        shutil.rmtree(directory)


@contextmanager
def shortage(console: Console, *vm_types: str) -> Iterator[None]:
    """No VM of these types is to be had."""
    file = console.home / "netns" / SHORT
    file.parent.mkdir(mode=0o700, exist_ok=True)
    file.write_text("\n".join(vm_types))
    try:
        yield
    finally:
        file.unlink()


def attempts(site: Site, run: int) -> list[tuple[str, int, str, str, str, str]]:
    return site.console.rows(
        """SELECT a.name, t.number, t.vm, t.cause, a.planned_vm, a.moved_because
           FROM activation a JOIN attempt t USING (run_id, activation_id)
           WHERE run_id = %s ORDER BY a.activation_id, t.number""",
        run,
    )


def is_alive(pid: int) -> bool:
    """One that has ended and that nobody has looked at yet is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def state_of(site: Site, place: str, vm: str) -> str:
    found = site.console.rows(
        "SELECT vm.state FROM vm JOIN run USING (run_id) WHERE directory LIKE %s AND vm = %s",
        place,
        vm,
    )
    return str(found[0][0]) if found else ""


def rows(count: int) -> list[tuple[str]]:
    return [(str(number),) for number in range(count)]
