"""How many VMs `--fleet auto` may choose, and of which types."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from provisioning.catalog import CATALOG
from scicore.cli.auto_fleet import rentable, room_of
from scicore.cli.preparation import Cloud
from scicore.errors import UsageError
from scicore.model.cloud import VmType
from scicore.model.cluster import ClusterRecord, Instance, Intent, Outcome
from scicore.model.workflow import Workflow
from scicore.planners.mixes import Room

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WORKFLOW = Workflow("w", (), (), "/", "/")
VMS = ("t2.xlarge-1", "t2.xlarge-2")
INTENT = Intent("token", CATALOG["t2.xlarge"], VMS, False, NOW, NOW)  # 4 vCPUs each
RECORD = ClusterRecord("c", "ada", "ec2", "2xt2.xlarge", None, NOW, NOW, intents=(INTENT,))
ONE_LEFT = (Instance("i-1", VMS[0], NOW, ended_at=NOW), Instance("i-2", VMS[1], NOW))


def cluster(intent: Intent) -> ClusterRecord:
    return replace(RECORD, intents=(intent,))


def test_the_workflow_limits_the_vms_and_the_quota_their_vcpus() -> None:
    assert room_of(WORKFLOW, None, ()) == Room(20, 32)
    assert room_of(replace(WORKFLOW, max_vm_amount=3), 100, ()) == Room(3, 100)


@pytest.mark.parametrize(
    ("record", "left"),
    [
        (RECORD, 24),  # asked for: nobody knows yet what came of it
        (cluster(replace(INTENT, outcome=Outcome.LAUNCHED, instances=ONE_LEFT)), 28),
        (cluster(replace(INTENT, outcome=Outcome.SHORTAGE)), 32),
        (replace(RECORD, provider="netns"), 32),  # needs no quota of AWS
    ],
)
def test_what_is_rented_already_is_taken_off_the_quota(record: ClusterRecord, left: int) -> None:
    assert room_of(WORKFLOW, 32, [record]).slots == left


def test_a_quota_that_is_used_up_is_said() -> None:
    with pytest.raises(UsageError, match="8 vCPUs are rented, and the quota is 8") as caught:
        room_of(WORKFLOW, 8, [RECORD])
    assert "cluster down" in caught.value.hint


def test_types_are_those_of_the_workflow_or_else_of_the_catalog() -> None:
    assert {each.name for each in rentable(WORKFLOW, Cloud())} >= set(CATALOG)
    own = VmType("own", 1, 0, 1.0, 0.5)
    named = replace(WORKFLOW, machine_types=(own, replace(own, name="gift", price_usd_per_hour=0)))
    assert rentable(named, Cloud()) == [own]
    with pytest.raises(UsageError, match="no VM type has a price"):
        rentable(replace(named, machine_types=named.machine_types[1:]), Cloud())
