"""What travels between master and slaves, and the two ends of the line.

    slave  → master   Hello             I am here
    master → slave    Welcome           who you are, where to work, what the activities are
    slave  → master   Joined(claims)    my VM is ready; this is what it has under way or done
    slave  → master   Request(ended)    these attempts ended; give me more
    slave  → master   Notice            the provider is about to take my VM back
    master → slave    Orders(durable)   start, cancel, stop; so far your results are recorded

A request stands until it is answered: the master sends orders when there is work for the VM, so
an idle slave says nothing but that it is alive. Results travel inside the request, never beside
it. All but the first two words, and the notice, are the keeper's (see keeper.py): the slave only
passes them on.
"""

from __future__ import annotations

from typing import Protocol

import msgspec
from msgspec import Struct

from scicore.execution.messages import AttemptEnded, Cancel, Claim, Start, Stop
from scicore.model.workflow import Activity


class Hello(Struct, frozen=True, tag=True):
    host: str
    pid: int


class Welcome(Struct, frozen=True, tag=True):
    vm: str
    run_directory: str  # absolute; workspaces are made below it
    workflow_directory: str  # %=WFDIR%
    experiment_directory: str  # %=EXPDIR%
    activities: tuple[Activity, ...]
    slots: int = 1
    launch: int = 1  # how many jobs the run has had, this one included: an older slave is a ghost
    keep_s: float = 300.0  # how long programs go on when the slave is gone
    porter: tuple[str, ...] = ()  # the command that carries files; none: they are where they are
    notices: str = ""  # the metadata service that tells when the VM is taken back; empty: none
    host_slots: int = 0  # of all VMs of its host together; 0: it is alone there, or nobody knows
    slots_before: int = 0  # of those, the ones of VMs that come before it


class Joined(Struct, frozen=True, tag=True):
    received_at: float  # when the welcome came, on the slave's clock
    sent_at: float
    claims: tuple[Claim, ...] = ()
    last: int = 0  # results that the VM has ever had


class Request(Struct, frozen=True, tag=True):
    ended: tuple[AttemptEnded, ...]
    last: int = 0  # these results are the VM's up to this one, counted from 1


class Notice(Struct, frozen=True, tag=True):
    told: str  # what will happen, and when


class Orders(Struct, frozen=True, tag=True):
    orders: tuple[Start | Cancel | Stop, ...]
    durable: int = 0  # the VM's results up to this one are in the database


ToMaster = Hello | Joined | Request | Notice
ToSlave = Welcome | Orders

encode = msgspec.msgpack.Encoder().encode
decode_to_master = msgspec.msgpack.Decoder(ToMaster).decode
decode_to_slave = msgspec.msgpack.Decoder(ToSlave).decode


class MasterEnd(Protocol):
    """Slaves are known by rank, 1 … slaves."""

    @property
    def slaves(self) -> int: ...

    def receive(self) -> tuple[int, ToMaster] | None:
        """The next message and its rank, or None when there is none right now."""

    def wait(self) -> object:
        """Until something may have arrived, but not for long."""

    def send(self, rank: int, message: ToSlave) -> None:
        """Never blocks."""

    def close(self) -> None:
        """Wait until everything sent has left."""


class SlaveEnd(Protocol):
    """Encoded messages: a slave passes on what is not meant for it."""

    def receive(self) -> bytes | None: ...

    def wait(self, *others: int) -> bool:
        """As the master's; True: one of the other descriptors is readable."""

    def send(self, data: bytes) -> None: ...

    def close(self) -> None: ...
