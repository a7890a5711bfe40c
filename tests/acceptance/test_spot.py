"""VMs that the provider takes back: they are drained, replaced, and missed by nobody."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread

import pytest

from provisioning.catalog import CATALOG
from provisioning.netns_host import ip
from tests.acceptance.console import SCICUMULUS, Said, finish
from tests.acceptance.metadata_stand_in import metadata_of
from tests.acceptance.site import GATE, PATIENCE_S, Site, attempts, rented, rows, state_of, until
from tests.acceptance.workflows import PASS_ON, Step, write_workflow
from tests.hosts import needs_hosts

pytestmark = needs_hosts

TAKEN, OTHER, NEW = "t2.micro-1", "t2.medium-1", "t2.micro-2"
NOTICE = {"action": "terminate", "time": "2026-11-17T08:22:00Z"}


@pytest.fixture(scope="module")
def site(home: Path) -> Iterator[Site]:
    with rented(home, "1xt2.micro,1xt2.medium", "spot", "--spot") as made:
        made.say("cluster", "configure", made.name)
        yield made


def _as_in_catalog(vm_type: str) -> tuple[str, int, float]:
    found = CATALOG[vm_type]
    return vm_type, found.slots, found.price_usd_per_hour


def await_work(site: Site, running: subprocess.Popen[str], spec: Path, *vms: str) -> None:
    """A program behind its gate, on each of these, and known to provenance: what a master had no
    time to record is not missed."""
    gates = [site.on_host(vm, spec.parent / "bin/begun") for vm in vms]

    def recorded() -> set[str]:
        found = site.console.rows(
            "SELECT vm FROM attempt JOIN run USING (run_id)"
            " WHERE directory LIKE %s AND cause IS NULL",
            f"{spec.parent}/%",
        )
        return {vm for (vm,) in found}

    until(
        lambda: (
            (all(gate.exists() for gate in gates) and recorded() >= set(vms))
            or running.poll() is not None
        ),
        f"work on {vms}",
    )
    assert running.poll() is None, finish(running)


def test_hosts_that_cannot_connect_to_the_master_are_told_before_anything_starts(
    site: Site,
) -> None:
    spec = write_workflow(site.directory / "behind", [Step("one")], rows(1))
    host = site.host(TAKEN)
    ours = host.address.rpartition(".")[0] + ".1"
    # As behind a router: the host answers SSH, and can begin nothing itself.
    answers = ("sport", "22", "ipproto", "tcp", "lookup", "main", "pref", "10")
    begins = ("to", ours, "ipproto", "tcp", "unreachable", "pref", "20")
    for rule in (answers, begins):
        ip("-n", host.id, "rule", "add", *rule)
    try:
        said = site.console("run", spec, "--cluster", site.name)
    finally:
        for rule in (answers, begins):
            ip("-n", host.id, "rule", "del", *rule)
    assert said.code == 3, said
    assert "1 of 2 hosts cannot be used; nothing was started" in said.err
    assert f"{host.address}: it cannot connect to this computer ({ours})" in said.err
    assert "in the hosts' network" in said.err
    assert site.console.rows("SELECT 1 FROM run WHERE directory LIKE %s", f"{spec.parent}/%") == []


def test_a_vm_that_is_taken_back_is_drained_and_replaced_and_no_attempt_is_used_up(
    site: Site,
) -> None:
    spec = write_workflow(site.directory / "taken", [Step("one", GATE + PASS_ON)], rows(9))
    metadata = site.directory / "metadata"
    metadata.mkdir()
    place = f"{spec.parent}/%"
    with ExitStack() as stack:
        stack.enter_context(metadata_of(site.host(TAKEN), metadata))
        options = ("--cluster", site.name, "--algorithm", "heft", "--replace", "1", "--json")
        running = site.console.start(SCICUMULUS, "run", spec, *options)

        await_work(site, running, spec, TAKEN, OTHER)
        (metadata / "notice").write_text(json.dumps(NOTICE))
        until(lambda: state_of(site, place, TAKEN) == "drained", "the notice to be heard")
        until(lambda: NEW in site.machines(), "another VM")
        begun = site.on_host(NEW, spec.parent / "bin/begun")
        until(begun.exists, "work on the other VM")
    machine = site.machines()[TAKEN]
    site.behind.terminate([machine.id])  # two minutes later, as it was told
    until(lambda: state_of(site, place, TAKEN) == "lost", "its loss to be noticed")
    for vm in (OTHER, NEW):
        site.on_host(vm, spec.parent / "bin/open").touch()
    said = finish(running)
    assert said.code == 0, said
    assert said.document["finished"] == 9
    seen = attempts(site, said.document["run_id"])
    back = [(name, vm, cause) for name, _, vm, cause, _, _ in seen if cause != "finished"]
    assert [(vm, cause) for _, vm, cause in back] == [(TAKEN, "lost vm")]  # though one try is all
    assert {vm for _, _, vm, cause, _, _ in seen if cause == "finished"} == {OTHER, NEW}
    assert f"VM {TAKEN} is being taken back; launching {NEW} instead" in said.err
    assert f"VM {TAKEN} is replaced by {NEW}" in said.err
    assert f"VM {NEW} joins the run" in said.err
    assert set(site.machines()) == {OTHER, NEW}  # one replacement, as allowed, and no more
    launched = site.console.rows(
        "SELECT outcome, spot FROM intent JOIN cluster USING (cluster_id)"
        " WHERE name = %s AND vms = %s",
        site.name,
        [NEW],
    )
    assert launched == [("launched", True)]


def test_a_lost_vm_is_not_replaced_beyond_the_budget(site: Site) -> None:
    spec = write_workflow(site.directory / "poor", [Step("one", GATE + PASS_ON)], rows(4))
    before = set(site.machines())
    options = ("--cluster", site.name, "--replace", "3", "--budget", "0.000001", "--json")
    running = site.console.start(SCICUMULUS, "run", spec, *options)
    await_work(site, running, spec, *before)
    site.behind.terminate([site.machines()[NEW].id])
    told: list[str] = []
    assert running.stderr is not None
    ear = Thread(target=told.extend, args=(running.stderr,))
    ear.start()
    refused = f"VM {NEW} is not replaced: with another t2.micro the cluster is expected to cost"
    until(lambda: any(refused in line for line in told), "the refusal")
    site.on_host(OTHER, spec.parent / "bin/open").touch()
    assert running.wait(timeout=PATIENCE_S) == 0, told
    ear.join()
    assert set(site.machines()) == before - {NEW}


def test_a_run_that_has_lost_every_vm_waits_for_another(site: Site) -> None:
    spec = write_workflow(site.directory / "last", [Step("one", GATE + PASS_ON)], rows(3))
    before = site.machines()
    running = site.console.start(
        SCICUMULUS, "run", spec, "--cluster", site.name, "--replace", "1", "--json"
    )
    await_work(site, running, spec, *before)
    site.behind.terminate([machine.id for machine in before.values()])
    until(lambda: set(site.machines()) - set(before) or running.poll() is not None, "another VM")
    (another,) = set(site.machines()) - set(before)
    await_work(site, running, spec, another)
    site.on_host(another, spec.parent / "bin/open").touch()
    said = finish(running)
    assert (said.code, said.document["finished"]) == (0, 3), said
    seen = attempts(site, said.document["run_id"])
    assert {vm for _, _, vm, cause, _, _ in seen if cause == "finished"} == {another}
    assert {cause for _, _, vm, cause, _, _ in seen if vm in before} == {"lost vm"}


def test_a_run_that_is_taken_up_again_gets_others_for_the_vms_that_are_gone(site: Site) -> None:
    spec = write_workflow(site.directory / "later", [Step("one", GATE + PASS_ON)], rows(3))
    before = site.machines()
    running = site.console.start(SCICUMULUS, "run", spec, "--cluster", site.name, "--json")
    await_work(site, running, spec, *before)
    site.behind.terminate([machine.id for machine in before.values()])
    said = finish(running)
    assert said.code == 3, said
    assert "VMs that are rented, and gone, are replaced with --replace N" in said.err

    def resume(*options: str) -> Said:
        return site.console("resume", "last", "--replace", "1", *options)

    asked = resume()  # nobody is there to answer
    assert asked.code != 0
    assert "2 of 2 VMs are gone" in asked.err
    assert "more the cluster is expected to cost $" in asked.err
    assert "Launch? [y/N]" in asked.err
    poor = resume("--yes", "--budget", "0.000001")
    assert poor.code == 3, poor
    assert "is not replaced: with another" in poor.err
    assert not site.machines()

    (spec.parent / "bin/open").touch()  # it will be on the new host from the beginning
    with site.short_of("t2.micro", "t2.small", "t2.medium"):
        short = resume("--yes")
        assert short.code == 3, short
        assert " is short: " in short.err, short.err
        done = resume("--yes", "--allow-substitutes", "--json")
    assert (done.code, done.document["finished"]) == (0, 3), done
    ((another, machine),) = site.machines().items()
    assert another not in before
    assert f"is replaced by {another}, a {machine.vm_type}" in done.err
    assert site.console.rows(
        "SELECT vm_type, slots, CAST(price_usd_per_hour AS float) FROM vm"
        " WHERE run_id = %s AND vm = %s",
        done.document["run_id"],
        another,
    ) == [_as_in_catalog(machine.vm_type)]
    assert machine.vm_type not in ("t2.micro", "t2.small", "t2.medium")
    seen = attempts(site, done.document["run_id"])
    assert {vm for _, _, vm, cause, _, _ in seen if cause == "finished"} == {another}
    assert {cause for _, _, vm, cause, _, _ in seen if vm in before} == {"lost vm"}
