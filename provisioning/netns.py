"""Hosts made of Linux namespaces, joined by a bridge: a cluster within this computer.

Each has its own network, processes, host name, /tmp and sshd with its own key; other files are
shared, as on a cluster with a common file system. Everything is below one directory, so that the
next command knows what a crashed one has made.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from provisioning.netns_host import NetnsHost, exists, ip, why_not, write
from provisioning.provider import (
    Cluster,
    LaunchRequest,
    Machine,
    MachineState,
    ProviderError,
    Remnant,
    Shortage,
)

FIRST = 11  # last number of the first host's address; the bridge, where the caller is, has 1
MOST = 200  # hosts of one cluster
SHORT = "short"  # a file that lists VM types of which there are none: to see what happens then


class Netns:
    """The driver."""

    name = "netns"
    region = ""

    def __init__(self, home: Path, shared: Sequence[Path] = ()) -> None:
        """`shared`: directories that the hosts see as well although they are below /tmp."""
        self._home = home.absolute()
        paths = {path.absolute() for path in (home, *shared)}
        self._shared = sorted(path for path in paths if path.is_relative_to("/tmp"))

    def network(self, cluster: str) -> str:
        return f"{_network(cluster)}.0/24"

    # --- the cluster -----------------------------------------------------------------------------

    def prepare(self, cluster: Cluster, lease_until: datetime) -> None:
        reason = why_not()
        if reason:
            raise ProviderError(f"no hosts can be made of namespaces here: {reason}")
        directory = self._home / cluster.name
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        write(directory / "cluster.json", json.dumps(asdict(cluster)))
        write(directory / "authorized_keys", f"{cluster.public_key.strip()}\n")
        _write_lease(directory, lease_until)
        bridge = _short(cluster.name)
        if not exists(bridge):
            ip("link", "add", bridge, "type", "bridge")
        with suppress(ProviderError):  # it has the address already
            ip("addr", "add", f"{_network(cluster.name)}.1/24", "dev", bridge)
        ip("link", "set", bridge, "up")

    def remnants(self) -> tuple[Remnant, ...]:
        return tuple(
            Remnant(path.parent.name, _owner(path), _read_lease(path.parent))
            for path in sorted(self._home.glob("*/cluster.json"))
        )

    def dismantle(self, cluster: str, owner: str) -> bool:
        if not self._is_owned(cluster, owner):
            return True
        machines = self._all(cluster)
        if any(machine.state is not MachineState.ENDED for machine in machines):
            return False
        for machine in machines:
            self.host(machine).remove()
        if exists(_short(cluster)):
            ip("link", "del", _short(cluster))
        shutil.rmtree(self._home / cluster, ignore_errors=True)
        with suppress(OSError):  # others are there
            self._home.rmdir()
        return True

    def _is_owned(self, cluster: str, owner: str) -> bool:
        record = self._home / cluster / "cluster.json"
        return record.exists() and _owner(record) == owner

    # --- its hosts -------------------------------------------------------------------------------

    def launch(self, request: LaunchRequest) -> tuple[Machine, ...]:
        machines: list[Machine] = []
        try:
            for vm in request.vms:
                machines.append(self._launch(request, vm))
            for machine in machines:
                self.host(machine).await_sshd()
        except BaseException:
            for machine in machines:
                self.host(machine).remove()
            raise
        return tuple(self._read(self.host(each).directory / "machine.json") for each in machines)

    def _launch(self, request: LaunchRequest, vm: str) -> Machine:
        cluster = request.cluster.name
        for machine in self._all(cluster):
            if machine.vm == vm and machine.state is not MachineState.ENDED:
                if machine.token == request.token:
                    return machine
                raise ProviderError(f"cluster {cluster} has a host for VM {vm} already")
            if machine.vm == vm:
                self.host(machine).remove()
        short = self._home / SHORT
        if short.exists() and request.vm_type in short.read_text().split():
            raise Shortage(
                request.vm_type,
                f"{request.vm_type} is short: {short} says so",
                "take it out of that file, or allow another type with --allow-substitutes",
            )
        number = self._free_number(cluster)
        address = f"{_network(cluster)}.{number}"
        machine = Machine(
            id=f"{_short(cluster)}-{number}-{_digest(request.token)}",
            vm=vm,
            vm_type=request.vm_type,
            state=MachineState.PENDING,
            cluster=cluster,
            owner=request.cluster.owner,
            token=request.token,
            launched_at=datetime.now(UTC),
            lease_until=request.lease_until,
            address=address,
            private_address=address,
            user="root",
            spot=request.spot,
        )
        host = self.host(machine)
        host.directory.mkdir(mode=0o700)
        _write_lease(host.directory, request.lease_until)
        write(host.directory / "machine.json", json.dumps(_as_document(machine)))
        host.make(self._shared)
        return machine

    def observe(self, cluster: str | None = None) -> tuple[Machine, ...]:
        names = (cluster,) if cluster else tuple(each.cluster for each in self.remnants())
        return tuple(machine for name in names for machine in self._all(name))

    def renew(self, cluster: str, owner: str, lease_until: datetime) -> None:
        if self._is_owned(cluster, owner):
            for lease in (self._home / cluster).rglob("lease"):
                _write_lease(lease.parent, lease_until)

    def terminate(self, ids: Sequence[str]) -> None:
        for machine in self.observe():
            if machine.id in ids:
                self.host(machine).remove()

    def host_keys(self, machine: Machine) -> tuple[str, ...]:
        return self.host(machine).public_keys

    def host(self, machine: Machine) -> NetnsHost:
        return NetnsHost(
            id=machine.id,
            name=machine.vm.replace(".", "-"),
            directory=self._home / machine.cluster / machine.vm,
            bridge=_short(machine.cluster),
            cable=f"{_short(machine.cluster)}v{machine.address.rpartition('.')[2]}",
            address=machine.address,
        )

    # --- what is there ---------------------------------------------------------------------------

    def _all(self, cluster: str) -> tuple[Machine, ...]:
        records = sorted((self._home / cluster).glob("*/machine.json"))
        return tuple(self._read(path) for path in records)

    def _read(self, path: Path) -> Machine:
        document: dict[str, Any] = json.loads(path.read_text())
        machine = Machine(
            **{
                **document,
                "state": MachineState.RUNNING,
                "launched_at": datetime.fromisoformat(document["launched_at"]),
                "lease_until": _read_lease(path.parent),
            }
        )
        alive = self.host(machine).alive
        return machine if alive else replace(machine, state=MachineState.ENDED)

    def _free_number(self, cluster: str) -> int:
        taken = {int(machine.address.rpartition(".")[2]) for machine in self._all(cluster)}
        free = [number for number in range(FIRST, FIRST + MOST) if number not in taken]
        if not free:
            raise ProviderError(f"cluster {cluster} has {MOST} hosts: no more fit its network")
        return free[0]


def _short(cluster: str) -> str:
    """Names of network devices have 15 letters at most."""
    return f"sc{_digest(cluster)}"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=3).hexdigest()


def _network(cluster: str) -> str:
    first, second = hashlib.blake2b(cluster.encode(), digest_size=2).digest()
    return f"10.{200 + first % 50}.{second}"


def _owner(record: Path) -> str:
    owner: str = json.loads(record.read_text())["owner"]
    return owner


def _write_lease(directory: Path, until: datetime) -> None:
    write(directory / "lease", str(int(until.timestamp())))


def _read_lease(directory: Path) -> datetime:
    file = directory / "lease"
    return datetime.fromtimestamp(int(file.read_text()) if file.exists() else 0, UTC)


def _as_document(machine: Machine) -> dict[str, Any]:
    document = asdict(machine)
    for name in ("launched_at", "lease_until"):
        document[name] = document[name].isoformat()
    return document
