"""Hosts made of Linux namespaces, joined by a bridge: a cluster within this computer.

Each has its own network, processes, host name, /tmp and sshd with its own key; other files are
shared, as on a cluster with a common file system. Needs root. Everything is below one directory,
so that the next command knows what a crashed one has made.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from provisioning.provider import (
    Cluster,
    LaunchRequest,
    Machine,
    MachineState,
    ProviderError,
    Remnant,
)

OWN = "/tmp/scicumulus-host"  # on a host, and not shared: what would be in a home directory
FIRST = 11  # last number of the first host's address; the bridge, where the caller is, has 1
MOST = 200  # hosts of one cluster
_UP_S = 20.0
_TOOLS = ("ip", "unshare", "mount", "ssh-keygen", "sshd")
_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"  # sshd is no user's program
_SSHD = """\
Port 22
ListenAddress {address}
HostKey {directory}/host_key
AuthorizedKeysFile {cluster}/authorized_keys {own}/authorized_keys
# The directory may be below /tmp, which everybody may write to.
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
PidFile none
ClientAliveInterval 5
ClientAliveCountMax 2
MaxStartups 100
Subsystem sftp internal-sftp
"""


def why_not() -> str:
    """What keeps this computer from making such hosts; empty: nothing."""
    if os.geteuid() != 0:
        return "namespaces need root"
    missing = [tool for tool in _TOOLS if _tool(tool) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (Debian: iproute2, util-linux, openssh-server)"
    tried = subprocess.run(
        [
            *("unshare", "--net", "--mount", "--pid", "--uts", "--ipc", "--fork", "--mount-proc"),
            *("sh", "-c", "ip link add scprobe type bridge && mount -t tmpfs tmpfs /dev/shm"),
        ],
        env={**os.environ, "PATH": _PATH},
        capture_output=True,
        text=True,
        check=False,
    )
    return f"the kernel does not allow it: {tried.stderr.strip()}" if tried.returncode else ""


class Netns:
    """The driver."""

    name = "netns"

    def __init__(self, home: Path, shared: Sequence[Path] = ()) -> None:
        """`shared`: directories below /tmp that the hosts see as well."""
        self._home = home.absolute()
        self._shared = tuple(path.absolute() for path in shared)

    # --- the cluster -----------------------------------------------------------------------------

    def prepare(self, cluster: Cluster, lease_until: datetime) -> None:
        reason = why_not()
        if reason:
            raise ProviderError(f"no hosts can be made of namespaces here: {reason}")
        directory = self._home / cluster.name
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(directory / "cluster.json", json.dumps(asdict(cluster)))
        (directory / "authorized_keys").write_text(f"{cluster.public_key.strip()}\n")
        _write_lease(directory, lease_until)
        bridge = _short(cluster.name)
        if not _exists(bridge):
            _ip("link", "add", bridge, "type", "bridge")
        with suppress(ProviderError):  # it has the address already
            _ip("addr", "add", f"{_network(cluster.name)}.1/24", "dev", bridge)
        _ip("link", "set", bridge, "up")

    def remnants(self) -> tuple[Remnant, ...]:
        return tuple(
            Remnant(
                path.parent.name, json.loads(path.read_text())["owner"], _read_lease(path.parent)
            )
            for path in sorted(self._home.glob("*/cluster.json"))
        )

    def dismantle(self, cluster: str) -> bool:
        if any(machine.state is not MachineState.ENDED for machine in self._all(cluster)):
            return False
        self._remove(self._all(cluster))
        if _exists(_short(cluster)):
            _ip("link", "del", _short(cluster))
        shutil.rmtree(self._home / cluster, ignore_errors=True)
        with suppress(OSError):  # others are there
            self._home.rmdir()
        return True

    def network(self, cluster: str) -> str:
        """CIDR of the addresses through which hosts and caller reach each other."""
        return f"{_network(cluster)}.0/24"

    # --- its hosts -------------------------------------------------------------------------------

    def launch(self, request: LaunchRequest) -> tuple[Machine, ...]:
        machines = []
        try:
            for vm in request.vms:
                machines.append(self._launch(request, vm))
            for machine in machines:
                self._await_sshd(machine)
        except BaseException:
            self._remove(machines)
            raise
        return tuple(replace(machine, state=MachineState.RUNNING) for machine in machines)

    def _launch(self, request: LaunchRequest, vm: str) -> Machine:
        cluster = request.cluster.name
        for machine in self._all(cluster):
            if machine.vm == vm and machine.state is not MachineState.ENDED:
                if machine.token == request.token:
                    return machine
                raise ProviderError(f"cluster {cluster} has a host for VM {vm} already")
        directory = self._home / cluster / vm
        number = self._free_number(cluster)
        address = f"{_network(cluster)}.{number}"
        machine = Machine(
            id=f"{_short(cluster)}-{number}-{_digest(request.token, 3)}",
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
        self._remove((machine,))  # what an earlier host of this name left
        directory.mkdir(mode=0o700)
        _write(directory / "machine.json", json.dumps(_as_document(machine)))
        _write_lease(directory, request.lease_until)
        self._furnish(directory, address)
        self._wire(machine, number)
        self._boot(machine, directory)
        return machine

    def _furnish(self, directory: Path, address: str) -> None:
        """Its key, its sshd's settings, its /tmp."""
        key = directory / "host_key"
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(key))
        places = {"directory": directory, "cluster": directory.parent, "own": OWN}
        settings = _SSHD.format(address=address, **places)
        (directory / "sshd_config").write_text(settings)
        (directory / "tmp").mkdir(mode=0o1777)
        (directory / "tmp").chmod(0o1777)

    def _wire(self, machine: Machine, number: int) -> None:
        bridge, cable = _short(machine.cluster), _cable(machine)
        _ip("netns", "add", machine.id)
        _ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", machine.id)
        _ip("link", "set", cable, "master", bridge, "up")
        _ip("-n", machine.id, "addr", "add", f"{machine.address}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            _ip("-n", machine.id, "link", "set", device, "up")

    def _boot(self, machine: Machine, directory: Path) -> None:
        Path("/run/sshd").mkdir(exist_ok=True)
        binds = []
        for shared in {path for path in (self._home, *self._shared) if _below_tmp(path)}:
            inside = directory / "tmp" / shared.relative_to("/tmp")
            inside.mkdir(parents=True, exist_ok=True)
            binds += ["mount", "--rbind", str(shared), str(inside), "&&"]
        script = Path(__file__).with_name("netns_host.sh")
        words = ["exec", "sh", str(script), _host_name(machine.vm), str(directory), _sshd()]
        host = subprocess.Popen(
            [
                *("ip", "netns", "exec", machine.id, "unshare", "--mount", "--pid", "--uts"),
                *("--ipc", "--fork", "--kill-child", "--mount-proc", "sh", "-c"),
                " ".join(word if word == "&&" else shlex.quote(word) for word in (*binds, *words)),
            ],
            env={**os.environ, "PATH": _PATH},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(directory / "boot.log").open("wb"),
            start_new_session=True,
        )
        _write(directory / "process", f"{host.pid} {_started(host.pid)}")

    def _await_sshd(self, machine: Machine) -> None:
        directory = self._home / machine.cluster / machine.vm
        deadline = time.monotonic() + _UP_S
        while not _listens(machine.address):
            if not self._alive(directory) or time.monotonic() > deadline:
                logs = [directory / "boot.log", directory / "sshd.log"]
                said = " ".join(log.read_text().strip() for log in logs if log.exists())
                raise ProviderError(f"host {machine.vm} does not come up: {said or 'no sshd'}")
            time.sleep(0.05)

    def observe(self, cluster: str | None = None) -> tuple[Machine, ...]:
        return tuple(
            machine
            for name in ((cluster,) if cluster else (each.cluster for each in self.remnants()))
            for machine in self._all(name)
        )

    def renew(self, cluster: str, lease_until: datetime) -> None:
        for record in ((self._home / cluster / "cluster.json"), *self._records(cluster)):
            _write_lease(record.parent, lease_until)

    def terminate(self, ids: Sequence[str]) -> None:
        self._remove([machine for machine in self.observe() if machine.id in ids])

    def _remove(self, machines: Sequence[Machine]) -> None:
        for machine in machines:
            directory = self._home / machine.cluster / machine.vm
            self._kill(directory)
            if Path("/run/netns", machine.id).exists():
                _ip("netns", "del", machine.id)
            if _exists(_cable(machine)):  # the kernel takes its time to see that its end is gone
                with suppress(ProviderError):
                    _ip("link", "del", _cable(machine))
            shutil.rmtree(directory, ignore_errors=True)

    def host_keys(self, machine: Machine) -> tuple[str, ...]:
        public = self._home / machine.cluster / machine.vm / "host_key.pub"
        return (public.read_text().strip(),) if public.exists() else ()

    def cut(self, machine: Machine) -> None:
        """Pull the cable: nobody is told."""
        _ip("link", "set", _cable(machine), "nomaster")

    def mend(self, machine: Machine) -> None:
        _ip("link", "set", _cable(machine), "master", _short(machine.cluster))

    # --- what is there ---------------------------------------------------------------------------

    def _all(self, cluster: str) -> tuple[Machine, ...]:
        return tuple(self._read(path) for path in sorted(self._records(cluster)))

    def _records(self, cluster: str) -> Iterator[Path]:
        return (self._home / cluster).glob("*/machine.json")

    def _read(self, path: Path) -> Machine:
        document: dict[str, Any] = json.loads(path.read_text())
        return Machine(
            **{
                **document,
                "state": MachineState.RUNNING if self._alive(path.parent) else MachineState.ENDED,
                "launched_at": datetime.fromisoformat(document["launched_at"]),
                "lease_until": _read_lease(path.parent),
            }
        )

    def _free_number(self, cluster: str) -> int:
        taken = {int(machine.address.rpartition(".")[2]) for machine in self._all(cluster)}
        free = [number for number in range(FIRST, FIRST + MOST) if number not in taken]
        if not free:
            raise ProviderError(f"cluster {cluster} has {MOST} hosts: no more fit its network")
        return free[0]

    def _alive(self, directory: Path) -> bool:
        return self._process(directory) is not None

    def _process(self, directory: Path) -> int | None:
        with suppress(OSError, ValueError):
            pid, started = (directory / "process").read_text().split()
            if _started(int(pid)) == started:
                return int(pid)
        return None

    def _kill(self, directory: Path) -> None:
        """All processes of the host end with its first one."""
        pid = self._process(directory)
        if pid is None:
            return
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + _UP_S
        while _started(pid) and time.monotonic() < deadline:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            time.sleep(0.01)


def _short(cluster: str) -> str:
    """Names of network devices have 15 letters at most."""
    return f"sc{_digest(cluster, 3)}"


def _digest(text: str, size: int) -> str:
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()


def _network(cluster: str) -> str:
    first, second = hashlib.blake2b(cluster.encode(), digest_size=2).digest()
    return f"10.{200 + first % 50}.{second}"


def _cable(machine: Machine) -> str:
    return "v".join(machine.id.split("-")[:2])


def _host_name(vm: str) -> str:
    return vm.replace(".", "-").replace("_", "-")


def _below_tmp(path: Path) -> bool:
    return path.is_relative_to("/tmp")


def _started(pid: int) -> str:
    """When the process began, in the kernel's ticks; empty if it is gone: numbers come again."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _listens(address: str) -> bool:
    try:
        with socket.create_connection((address, 22), timeout=1):
            return True
    except OSError:
        return False


def _exists(device: str) -> bool:
    return Path("/sys/class/net", device).exists()


def _tool(name: str) -> str | None:
    return shutil.which(name, path=_PATH)


def _sshd() -> str:
    return _tool("sshd") or "sshd"  # it wants to be called by its whole path


def _ip(*words: str) -> None:
    _run("ip", *words)


def _run(*words: str) -> None:
    done = subprocess.run(
        words, env={**os.environ, "PATH": _PATH}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ProviderError(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    draft = path.with_name(f".{path.name}")
    draft.write_text(text)
    draft.replace(path)


def _write_lease(directory: Path, until: datetime) -> None:
    _write(directory / "lease", str(int(until.timestamp())))


def _read_lease(directory: Path) -> datetime:
    file = directory / "lease"
    return datetime.fromtimestamp(int(file.read_text()) if file.exists() else 0, UTC)


def _as_document(machine: Machine) -> dict[str, Any]:
    document = asdict(machine)
    for name in ("launched_at", "lease_until"):
        document[name] = document[name].isoformat()
    return document
