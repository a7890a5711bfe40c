"""Whole runs across hosts: namespaces with their own sshd, launched and ended as EC2's are.

The workflow's directory is not shared: what the hosts know of it was brought to them over SSH.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from provisioning.access import targets_of, write_files
from provisioning.bootstrap import Wanted, configure
from provisioning.catalog import CATALOG
from provisioning.ending import Ending
from provisioning.keys import ensure_key
from provisioning.launching import Launching, Order
from provisioning.ledger import MemoryLedger
from provisioning.netns import Netns
from provisioning.netns_host import OWN, why_not
from provisioning.provider import Cluster, LaunchRequest, Machine
from scicore.model.cloud import parse_fleet
from tests.acceptance.console import SCICUMULUS, Console
from tests.acceptance.workflows import PASS_ON, Step, write_workflow

ROOT = Path(__file__).parents[2]
FLEET = "2xt2.micro,1xt2.medium"
CUT = "t2.micro-1"
LATE = "t2.micro-3"
OWNER = "tester"
PATIENCE_S = 120.0

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "it works")

# Says when it starts and ends, in its host's own copy of the workflow's directory. The second
# activity waits until the test opens its gate, for a minute or two at most.
SHORT = f'here=$(dirname "$0")\necho "$1" >> "$here/started"\nsleep 0.3\n{PASS_ON}'
SLOW = f'here=$(dirname "$0")\nsleep 1.5\n{PASS_ON}echo "$1" >> "$here/slow-ended"\n'
GATED = (
    'here=$(dirname "$0")\nn=0\n'
    'while [ ! -e "$here/open" ] && [ $n -lt 600 ]; do sleep 0.2; n=$((n+1)); done\n' + PASS_ON
)


def until(condition: Any, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for: {what}"
        time.sleep(0.2)


@dataclass
class Site:
    """A cluster of namespace hosts, and the directory of those who use it."""

    console: Console
    directory: Path  # on this side only
    provider: Netns
    name: str
    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    said: list[str] = field(default_factory=list)

    @property
    def cluster(self) -> Cluster:
        key = ensure_key(self.directory / "cluster", self.name)
        return Cluster(self.name, OWNER, key.public_key)

    @property
    def identity(self) -> Path:
        return ensure_key(self.directory / "cluster", self.name).private_file

    def up(self, fleet: str) -> None:
        vms = parse_fleet(fleet, CATALOG).vms
        order = Order(self.cluster, fleet, vms, datetime.now(UTC) + timedelta(hours=1))
        launching = Launching(
            self.provider, self.ledger, lambda: datetime.now(UTC), time.sleep, self.said.append
        )
        launching.up(order)

    def down(self) -> None:
        ending = Ending(
            self.provider, self.ledger, lambda: datetime.now(UTC), time.sleep, self.said.append
        )
        ending.down(self.name, OWNER)

    def machines(self) -> dict[str, Machine]:
        return {machine.vm: machine for machine in self.provider.observe(self.name)}

    def configure(self, workflow: Path, *vms: str) -> None:
        machines = [self.machines()[vm] for vm in vms] if vms else [*self.machines().values()]
        targets = targets_of(self.provider, machines, self.identity)
        keys = f"{OWN}/authorized_keys"
        configure(targets, Wanted(OWN, None, workflow, keys), self.said.append)

    def hostfile(self, *vms: str) -> Path:
        machines = self.machines()
        chosen = [machines[vm] for vm in vms] if vms else [*machines.values()]
        targets = targets_of(self.provider, chosen, self.identity)
        types = {m.vm: (m.vm_type, CATALOG[m.vm_type].slots) for m in chosen}
        return write_files(
            self.directory / "cluster", targets, types, self.provider.network(self.name)
        )

    def on_host(self, vm: str, path: Path) -> Path:
        """A file below the host's own /tmp, as it is seen from here."""
        return self.provider.host(self.machines()[vm]).directory / "tmp" / path.relative_to("/tmp")

    def processes(self) -> set[int]:
        """All that run on the hosts, seen from outside."""
        return {
            pid for machine in self.machines().values() for pid in self.provider.host(machine).pids
        }


@pytest.fixture(scope="module")
def site(home: Path) -> Iterator[Site]:
    directory = Path(tempfile.mkdtemp(prefix="scicumulus-hosts-", dir="/tmp"))
    console = Console(home, directory)
    shared = [ROOT, Path(sys.prefix), Path(sys.base_prefix)]
    provider = Netns(directory / "netns", shared)
    made = Site(console, directory, provider, f"test-{os.getpid()}")
    try:
        made.up(FLEET)
        yield made
    finally:
        made.down()
        console.leave_nothing()
        shutil.rmtree(directory)


def attempts(site: Site, run: int) -> list[tuple[str, int, str, str, str, str]]:
    return site.console.rows(
        """SELECT a.name, t.number, t.vm, t.cause, a.planned_vm, a.moved_because
           FROM activation a JOIN attempt t USING (run_id, activation_id)
           WHERE run_id = %s ORDER BY a.activation_id, t.number""",
        run,
    )


