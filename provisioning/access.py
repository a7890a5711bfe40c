"""How the hosts of a cluster are reached: by us, by OpenSSH and mpirun, and by `run --cluster`.

Beside the cluster's key there are a hostfile, an ssh_config and a known_hosts with the keys that
the provider reports.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from provisioning.hostfile import Host, Hostfile, write
from provisioning.provider import Machine, MachineState, Provider
from provisioning.ssh import Target, known_hosts
from scicore.errors import ScicumulusError

HOSTFILE = "hostfile"
SSH_CONFIG = "ssh_config"
KNOWN_HOSTS = "known_hosts"
LONGEST, SHORTEST = 24, 8  # prefixes of a network that is taken to be the cluster's
_HOST = """\
Host {address}
HostName {address}
User {user}
Port {port}
IdentityFile "{identity}"
IdentitiesOnly yes
UserKnownHostsFile "{known}"
StrictHostKeyChecking yes
"""


def targets_of(
    provider: Provider, machines: Sequence[Machine], identity: Path
) -> tuple[Target, ...]:
    """The machines that run, with the host keys that the provider vouches for.

    From within their network they are reached by their private addresses, as MPI will need it.
    """
    running = [machine for machine in machines if machine.state is MachineState.RUNNING]
    inside = _is_inside(network_of([machine.private_address for machine in running]))
    return tuple(
        Target(
            machine.vm,
            machine.private_address if inside else machine.address,
            machine.user,
            provider.host_keys(machine),
            identity,
            machine.ssh_port,
        )
        for machine in running
    )


def network_of(addresses: Sequence[str]) -> str:
    """CIDR of what these addresses have in common, at least 256 of them; empty if it is little."""
    try:
        numbers = [int(ipaddress.IPv4Address(address)) for address in addresses]
    except ValueError:
        return ""
    if not numbers:
        return ""
    common = 32 - max(number ^ numbers[0] for number in numbers).bit_length()
    length = min(common, LONGEST)
    if length < SHORTEST:
        return ""
    return str(ipaddress.ip_network((numbers[0], length), strict=False))


def _is_inside(network: str) -> bool:
    """Whether this computer has an address in it. Nothing is sent."""
    if not network:
        return False
    inside = ipaddress.ip_network(network)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((str(inside[1 << 1]), 22))
        except OSError:
            return False
        return ipaddress.ip_address(probe.getsockname()[0]) in inside


def write_files(
    directory: Path,
    targets: Sequence[Target],
    types: Mapping[str, tuple[str, int]],
) -> Path:
    """The hostfile, and what it needs. `types`: name and slots of each VM's type, by VM."""
    if not targets:
        raise ScicumulusError("the cluster has no host that runs", "see `scicumulus cluster ls`")
    known = directory / KNOWN_HOSTS
    _write(known, known_hosts(targets))
    _write(directory / SSH_CONFIG, "\n".join(_entry(target, known) for target in targets))
    hosts = tuple(
        Host(target.address, types[target.vm][1], target.vm, types[target.vm][0])
        for target in targets
    )
    network = network_of([target.address for target in targets])
    file = directory / HOSTFILE
    _write(file, write(Hostfile(hosts, SSH_CONFIG, network), f"cluster {directory.name}"))
    return file


def _entry(target: Target, known: Path) -> str:
    return _HOST.format(
        address=target.address,
        user=target.user,
        port=target.port,
        identity=target.identity,
        known=known,
    )


def _write(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}")
    draft.write_text(text)
    draft.chmod(0o600)
    draft.replace(path)
