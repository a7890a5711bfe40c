"""Whole runs across hosts: namespaces with their own sshd, launched and ended as EC2's are.

The workflow's directory is not shared: what the hosts know of it was brought to them over SSH.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioning.catalog import CATALOG
from provisioning.netns import Netns
from provisioning.provider import Cluster, LaunchRequest
from scicore.model.cloud import parse_fleet
from tests.acceptance.console import SCICUMULUS, Console
from tests.acceptance.site import (
    GATE,
    PATIENCE_S,
    SHARED,
    Site,
    attempts,
    is_alive,
    rented,
    rows,
    shortage,
    state_of,
    until,
)
from tests.acceptance.workflows import PASS_ON, Step, write_workflow
from tests.hosts import needs_hosts

FLEET = "2xt2.micro,1xt2.medium"
CUT = "t2.micro-1"
LATE = "t2.micro-3"

pytestmark = needs_hosts

# Says when it starts and ends, in its host's own copy of the workflow's directory. The second
# activity waits until the test opens its gate, for a minute or two at most.
SHORT = f'here=$(dirname "$0")\necho "$1" >> "$here/started"\nsleep 0.3\n{PASS_ON}'
WITH_FILE = (
    'here=$(dirname "$0")\necho "$1" >> "$here/started"\necho "data of $1" > made.txt\n'
    'printf "ID;MADE\\n%s;made.txt\\n" "$1" > ERelation.txt\n'
)
SLOW = f'here=$(dirname "$0")\nsleep 4\n{PASS_ON}echo "$1" >> "$here/slow-ended"\n'


@pytest.fixture(scope="module")
def site(home: Path) -> Iterator[Site]:
    with rented(home, FLEET, "test") as made:
        assert len(made.machines()) == 3
        yield made


def test_every_activation_runs_on_the_vm_that_the_plan_named(site: Site) -> None:
    one = Step("one", SHORT)
    two = Step("two", WITH_FILE, after="one", gives=("ID", "MADE"))
    spec = write_workflow(site.directory / "plain", [one, two], rows(8))
    text = spec.read_text().replace('name="MADE" type="string"', 'name="MADE" type="file"')
    spec.write_text(text)
    made = site.say("plan", spec, "--fleet", FLEET, "--algorithm", "heft", "--json")
    plan = str(made.document["plan_id"])
    ready = site.say("cluster", "configure", site.name, "--json").document
    hostfile = Path(ready["hostfile"])

    fewer = site.directory / "fewer"
    lines = hostfile.read_text().replace("ssh_config", str(hostfile.with_name("ssh_config")))
    fewer.write_text("".join(line for line in lines.splitlines(True) if "t2.micro-2" not in line))
    refused = site.console("run", spec, "--plan", plan, "--hostfile", fewer, "--json")
    assert refused.code == 2, refused
    assert "VM t2.micro-2 (t2.micro): no host" in refused.err

    options = ("--plan", plan, "--cluster", site.name, "--dispatch", "strict", "--json")
    leases_before = max(machine.lease_until for machine in site.machines().values())
    ran = site.say("run", spec, *options).document
    assert ran["finished"] == 16
    assert ran["attempts"] == 16
    seen = attempts(site, ran["run_id"])
    assert [(name, vm) for name, _, vm, _, _, _ in seen] == [
        (name, planned) for name, _, _, _, planned, _ in seen
    ]
    assert {vm for _, _, vm, _, _, _ in seen} == {"t2.micro-1", "t2.micro-2", "t2.medium-1"}
    told = dict(site.console.rows("SELECT vm, host FROM vm WHERE run_id = %s", ran["run_id"]))
    assert told == {vm: vm.replace(".", "-") for vm in told}
    # The lease was renewed, and what the hosts made comes home.
    lease_until = {machine.lease_until for machine in site.machines().values()}
    assert min(lease_until) > leases_before
    made_files = [Path(ran["directory"], f"two/{number}/made.txt") for number in range(1, 9)]
    assert not any(file.exists() for file in made_files)
    fetched = site.say("fetch", str(ran["run_id"]), "--json").document
    assert fetched["unreachable"] == fetched["wrong"] == {}
    assert fetched["files"] == 8
    assert [file.read_text() for file in made_files] == [f"data of {n}\n" for n in range(8)]
    # Each really ran there: the host's own copy of the directory says so.
    for vm in told:
        started = site.on_host(vm, spec.parent / "bin/started").read_text().split()
        assert len(started) == sum(each[2] == vm for each in seen)


def test_a_run_stops_when_its_money_is_spent_and_what_runs_may_end(site: Site) -> None:
    """A minute of each VM is billed at least, so that it takes a minute."""
    spec = write_workflow(site.directory / "dear", [Step("one", f"sleep 5\n{PASS_ON}")], rows(60))
    per_hour_usd = sum(vm.type.price_usd_per_hour for vm in parse_fleet(FLEET, CATALOG).vms)
    most_usd = per_hour_usd * 61 / 3600
    limit = f'<constraint workflow_exectag="x" max_financial_cost="{most_usd:.6f}"/>'
    environment = '<environment type="LOCAL"/>'
    spec.write_text(spec.read_text().replace(environment, environment + limit))
    said = site.console("run", spec, "--cluster", site.name, "--algorithm", "heft", "--json")
    assert said.code == 4, said
    ran = said.document
    assert ran["state"] == "stopped"
    assert "max_financial_cost" in ran["reason"]
    assert 0 < ran["finished"] == ran["attempts"] < 60


def test_a_run_outlives_a_host_that_is_cut_off_and_takes_a_new_one_in(site: Site) -> None:
    steps = [Step("one", SLOW), Step("two", GATE + PASS_ON, after="one")]
    spec = write_workflow(site.directory / "lossy", steps, rows(12))
    options = ("--cluster", site.name, "--algorithm", "heft", "--json")
    running = site.console.start(SCICUMULUS, "run", spec, *options)
    ran = "FROM attempt JOIN run USING (run_id) WHERE directory LIKE %s AND vm = %s"
    place = f"{spec.parent}/%"

    def count(vm: str, ended: bool) -> int:
        which = f"attempt.ended_at IS {'NOT ' if ended else ''}NULL"
        (row,) = site.console.rows(f"SELECT count(*) {ran} AND {which}", place, vm)
        return int(row[0])

    def under_way() -> list[str]:
        """Activations of the first activity that run on the host."""
        question = (
            "SELECT name FROM activation JOIN run USING (run_id)"
            " JOIN attempt USING (run_id, activation_id) WHERE directory LIKE %s"
            " AND attempt.vm = %s AND attempt.ended_at IS NULL AND name LIKE 'one.%%'"
        )
        return [str(name) for (name,) in site.console.rows(question, place, CUT)]

    until(lambda: bool(under_way()), "work on the host")
    site.host(CUT).cut()
    until(lambda: state_of(site, place, CUT) == "lost", "the loss to be noticed")
    until(lambda: count(CUT, ended=False) == 0, "its work to be given up")
    # Its programs end there meanwhile, and nobody can be told.
    given_up = site.console.rows(
        "SELECT name FROM activation JOIN run USING (run_id)"
        " JOIN attempt USING (run_id, activation_id)"
        " WHERE directory LIKE %s AND attempt.vm = %s AND cause = 'lost vm'",
        place,
        CUT,
    )
    late = [str(int(name[4:]) - 1) for (name,) in given_up if name.startswith("one.")]
    told = site.on_host(CUT, spec.parent / "bin/slow-ended")
    # An order that was on its way when the cable was pulled never arrived: no result will come.
    enough = time.monotonic() + 10
    while time.monotonic() < enough and not (
        told.exists() and {*late} <= {*told.read_text().split()}
    ):
        time.sleep(0.2)

    # The host is back, with results that are worth nothing any more, and another one joins.
    site.host(CUT).mend()
    old = site.machines()[CUT]
    public = (site.console.home / "netns" / site.name / "authorized_keys").read_text()
    cluster = Cluster(site.name, old.owner, public)
    asked = LaunchRequest("scicumulus-late", cluster, "t2.micro", (LATE,), old.lease_until)
    Netns(site.console.home / "netns", SHARED).launch(asked)
    site.say("cluster", "configure", site.name, "--workflow", spec)
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
    hosts = [site.host(vm) for vm in site.machines()]
    processes = {pid for host in hosts for pid in host.pids}
    assert len(hosts) >= 3
    assert len(processes) >= 2 * len(hosts)
    site.say("cluster", "down", site.name, "--provider", "netns")
    assert not [pid for pid in processes if is_alive(pid)]
    assert not [host.id for host in hosts if Path("/run/netns", host.id).exists()]
    for host in hosts:
        assert not Path("/sys/class/net", host.bridge).exists()
        assert not Path("/sys/class/net", host.cable).exists()
        assert not host.directory.exists()
    assert not (site.console.home / "netns").exists()
    assert not (site.console.home / "clusters" / site.name).exists()


def test_vms_rented_for_one_run_end_with_it_and_there_is_a_bill(console: Console) -> None:
    failing = Step("one", f'[ "$1" != 2 ] || exit 7\n{PASS_ON}')
    spec = write_workflow(console.directory / "rented", [failing], rows(4))
    words = ("--cloud", "--provider", "netns", "--fleet", "1xt2.micro,1xt2.medium", "--json")
    said = console("run", spec, *words, "--budget", "0.0000001", "--yes")
    assert said.code in (2, 4), said  # more than it may cost: nothing was launched
    with shortage(console, "t2.micro"):
        said = console("run", spec, *words, "--yes", "--allow-substitutes")
    assert said.code == 1, said  # an activation failed, as it should
    assert "planned anew" in said.err
    run = said.document["run_id"]
    types = dict(console.rows("SELECT vm, vm_type FROM vm WHERE run_id = %s", run))
    assert types.pop("t2.medium-1") == "t2.medium"
    ((vm, substitute),) = types.items()
    assert vm == "t2.micro-1"
    assert substitute not in ("t2.micro", "local")
    bill = said.document["bill"]
    assert said.document["finished"] == 3
    assert [post["activity"] for post in bill["activities"]] == ["one"]
    parts = bill["boot_usd"] + bill["idle_usd"] + bill["activities"][0]["actual_usd"]
    assert bill["actual_usd"] == pytest.approx(parts, rel=0.01)
    expected = bill["estimated_boot_usd"] + bill["estimated_idle_usd"]
    assert bill["activities"][0]["estimated_usd"] > 0
    assert bill["estimated_usd"] == pytest.approx(
        expected + bill["activities"][0]["estimated_usd"], rel=0.01
    )
    assert Path(said.document["directory"], "one/1/ERelation.txt").exists(), "it was fetched"
    seen = console("cluster", "ls", "--provider", "netns", "--json").document["machines"]
    assert [machine["cluster"] for machine in seen if machine["cluster"].startswith("run-")] == []
    assert list(console.home.glob("netns/run-*")) == []