def test_every_activation_runs_on_the_vm_that_the_plan_named(site: Site) -> None:
    spec = write_workflow(
        site.directory / "plain", [Step("one", SHORT), Step("two", SHORT, after="one")], rows(8)
    )
    site.configure(spec.parent)
    hostfile = site.hostfile()
    made = site.console("plan", spec, "--fleet", FLEET, "--algorithm", "heft", "--json")
    plan = str(made.document["plan_id"])

    fewer = site.hostfile("t2.micro-1", "t2.medium-1")
    refused = site.console("run", spec, "--plan", plan, "--hostfile", fewer, "--json")
    assert refused.code == 2, refused
    assert "VM t2.micro-2 (t2.micro): no host" in refused.err

    hostfile = site.hostfile()
    options = ("--plan", plan, "--hostfile", str(hostfile), "--dispatch", "strict")
    ran = site.console.run(spec, *options)
    assert ran["finished"] == 16
    assert ran["attempts"] == 16
    seen = attempts(site, ran["run_id"])
    assert [(name, vm) for name, _, vm, _, _, _ in seen] == [
        (name, planned) for name, _, _, _, planned, _ in seen
    ]
    assert {vm for _, _, vm, _, _, _ in seen} == {"t2.micro-1", "t2.micro-2", "t2.medium-1"}
    told = dict(site.console.rows("SELECT vm, host FROM vm WHERE run_id = %s", ran["run_id"]))
    assert told == {vm: vm.replace(".", "-") for vm in told}
    # Each really ran there: the host's own copy of the directory says so.
    for vm in told:
        started = site.on_host(vm, spec.parent / "bin/started").read_text().split()
        assert len(started) == sum(each[2] == vm for each in seen)


def test_a_run_outlives_a_host_that_is_cut_off_and_takes_a_new_one_in(site: Site) -> None:
    steps = [Step("one", SLOW), Step("two", GATED, after="one")]
    spec = write_workflow(site.directory / "lossy", steps, rows(12))
    site.configure(spec.parent)
    hostfile = site.hostfile("t2.micro-1", "t2.micro-2", "t2.medium-1")
    options = ("--hostfile", hostfile, "--algorithm", "heft", "--json")
    running = site.console.start(SCICUMULUS, "run", spec, *options)
    ran = "FROM attempt JOIN run USING (run_id) WHERE directory LIKE %s AND vm = %s"
    place = f"{spec.parent}/%"

    def count(vm: str, ended: bool) -> int:
        which = f"attempt.ended_at IS {'NOT ' if ended else ''}NULL"
        (row,) = site.console.rows(f"SELECT count(*) {ran} AND {which}", place, vm)
        return int(row[0])

    until(lambda: count(CUT, ended=True) > 0 and count(CUT, ended=False) > 0, "work on the host")
    cut = site.machines()[CUT]
    site.provider.host(cut).cut()
    until(lambda: state_of(site, place, CUT) == "lost", "the loss to be noticed")
    # Its program has ended meanwhile, and nobody could be told.
    late = site.on_host(CUT, spec.parent / "bin/slow-ended")
    until(lambda: len(late.read_text().split()) > count(CUT, ended=True) - 1, "a late result")

    # The host is back, with results that are worth nothing any more, and another one joins.
    site.provider.host(cut).mend()
    request = LaunchRequest(
        "scicumulus-late", site.cluster, "t2.micro", (LATE,), datetime.now(UTC) + timedelta(hours=1)
    )
    site.provider.launch(request)
    site.configure(spec.parent, LATE)
    site.hostfile()
    until(lambda: count(LATE, ended=False) > 0, "work for the host that joined")
    for vm in site.machines():
        site.on_host(vm, spec.parent / "bin/open").touch()
    out, err = running.communicate(timeout=PATIENCE_S)

    document = json.loads(out)
    assert running.returncode == 0, err
    assert document["finished"] == 24, err
    seen = attempts(site, document["run_id"])
    results = [name for name, _, _, cause, _, _ in seen if cause == "finished"]
    assert sorted(results) == sorted({name for name, *_ in seen}), "each finished exactly once"
    lost = [each for each in seen if each[3] != "finished"]
    assert {(vm, cause) for _, _, vm, cause, _, _ in lost} == {(CUT, "lost vm")}
    for name, number, _, _, _, _ in lost:  # and none after it had finished
        assert [each[1] for each in seen if each[0] == name] == [1, 2]
        assert number == 1
    assert f"VM {LATE} joins the run" in err
    assert any(vm == LATE for _, _, vm, _, _, _ in seen)
    assert {state_of(site, place, vm) for vm in site.machines()} == {"left"}


def test_when_the_cluster_is_ended_nothing_of_it_is_left(site: Site) -> None:
    hosts = [site.provider.host(machine) for machine in site.machines().values()]
    processes = {pid for host in hosts for pid in host.pids}
    assert len(hosts) >= 3
    assert len(processes) >= 2 * len(hosts)
    site.down()
    assert not [pid for pid in processes if is_alive(pid)]
    assert not [host.id for host in hosts if Path("/run/netns", host.id).exists()]
    for host in hosts:
        assert not Path("/sys/class/net", host.bridge).exists()
        assert not Path("/sys/class/net", host.cable).exists()
        assert not host.directory.exists()
    assert not (site.directory / "netns").exists()
    assert site.ledger.all_open() == ()


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
