"""Clusters in EC2 after their start: asked for again, mended, swept, ended."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from provisioning.launching import Stopped
from provisioning.ledger import Busy
from provisioning.provider import Shortage
from scicore.errors import UsageError
from scicore.model.cluster import Wanted
from tests.acceptance.console import eventually
from tests.integration.ec2_account import (
    FLEET,
    OWNER,
    Account,
    add_foreign_things,
    alive,
    client,
    foreign_things,
    later,
    left_of,
)
from tests.integration.ec2_stand_in import Ec2Server


def test_up_again_changes_nothing_but_the_lease(account: Account) -> None:
    first = account.up()
    again = account.up(lease_until=later(hours=5))
    assert [each.id for each in again] == [each.id for each in first]
    assert {each.lease_until > later(hours=4) for each in again} == {True}
    assert len(alive()) == 3


def test_up_again_replaces_a_lost_vm(account: Account) -> None:
    first = {each.vm: each.id for each in account.up()}
    client().terminate_instances(InstanceIds=[first["t2.micro-1"]])
    again = {each.vm: each.id for each in account.up()}
    assert again["t2.micro-1"] != first["t2.micro-1"]
    assert again["t2.micro-2"] == first["t2.micro-2"]
    assert account.ending.down("m", OWNER) == 3
    assert left_of() == []


def test_a_vm_that_joins_replaces_a_lost_one_and_leaves_the_others_alone(
    account: Account, ec2: Ec2Server
) -> None:
    first = {each.vm: each.id for each in account.up()}
    wanted = account.order(fleet="3xt2.micro")
    other = replace(wanted, fleet=FLEET, vms=wanted.vms[2:])
    ec2.behave(blind=2)
    made = account.launching.add(other, instead_of="t2.micro-1")
    assert (made.vm, made.lease_until > later()) == ("t2.micro-3", True)
    assert {each["InstanceId"] for each in alive()} == {
        made.id, first["t2.micro-2"], first["t2.2xlarge-1"],
    }  # fmt: skip
    record = account.ledger.open("m")
    assert record is not None
    ended = {each.vm for intent in record.intents for each in intent.instances if each.ended_at}
    assert ended == {"t2.micro-1"}

    # One that cannot be had, or does not come up, takes nobody with it.
    ec2.fail("RunInstances", "InsufficientInstanceCapacity", 500, times=-1)
    another = replace(other, vms=(replace(wanted.vms[0], id="t2.micro-4"),))
    with pytest.raises(Shortage):
        account.launching.add(another)
    ec2.behave(faults=[])
    assert len(alive()) == 3
    assert account.ending.down("m", OWNER) == 3
    assert left_of() == []


def test_another_fleet_under_the_same_name_is_refused(account: Account) -> None:
    account.up()
    with pytest.raises(UsageError, match=r"cluster m exists with the fleet 2xt2\.micro"):
        account.up(fleet="1xt2.micro")
    assert len(alive()) == 3


def test_a_cluster_that_the_database_does_not_know_is_refused_and_can_be_ended(
    account: Account,
) -> None:
    account.up()
    amnesiac = Account()
    with pytest.raises(UsageError, match="that this database knows nothing of"):
        amnesiac.up()
    assert amnesiac.ending.down("m", OWNER) == 3
    assert left_of() == []


def _wanted(account: Account) -> Wanted | None:
    record = account.ledger.open("m")
    return record.wanted if record else None


def test_down_during_up_ends_both(account: Account) -> None:
    """Between the two launches, from another thread."""
    ended: list[int] = []
    other = Account(ledger=account.ledger, stands_still=True)
    thread = threading.Thread(target=lambda: ended.append(other.ending.down("m", OWNER)))

    def down_begins(**_: Any) -> None:
        if thread.ident is None:
            thread.start()
            eventually(lambda: _wanted(account) is Wanted.DOWN, "the other command")

    account.provider._ec2.meta.events.register("after-call.ec2.RunInstances", down_begins)
    with pytest.raises(Stopped, match="ended by another command"):
        account.up()
    thread.join(timeout=60)
    assert ended
    assert left_of() == []


def test_sweep_ends_what_outlived_its_lease_and_nothing_else(account: Account) -> None:
    add_foreign_things()
    foreign = foreign_things()
    assert len(foreign) >= 6
    account.up("old", "1xt2.micro", lease_until=later(hours=-1))
    account.up("new", "1xt2.micro")
    forgetful = Account()
    planned = forgetful.ending.sweep(OWNER, dry_run=True)
    assert len(alive()) == 5
    judgement = forgetful.ending.sweep(OWNER)
    assert planned.verdicts == judgement.verdicts
    told = {each.machine.cluster: (each.end, each.why[:12]) for each in judgement.verdicts}
    assert told == {
        "old": (True, "its lease en"),
        "new": (False, "leased until"),
        "m-of-bob": (False, "belongs to b"),
    }
    assert foreign_things() == foreign
    assert [each.cluster for each in forgetful.provider.observe("new")] == ["new"]
    later_on = Account(ahead=timedelta(hours=2))
    later_on.ending.sweep(OWNER)
    assert left_of() == []
    assert foreign_things() == foreign


def test_sweep_leaves_alone_what_another_command_works_on(account: Account) -> None:
    account.up(lease_until=later(hours=-1))
    with account.ledger.hold("m"):
        judgement = account.ending.sweep(OWNER)
        assert {each.why for each in judgement.verdicts} == {"a command is at work on its cluster"}
        with pytest.raises(Busy):
            account.up()
    assert len(alive()) == 3
