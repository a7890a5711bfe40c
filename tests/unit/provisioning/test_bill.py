"""What a cluster will cost, costs, and has cost."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from provisioning.bill import (
    BOOT_S,
    boot_usd,
    estimate,
    so_far_usd,
    spent_usd,
    types_of,
    with_others_usd,
)
from provisioning.catalog import CATALOG
from provisioning.provider import Machine, MachineState
from scicore.model.cloud import parse_fleet
from scicore.model.cluster import ClusterRecord, Instance, Intent

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
FLEET = parse_fleet("8xt2.micro,1xt2.2xlarge", CATALOG)
PER_HOUR_USD = 8 * 0.0116 + 0.3712


def test_an_estimate_counts_boot_and_makespan_of_every_vm() -> None:
    told = estimate(FLEET, lease_s=7200, makespan_s=3600 - BOOT_S)
    assert told.usd_per_hour == pytest.approx(PER_HOUR_USD)
    assert told.run_s == 3600
    assert told.expected_usd == told.usd == pytest.approx(PER_HOUR_USD)
    assert told.most_usd == pytest.approx(2 * PER_HOUR_USD)


def test_without_a_plan_a_budget_is_compared_with_the_whole_lease() -> None:
    told = estimate(FLEET, lease_s=7200)
    assert (told.run_s, told.expected_usd) == (None, None)
    assert told.usd == pytest.approx(2 * PER_HOUR_USD)


def test_the_boot_time_that_a_type_is_known_to_need_is_counted() -> None:
    slow = {"t2.micro": replace(CATALOG["t2.micro"], boot_s=300.0)}
    assert estimate(parse_fleet("1xt2.micro", slow), 3600, 100.0).run_s == 400.0


def test_costs_run_from_the_launch_to_the_end_with_a_minute_at_least() -> None:
    micro = CATALOG["t2.micro"]
    instances = (
        Instance("i-1", "t2.micro-1", NOW - timedelta(hours=2), NOW - timedelta(hours=1)),
        Instance("i-2", "t2.micro-2", NOW - timedelta(seconds=1)),
    )
    intent = Intent("t", micro, ("t2.micro-1", "t2.micro-2"), False, NOW, NOW, instances=instances)
    record = ClusterRecord("m", "ada", "ec2", "2xt2.micro", None, NOW, NOW, intents=(intent,))
    assert spent_usd(record, NOW) == pytest.approx(0.0116 + 0.0116 / 60)
    assert types_of([record]) == {"i-1": micro, "i-2": micro}
    machine = Machine(
        "i-1", "t2.micro-1", "t2.micro", MachineState.RUNNING, "m", "ada", "t",
        NOW - timedelta(hours=2), NOW,
    )  # fmt: skip
    assert so_far_usd(machine, micro, NOW) == pytest.approx(2 * 0.0116)
    assert so_far_usd(machine, None, NOW) is None


def test_a_replacement_adds_its_own_time_and_that_of_those_that_go_on() -> None:
    micro = CATALOG["t2.micro"]
    hour_ago = NOW - timedelta(hours=1)
    instances = (Instance("i-1", "t2.micro-1", hour_ago), Instance("i-2", "t2.micro-2", hour_ago))
    intent = Intent("t", micro, ("t2.micro-1", "t2.micro-2"), False, NOW, NOW, instances=instances)
    record = ClusterRecord("m", "ada", "ec2", "2xt2.micro", None, NOW, NOW, intents=(intent,))
    left_s = 3600 - BOOT_S
    so_far, other = 2 * 0.0116, 0.0116 * left_s / 3600
    assert with_others_usd(record, ["t2.micro-1"], [micro], NOW, left_s) == pytest.approx(
        so_far + other + 0.0116
    )
    both = ["t2.micro-1", "t2.micro-2"]
    assert with_others_usd(record, both, [micro, micro], NOW, left_s) == pytest.approx(
        so_far + 2 * 0.0116
    )


def test_while_vms_boot_all_are_paid_for() -> None:
    assert boot_usd(FLEET) == pytest.approx(PER_HOUR_USD * BOOT_S / 3600)
