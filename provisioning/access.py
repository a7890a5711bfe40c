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
METADATA = "http://169.254.169.254"  # where every EC2 instance finds out about itself
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
    inside = bool(running) and bool(own_address(provider.network(running[0].cluster)))
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


def own_address(network: str) -> str:
    """This computer's address in that network; empty if it has none. Nothing is sent."""
    inside = ipaddress.ip_network(network)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((str(inside[1 << 1]), 22))
        except OSError:
            return ""
        own = probe.getsockname()[0]
    return own if ipaddress.ip_address(own) in inside else ""


def write_files(
    directory: Path,
    targets: Sequence[Target],
    types: Mapping[str, tuple[str, int]],
    own: str = "",
    *,
    spot: bool = False,
) -> Path:
    """The hostfile, and what it needs. `types`: name and slots of each VM's type, by VM. `own`:
    this computer's address among them. `spot`: the provider may take hosts back, and tells."""
    if not targets:
        raise ScicumulusError("the cluster has no host that runs", "see `scicumulus cluster ls`")
    known = directory / KNOWN_HOSTS
    _write(known, known_hosts(targets))
    _write(directory / SSH_CONFIG, "\n".join(_entry(target, known) for target in targets))
    hosts = tuple(
        Host(target.address, types[target.vm][1], target.vm, types[target.vm][0])
        for target in targets
    )
    network = network_of([*(target.address for target in targets), *([own] if own else ())])
    file = directory / HOSTFILE
    listed = Hostfile(hosts, SSH_CONFIG, network, METADATA if spot else "")
    _write(file, write(listed, f"cluster {directory.name}"))
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
