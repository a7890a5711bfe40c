"""What a cluster will cost, costs now, and has cost. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from provisioning.fleet import GONE
from provisioning.provider import Machine
from scicore.model.cloud import Fleet, VmType
from scicore.model.cluster import ClusterRecord

BOOT_S = 60.0  # from the launch until SSH answers, where the type does not say


@dataclass(frozen=True, slots=True)
class Estimate:
    usd_per_hour: float
    run_s: float | None  # boot and makespan; None without a plan
    expected_usd: float | None  # for that time; None without a plan
    most_usd: float  # if nobody ends the cluster before its lease is over

    @property
    def usd(self) -> float:
        """What a budget is compared with."""
        return self.most_usd if self.expected_usd is None else self.expected_usd


def estimate(fleet: Fleet, lease_s: float, makespan_s: float | None = None) -> Estimate:
    """VMs come and go together: each is paid from the launch until the run has ended.

    Spot VMs cost less; how much is not known before, and never more than this.
    """
    types = [vm.type for vm in fleet.vms]
    per_hour = sum(vm_type.price_usd_per_hour for vm_type in types)
    run_s = None
    if makespan_s is not None:
        run_s = makespan_s + max((boot_s(vm_type) for vm_type in types), default=0.0)
    expected = None if run_s is None else sum(vm_type.cost_usd(run_s) for vm_type in types)
    return Estimate(per_hour, run_s, expected, sum(each.cost_usd(lease_s) for each in types))


def boot_usd(fleet: Fleet) -> float:
    """Until the slowest VM is there, all are paid for and none works."""
    slowest_s = max((boot_s(vm.type) for vm in fleet.vms), default=0.0)
    return sum(vm.type.price_usd_per_hour / 3600 * slowest_s for vm in fleet.vms)


def boot_s(vm_type: VmType) -> float:
    return vm_type.boot_s or BOOT_S


def so_far_usd(machine: Machine, vm_type: VmType | None, now: datetime) -> float | None:
    """None where the price is not known; what has ended costs nothing more."""
    if vm_type is None or machine.state in GONE:
        return None
    return vm_type.cost_usd((now - machine.launched_at).total_seconds())


def spent_usd(record: ClusterRecord, now: datetime) -> float:
    """What its VMs have cost, as far as the ledger knows when they came and went."""
    return sum(
        intent.vm_type.cost_usd(((each.ended_at or now) - each.launched_at).total_seconds())
        for intent in record.intents
        for each in intent.instances
    )


def with_others_usd(
    record: ClusterRecord,
    lost: Collection[str],
    others: Iterable[VmType],
    now: datetime,
    left_s: float,
) -> float:
    """What the cluster will have cost if lost VMs are replaced and the run takes so much longer."""
    per_s = sum(
        intent.vm_type.price_usd_per_hour / 3600
        for intent in record.intents
        for each in intent.instances
        if each.ended_at is None and each.vm not in lost
    )
    new_usd = sum(vm_type.cost_usd(boot_s(vm_type) + left_s) for vm_type in others)
    return spent_usd(record, now) + per_s * left_s + new_usd


def types_of(records: Iterable[ClusterRecord]) -> dict[str, VmType]:
    """The type of each instance, with the price that was agreed to when it was launched."""
    return {
        each.id: intent.vm_type
        for record in records
        for intent in record.intents
        for each in intent.instances
    }
