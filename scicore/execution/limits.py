"""What a run may take: time and money. Only what events tell is known here."""

from __future__ import annotations

from dataclasses import dataclass

from scicore.model.cloud import Fleet, VmType

LOOK_S = 1.0  # costs are added up at most so often, because every VM has to be asked


@dataclass(frozen=True, slots=True)
class Limits:
    time_s: float = 0.0  # 0 = none
    cost_usd: float = 0.0  # 0 = none


class Meter:
    """Counts a run's time and the money that its VMs cost from joining to leaving."""

    def __init__(self, limits: Limits, fleet: Fleet) -> None:
        self._limits = limits
        self._types: dict[str, VmType] = {vm.id: vm.type for vm in fleet.vms}
        self._started_at: float | None = None
        self._next_look = 0.0
        self._joined_at: dict[str, float] = {}
        self._paid_usd = 0.0  # for VMs that are gone

    def start(self, at: float) -> None:
        self._started_at = self._next_look = at

    def join(self, vm: str, at: float) -> None:
        self._joined_at.setdefault(vm, at)

    def leave(self, vm: str, at: float) -> None:
        joined_at = self._joined_at.pop(vm, None)
        if joined_at is not None:
            self._paid_usd += self._types[vm].cost_usd(at - joined_at)

    def cost_usd(self, at: float) -> float:
        """Per-second billing with the provider's minimum."""
        return self._paid_usd + sum(
            self._types[vm].cost_usd(at - joined_at) for vm, joined_at in self._joined_at.items()
        )

    def exceeded(self, at: float) -> str:
        """Which limit is reached, for people; empty = none."""
        limits = self._limits
        if self._started_at is None:
            return ""
        if limits.time_s and at - self._started_at >= limits.time_s:
            return f"max_time of {limits.time_s:g} s reached"
        if limits.cost_usd and at >= self._next_look:
            self._next_look = at + LOOK_S
            if self.cost_usd(at) >= limits.cost_usd:
                return f"max_financial_cost of {limits.cost_usd:g} USD reached"
        return ""
