"""Which VM each slave rank of a job is: written by whoever starts the job, read by its master.

The plan says which VMs there should be; a job may lack some, whose hosts are lost, and have others
that came later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from scicore.engine.calling import HOUSE
from scicore.errors import LaunchError
from scicore.model.cloud import Fleet, Vm

_SEATS = "seats.json"
_RANKS = "ranks"


@dataclass(frozen=True, slots=True)
class Seating:
    vms: tuple[Vm, ...]  # of ranks 1, 2, …
    hostfile: str = ""  # absolute; where their hosts came from
    absent: tuple[Vm, ...] = ()  # were there in an earlier job, beyond the plan
    storage: str = ""  # where the run's files are kept; empty = in its directory
    notices: str = ""  # the metadata service that tells VMs that they are taken back

    @property
    def everyone(self) -> tuple[Vm, ...]:
        return (*self.vms, *self.absent)

    def joined_to(self, fleet: Fleet) -> Fleet:
        """The plan's fleet and those that came later."""
        planned = {vm.id for vm in fleet.vms}
        new = tuple(vm for vm in self.everyone if vm.id not in planned)
        return replace(fleet, vms=fleet.vms + new)


def save(run_directory: str, seating: Seating, addresses: Sequence[str]) -> tuple[Path, Path]:
    """The seats, for the master, and the hosts of all ranks, for mpirun; rank 0 is here."""
    house = Path(run_directory, HOUSE)
    house.mkdir(parents=True, exist_ok=True, mode=0o700)
    seats, ranks = house / _SEATS, house / _RANKS
    _write(seats, msgspec.json.encode(seating))
    _write(ranks, "".join(f"{address}\n" for address in ("localhost", *addresses)).encode())
    return seats, ranks


def load(path: Path) -> Seating:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Seating)
    except (OSError, msgspec.MsgspecError) as error:
        raise LaunchError(f"the seats of the run's VMs, {path}, cannot be read: {error}") from error


def last(run_directory: str) -> Seating | None:
    """Of the latest job of the run; None: it has never left this machine."""
    path = Path(run_directory, HOUSE, _SEATS)
    return load(path) if path.exists() else None


def _write(path: Path, data: bytes) -> None:
    draft = path.with_suffix(".new")
    draft.write_bytes(data)
    draft.replace(path)
