"""What travels between master and slaves, and the two ends of the line.

    slave  → master   Hello             I am here
    master → slave    Welcome           who you are, where to work, what the activities are
    slave  → master   Request(ended)    these attempts ended; give me more
    master → slave    Orders            start, cancel, stop

A request stands until it is answered: the master sends orders when there is work for the VM, so
an idle slave says nothing. Results travel inside the request, never beside it.
"""

from __future__ import annotations

from typing import Protocol

import msgspec
from msgspec import Struct

from scicore.execution.messages import AttemptEnded, Cancel, Start, Stop
from scicore.model.workflow import Activity


class Hello(Struct, frozen=True, tag=True):
    host: str
    pid: int


class Request(Struct, frozen=True, tag=True):
    ended: tuple[AttemptEnded, ...]


class Welcome(Struct, frozen=True, tag=True):
    vm: str
    run_directory: str  # absolute; workspaces are made below it
    workflow_directory: str  # %=WFDIR%
    experiment_directory: str  # %=EXPDIR%
    activities: tuple[Activity, ...]


class Orders(Struct, frozen=True, tag=True):
    orders: tuple[Start | Cancel | Stop, ...]


class Crash(Struct, frozen=True, tag=True):
    """A slave's own failure (not its programs'): the run cannot go on."""

    traceback: str


ToMaster = Hello | Request | Crash
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

    def send(self, rank: int, message: ToSlave) -> None:
        """Never blocks."""

    def close(self) -> None:
        """Wait until everything sent has left."""


class SlaveEnd(Protocol):
    def receive(self) -> ToSlave | None: ...

    def send(self, message: ToMaster) -> None: ...

    def close(self) -> None: ...
