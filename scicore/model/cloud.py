"""Virtual machines: types, fleets and what they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from scicore.errors import UsageError

MINIMUM_BILLED_S = 60


def billed_s(seconds: float) -> int:
    """Per-second billing with the providers' usual minimum; an unused VM costs nothing."""
    if seconds <= 0:
        return 0
    return max(math.ceil(seconds), MINIMUM_BILLED_S)


@dataclass(frozen=True, slots=True)
class VmType:
    name: str
    slots: int  # activations at once, one per vCPU
    memory_mb: int
    speed: float  # relative to the reference machine of the runtime estimates
    price_usd_per_hour: float
    boot_s: float = 0.0
    bandwidth_mb_s: float = 125.0
    region: str = ""  # where the price holds; empty: anywhere

    def cost_usd(self, seconds: float) -> float:
        """Held for so long, from launch to release."""
        return billed_s(seconds) * self.price_usd_per_hour / 3600


@dataclass(frozen=True, slots=True)
class Vm:
    id: str  # unique within its fleet, e.g. t2.micro-3
    type: VmType


@dataclass(frozen=True, slots=True)
class Fleet:
    vms: tuple[Vm, ...]
    text: str  # as the user writes it: 8xt2.micro,1xt2.2xlarge

    @property
    def slots(self) -> int:
        return sum(vm.type.slots for vm in self.vms)


def as_processors(fleet: Fleet) -> Fleet:
    """Each VM as one processor that is as fast as all its slots together: how the papers and their
    simulator saw VMs. No real VM runs a sequential program eight times as fast because it has
    eight vCPUs; this is only for comparisons with published numbers."""
    return replace(
        fleet,
        vms=tuple(
            replace(vm, type=replace(vm.type, slots=1, speed=float(vm.type.slots)))
            for vm in fleet.vms
        ),
    )


LOCAL = VmType("local", slots=1, memory_mb=0, speed=1.0, price_usd_per_hour=0.0)


def parse_fleet(text: str, catalog: Mapping[str, VmType]) -> Fleet:
    """Read `COUNTxTYPE,…`; `local` and `local:SLOTS` stand for slaves on this machine."""
    vms: list[Vm] = []
    seen: dict[str, int] = {}
    for part in text.split(","):
        count_text, times, name = part.strip().partition("x")
        if not times or not count_text.isdecimal() or int(count_text) < 1 or not name:
            raise UsageError(
                f"fleet {text!r}: found {part.strip()!r}, expected COUNTxTYPE such as 2xlocal",
                "write the fleet as 2xlocal, 1xlocal:4 or 8xt2.micro,1xt2.2xlarge",
            )
        vm_type = _vm_type(name, text, catalog)
        for _ in range(int(count_text)):
            seen[vm_type.name] = seen.get(vm_type.name, 0) + 1
            vms.append(Vm(f"{vm_type.name}-{seen[vm_type.name]}", vm_type))
    return Fleet(tuple(vms), ",".join(part.strip() for part in text.split(",")))


def _vm_type(name: str, text: str, catalog: Mapping[str, VmType]) -> VmType:
    base, colon, slots = name.partition(":")
    if base == "local":
        if not colon:
            return LOCAL
        if slots.isdecimal() and int(slots) >= 1:
            return VmType("local", int(slots), 0, speed=1.0, price_usd_per_hour=0.0)
        raise UsageError(f"fleet {text!r}: found local:{slots}, expected local:SLOTS, e.g. local:2")
    if name not in catalog:
        known = ", ".join(["local", *sorted(catalog)])
        raise UsageError(f"fleet {text!r}: VM type {name!r} is not known", f"known types: {known}")
    return catalog[name]
