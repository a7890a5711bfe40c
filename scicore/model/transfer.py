"""Files on their way between a VM and the run's storage: what is asked, and what became of it.

A keeper writes errands to the process that carries files, which answers each with a delivery, in
any order. Both are JSON with its length, four bytes, in front.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

HEAD_BYTES = 4  # the length of a message, before it


class Way(StrEnum):
    FETCH = "fetch"  # from the storage to the VM, before a program starts
    UPLOAD = "upload"  # the other way, after it has ended


class Parcel(Struct, frozen=True, gc=False):
    path: str  # absolute, and the same on every host
    sha256: str = ""  # hexadecimal; empty: the storage knows


class Errand(Struct, frozen=True):
    number: int
    way: Way
    parcels: tuple[Parcel, ...]


class Transfer(Struct, frozen=True, gc=False):
    """What it took to bring the files of one attempt one way."""

    way: Way
    files: int
    cached: int  # of these, were where they should be already
    size_bytes: int  # that went over the network
    seconds: float
    retries: int = 0  # calls that had to be repeated


class Moved(Struct, frozen=True, gc=False):
    """What an earlier run has measured."""

    vm_type: str
    way: str
    size_bytes: int
    seconds: float

    @property
    def mb_per_s(self) -> float:
        return self.size_bytes / 1e6 / self.seconds


class Delivery(Struct, frozen=True):
    number: int  # the errand's
    transfer: Transfer
    error: str = ""  # empty: all files are where they should be
