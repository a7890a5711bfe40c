"""The port through which VMs come and go: what EC2 and every other driver offers, no more.

Drivers carry out and report; what should happen is decided by who calls them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from scicore.errors import ScicumulusError


class MachineState(StrEnum):
    PENDING = "pending"  # asked for, not up yet
    RUNNING = "running"
    ENDING = "ending"  # on its way down; it may still hold its address
    ENDED = "ended"  # costs nothing any more


@dataclass(frozen=True, slots=True)
class Cluster:
    """The machines that are launched, leased and ended together."""

    name: str  # letters, digits and hyphens
    owner: str  # whose machines they are: nobody else's are touched
    public_key: str  # one OpenSSH line; its private half never leaves this computer
    reachable_from: str = ""  # CIDR from which SSH is admitted besides the cluster itself
    run: str = ""  # what it is for, as a tag: a run's or a plan's number


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """Machines of one type: all of them appear, or none."""

    token: str  # the same token never launches twice, however often it is sent
    cluster: Cluster
    vm_type: str
    vms: tuple[str, ...]  # ids as in the plan: t2.micro-1, t2.micro-2, …
    lease_until: datetime  # aware; a machine that nobody renews ends itself then
    spot: bool = False


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine as its provider sees it now."""

    id: str  # the provider's own, e.g. i-0123456789abcdef0
    vm: str  # id in the plan, e.g. t2.micro-3
    vm_type: str
    state: MachineState
    cluster: str
    owner: str
    token: str  # of the request that launched it
    launched_at: datetime  # aware
    lease_until: datetime  # aware
    address: str = ""  # where the caller reaches its SSH; empty while it has none
    private_address: str = ""  # where the other machines of the cluster reach it
    user: str = ""  # who logs in by SSH
    ssh_port: int = 22
    spot: bool = False
    tags: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Remnant:
    """What `prepare` made for a cluster and nobody has dismantled yet."""

    cluster: str
    owner: str
    lease_until: datetime  # aware


class ProviderError(ScicumulusError):
    """The provider refused, or could not be understood; nothing is known to be half done."""


class Shortage(ProviderError):
    """No capacity, or no quota, for this VM type now; another type may do."""

    def __init__(self, vm_type: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.vm_type = vm_type


class Unanswered(ProviderError):
    """It is not known whether the call took effect: look, or send it again with its token."""


class Provider(Protocol):
    """A driver. Every method may be called again after a crash, with the same effect."""

    name: str  # as in --provider

    @property
    def region(self) -> str:
        """Where its machines are, as prices name it; empty where that means nothing."""

    def network(self, cluster: str) -> str:
        """CIDR of the private addresses of its machines: who has one of these, too, is reached by
        them."""

    def prepare(self, cluster: Cluster, lease_until: datetime) -> None:
        """What machines need before they are launched: key, fence. Existing ones are reused."""

    def launch(self, request: LaunchRequest) -> tuple[Machine, ...]:
        """All machines of the request, in the order of its VMs, or Shortage and none of them."""

    def observe(self, cluster: str | None = None) -> tuple[Machine, ...]:
        """Our machines, of one cluster or of all, whoever their owner is; also ENDED ones, while
        they are remembered.

        Ours are those that carry our tags *and* were launched by a token of ours. What was
        launched seconds ago may be missing: providers are consistent eventually.
        """

    def renew(self, cluster: str, owner: str, lease_until: datetime) -> None:
        """All its machines, and what `prepare` made, may live until then."""

    def terminate(self, ids: Sequence[str]) -> None:
        """Begin to end them; those that are gone already are no error."""

    def remnants(self) -> tuple[Remnant, ...]:
        """The clusters for which something that `prepare` made still exists."""

    def dismantle(self, cluster: str, owner: str) -> bool:
        """Remove what `prepare` made. False while machines that are ENDING still hold on to it."""

    def host_keys(self, machine: Machine) -> tuple[str, ...]:
        """SSH host keys as the provider reports them (`ssh-ed25519 AAAA…`), not as the network
        does; empty while it does not know them yet."""
