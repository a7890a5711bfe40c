"""What should happen to machines: wanted fleet, ledger and what is observed → decisions.

Pure: no clock, no provider. `cluster.py` carries the decisions out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from provisioning.provider import Machine, MachineState, Remnant
from scicore.model.cloud import Vm, VmType
from scicore.model.cluster import ClusterRecord, Instance, Wanted

GONE = (MachineState.ENDING, MachineState.ENDED)
# Families without the Nitro system.
_XEN = re.compile(r"(c[134]|cc2|cr1|d2|f1|g[23]s?|h1|hs1|i[23]|m[1234]|p[23]|r[34]|t[12]|x1e?)\.")


# --- launching ----------------------------------------------------------------------------------


def groups(vms: Iterable[Vm]) -> list[tuple[VmType, tuple[str, ...]]]:
    """VMs that one request can launch: of one type, with consecutive numbers."""
    found = []
    ordered = sorted(vms, key=lambda vm: (vm.type.name, split_number(vm.id)))
    numbered = enumerate(ordered)

    def run(pair: tuple[int, Vm]) -> tuple[str, str, int]:
        place, vm = pair
        prefix, number = split_number(vm.id)
        return vm.type.name, prefix, number - place

    for _, members in groupby(numbered, key=run):
        own = [vm for _, vm in members]
        found.append((own[0].type, tuple(vm.id for vm in own)))
    return found


def split_number(vm: str) -> tuple[str, int]:
    """t2.micro-3 is number 3 of the VMs whose ids begin with `t2.micro-`."""
    prefix, _, number = vm.rpartition("-")
    if not prefix or not number.isdecimal():
        raise ValueError(f"VM id {vm!r} does not end with a number")
    return f"{prefix}-", int(number)


def architecture(vm_type: str) -> str:
    """a1 and all families with a g behind their number (t4g, c7gn, …) are ARM."""
    return "arm64" if re.match(r"(a1|[a-z]+\d+g[a-z]*)\.", vm_type) else "x86_64"


def sees_its_tags(vm_type: str) -> bool:
    """Whether the VM sees that its tags change: those without the Nitro system do not."""
    return _XEN.match(vm_type) is None


def substitutes(
    wanted: VmType, catalog: Mapping[str, VmType], tried: Collection[str]
) -> list[VmType]:
    """Types that can do what was planned for the wanted one, the cheapest first."""
    fit = [
        other
        for other in catalog.values()
        if other.name not in tried
        and other.name != "local"
        and other.slots >= wanted.slots
        and other.memory_mb >= wanted.memory_mb
        and other.speed >= wanted.speed
        and architecture(other.name) == architecture(wanted.name)
    ]
    return sorted(fit, key=lambda other: (other.price_usd_per_hour, other.name))


def lacking(record: ClusterRecord, machines: Iterable[Machine]) -> list[str]:
    """VMs that are gone, and that nobody has replaced: as many as the cluster has too few.

    Those whose end nobody has asked for come first; one that was ended may have its successor.
    """
    alive = {each.vm for each in machines if each.state not in GONE}
    latest: dict[str, Instance] = {
        each.vm: each for intent in record.intents for each in intent.instances
    }
    gone = [each for each in latest.values() if each.vm not in alive]
    gone.sort(key=lambda each: (each.ended_at is not None, split_number(each.vm)))
    return [each.vm for each in gone[: max(0, record.size - len(alive))]]


# --- ending -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    machine: Machine
    end: bool
    why: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What `sweep` is to do."""

    verdicts: tuple[Verdict, ...]
    dismantle: tuple[str, ...]  # clusters of which only key and fence are left, or will be
    close: tuple[str, ...]  # open in the ledger, though nothing of them should be left

    @property
    def doomed(self) -> tuple[Machine, ...]:
        return tuple(each.machine for each in self.verdicts if each.end)


def judge(
    machines: Sequence[Machine],
    remnants: Sequence[Remnant],
    records: Sequence[ClusterRecord],
    busy: Collection[str],  # clusters that another command is at work on
    owner: str,
    now: datetime,
) -> Judgement:
    """Which machines have nobody any more. When in doubt the lease decides."""
    known = {record.name: record for record in records}
    verdicts = []
    for machine in machines:
        if machine.state in GONE:
            continue
        why_not = _spared(machine.owner, machine.cluster, owner, busy)
        why = _doomed(known.get(machine.cluster), machine, now)
        leased = f"leased until {machine.lease_until:%Y-%m-%d %H:%M} UTC"
        verdicts.append(Verdict(machine, not why_not and bool(why), why_not or why or leased))
    kept = {each.machine.cluster for each in verdicts if not each.end}
    dismantle = [
        remnant.cluster
        for remnant in remnants
        if remnant.cluster not in kept
        and not _spared(remnant.owner, remnant.cluster, owner, busy)
        and (_abandoned(known.get(remnant.cluster)) or remnant.lease_until <= now)
    ]
    close = [
        record.name
        for record in records
        if record.name not in kept
        and record.name not in busy
        and (_abandoned(record) or record.lease_until <= now)
    ]
    return Judgement(tuple(verdicts), tuple(dict.fromkeys(dismantle)), tuple(close))


def _spared(whose: str, cluster: str, owner: str, busy: Collection[str]) -> str:
    if whose != owner:
        return f"belongs to {whose}"
    if cluster in busy:
        return "a command is at work on its cluster"
    return ""


def _doomed(record: ClusterRecord | None, machine: Machine, now: datetime) -> str:
    if machine.lease_until <= now:
        return f"its lease ended at {machine.lease_until:%Y-%m-%d %H:%M} UTC"
    if record is None or machine.token not in record.tokens:
        return ""  # a cluster of the same name, launched from elsewhere
    return _abandoned(record)


def _abandoned(record: ClusterRecord | None) -> str:
    """Why nobody needs the cluster, though its lease goes on."""
    if record is None:
        return ""
    if record.wanted is Wanted.DOWN:
        return "its cluster was to end"
    return "" if record.complete else "its launch was given up half-way"
