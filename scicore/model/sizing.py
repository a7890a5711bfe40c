"""How many cores and how much memory an activation gets, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass

from scicore.model.cloud import Fleet


@dataclass(frozen=True, slots=True)
class Allocation:
    cpus: int
    memory_mb: int  # 0 = no limit; in a request: not said


def largest(fleet: Fleet, unsaid_mb: int = 0) -> Allocation:
    """What its largest VM has; `unsaid_mb` where a VM type does not say its memory."""
    memory_mb = [vm.type.memory_mb or unsaid_mb for vm in fleet.vms]
    return Allocation(
        max(vm.type.slots for vm in fleet.vms), max(memory_mb) if all(memory_mb) else 0
    )


@dataclass(frozen=True, slots=True)
class Need:
    """An activation whose next attempt is to be sized."""

    request: Allocation  # what the workflow declares
    ceiling: Allocation  # what the largest VM has; memory_mb 0 = not known
    input_bytes: int | None = None  # size of the files that it reads; None = not known
    failed: Allocation | None = None  # what its last attempt had when memory ran out


@dataclass(frozen=True, slots=True)
class Sized:
    """A decision, and its reason in words."""

    allocation: Allocation
    because: str


@dataclass(frozen=True, slots=True)
class Experience:
    """One ended attempt: what it had, and what it used of that."""

    run: int
    allocation: Allocation
    request: Allocation
    runtime_s: float
    cpu_s: float
    peak_mb: float
    killed: bool = False  # memory ran out; its peak is then only what it had got to
    input_bytes: int | None = None

    @property
    def cpus_used(self) -> float:
        """On average over its runtime."""
        return self.cpu_s / self.runtime_s if self.runtime_s > 0 else 0.0
