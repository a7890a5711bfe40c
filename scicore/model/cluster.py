"""What is written down about a cluster of rented VMs before, while and after it exists."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from scicore.model.cloud import VmType


class Wanted(StrEnum):
    UP = "up"
    DOWN = "down"


class Outcome(StrEnum):
    """How an intent ended."""

    LAUNCHED = "launched"
    SHORTAGE = "shortage"  # the provider had none; nothing was launched
    REFUSED = "refused"  # for another reason; nothing was launched
    ROLLED_BACK = "rolled back"  # whatever it had launched was ended
    NEVER_SEEN = "never seen"  # no machine of it ever appeared


@dataclass(frozen=True, slots=True)
class Instance:
    """A VM that the provider gave."""

    id: str  # the provider's own
    vm: str  # id in the plan, e.g. t2.micro-3
    launched_at: datetime
    ended_at: datetime | None = None  # when its end was asked for


@dataclass(frozen=True, slots=True)
class Intent:
    """VMs of one type that are about to be asked for: written before the call."""

    token: str  # makes the call safe to repeat
    vm_type: VmType  # with the price that was agreed to
    vms: tuple[str, ...]  # consecutive ids: t2.micro-1, t2.micro-2, …
    spot: bool
    intended_at: datetime  # and asked for soon after; later ones when it is asked for again
    lease_until: datetime  # part of the call, which is repeated to the letter
    outcome: Outcome | None = None  # None: nobody knows
    instances: tuple[Instance, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    name: str
    owner: str
    provider: str
    fleet: str  # as asked for: 8xt2.micro,1xt2.2xlarge
    plan_id: int | None
    lease_until: datetime  # as it was launched; renewals are on the machines
    created_at: datetime
    estimate_usd: float | None = None  # what the run was expected to cost
    wanted: Wanted = Wanted.UP
    complete: bool = False  # all its VMs were seen running
    intents: tuple[Intent, ...] = field(default=())

    @property
    def size(self) -> int:
        """VMs that it was launched with."""
        return sum(int(part.partition("x")[0]) for part in self.fleet.split(","))

    @property
    def unsettled(self) -> tuple[Intent, ...]:
        return tuple(intent for intent in self.intents if intent.outcome is None)

    @property
    def tokens(self) -> frozenset[str]:
        return frozenset(intent.token for intent in self.intents)
