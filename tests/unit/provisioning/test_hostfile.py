"""Hostfiles: read, written, and held against the plan's VMs."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioning.catalog import CATALOG
from provisioning.hostfile import Host, Hostfile, fleet_of, parse, seat, seat_again, write
from scicore.errors import SpecificationError, UsageError
from scicore.model.cloud import parse_fleet

FLEET = parse_fleet("2xt2.micro,1xt2.medium", CATALOG)
HOSTS = (
    Host("10.0.0.13", 2, "t2.medium-1", "t2.medium"),
    Host("10.0.0.11", 1, "t2.micro-1", "t2.micro"),
    Host("10.0.0.12", 1, "t2.micro-2", "t2.micro"),
)
SHIPPED = sorted((Path(__file__).parents[3] / "hostfiles").iterdir())


def test_what_is_written_reads_the_same() -> None:
    hostfile = Hostfile(HOSTS, "ssh_config", "10.0.0.0/24")
    assert parse(write(hostfile, "cluster x"), "hosts") == hostfile


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_hostfiles_are_fleets(path: Path) -> None:
    hosts = parse(path.read_text(), str(path)).hosts
    assert len(fleet_of(hosts, CATALOG).vms) == len(hosts)


def test_a_plain_hostfile_of_open_mpi_is_understood() -> None:
    hosts = parse("node01 slots=8\nnode02 slots=8 # the loud one\n\n# old\n", "hosts").hosts
    fleet = fleet_of(hosts, CATALOG)
    assert [(vm.id, vm.type.slots) for vm in fleet.vms] == [("local-1", 8), ("local-2", 8)]
    assert fleet.text == "2xlocal:8"


def test_all_defects_are_told_with_their_lines() -> None:
    text = "a slots=0\n-oProxyCommand=x\nb slots=1 # vm=x;y\nc speed=3\n# network: here\n"
    with pytest.raises(SpecificationError) as caught:
        parse(text, "hosts")
    assert [defect.line for defect in caught.value.defects] == [0, 1, 2, 3, 4]


def test_two_hosts_cannot_be_the_same_vm() -> None:
    with pytest.raises(SpecificationError, match="2 hosts for VM v-1"):
        parse("a # vm=v-1\nb # vm=v-1\n", "hosts")


def test_every_vm_of_the_plan_gets_its_own_host() -> None:
    seats = seat(HOSTS, FLEET)
    assert [(each.vm.id, each.address) for each in seats] == [
        ("t2.micro-1", "10.0.0.11"),
        ("t2.micro-2", "10.0.0.12"),
        ("t2.medium-1", "10.0.0.13"),
    ]


def test_hosts_without_vm_ids_are_matched_by_type() -> None:
    hosts = [Host(host.address, 0, "", host.type) for host in HOSTS]
    assert seat(hosts, FLEET) == seat(HOSTS, FLEET)


def test_hosts_that_are_not_the_plans_vms_are_refused_with_all_differences() -> None:
    hosts = (
        Host("10.0.0.11", 4, "t2.micro-1", "t2.micro"),
        Host("10.0.0.13", 2, "t2.medium-1", "t2.large"),
        Host("10.0.0.14", 8, "t2.2xlarge-1", "t2.2xlarge"),
    )
    with pytest.raises(UsageError) as caught:
        seat(hosts, FLEET)
    assert caught.value.message.splitlines()[1:] == [
        "  VM t2.micro-1: host 10.0.0.11 has 4 slots, the plan counts on 1",
        "  VM t2.micro-2 (t2.micro): no host",
        "  VM t2.medium-1: host 10.0.0.13 is a t2.large, not a t2.medium",
        "  host 10.0.0.14 is VM t2.2xlarge-1 (t2.2xlarge): the plan has no use for it",
    ]


def test_a_run_under_way_may_lack_hosts_and_have_new_ones() -> None:
    seats = seat_again(
        [HOSTS[1], Host("10.0.0.20", 0, "", "t2.micro"), Host("10.0.0.21", 8, "", "t2.2xlarge")],
        FLEET,
        CATALOG,
    )
    assert [(each.vm.id, each.address) for each in seats] == [
        ("t2.micro-1", "10.0.0.11"),
        ("t2.micro-2", "10.0.0.20"),
        ("t2.2xlarge-1", "10.0.0.21"),
    ]


def test_a_host_that_claims_to_be_a_vm_of_another_type_is_refused_under_way_too() -> None:
    with pytest.raises(UsageError, match=r"is a t2\.large, not a t2\.micro"):
        seat_again([Host("10.0.0.11", 2, "t2.micro-1", "t2.large")], FLEET, CATALOG)


def test_slots_that_contradict_the_type_are_refused() -> None:
    with pytest.raises(UsageError, match=r"slots=4, but a t2\.micro has 1"):
        fleet_of([Host("a", 4, "", "t2.micro")], CATALOG)
