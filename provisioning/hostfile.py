"""Hostfiles: which host is which VM of the plan. Text ⇄ hosts, and hosts against a fleet; pure.

    # ssh-config: cluster.ssh          how hosts are reached; default: the user's ~/.ssh/config
    # network: 10.0.0.0/24             the addresses through which the ranks talk
    # notices: http://169.254.169.254  who tells a host that it is taken back (spot VMs)
    10.0.0.11 slots=1  # vm=t2.micro-1 type=t2.micro

To Open MPI it is a hostfile like any other: what only we read stands in comments.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from scicore.errors import Defect, SpecificationError, UsageError
from scicore.model.cloud import Fleet, Vm, VmType

_HEADER = re.compile(r"#\s*(ssh-config|network|notices)\s*:\s*(.*)")
_ADDRESS = re.compile(r"[A-Za-z0-9_.:-]+")
_ID = re.compile(r"[A-Za-z0-9_.-]+")
_HERE = ("localhost", "127.0.0.1", "::1")
_EXAMPLE = "ADDRESS slots=N  # vm=ID type=TYPE"


@dataclass(frozen=True, slots=True)
class Host:
    address: str  # as SSH and MPI reach it
    slots: int = 0  # 0 = as many as its VM type has
    vm: str = ""  # id in the plan; empty = any of its type
    type: str = "local"


@dataclass(frozen=True, slots=True)
class Hostfile:
    hosts: tuple[Host, ...]
    ssh_config: str = ""  # relative to the hostfile; empty = the user's own
    network: str = ""  # CIDR; empty = MPI chooses
    notices: str = ""  # URL of the hosts' metadata service; empty = nobody takes them back

    @property
    def elsewhere(self) -> bool:
        """Whether any host is not this computer."""
        return any(host.address not in _HERE for host in self.hosts)


@dataclass(frozen=True, slots=True)
class Seat:
    """A VM and its host: where one slave rank runs."""

    vm: Vm
    address: str


# --- text ---------------------------------------------------------------------------------------


def parse(text: str, file: str) -> Hostfile:
    """All that is wrong is reported at once."""
    defects: list[Defect] = []
    headers: dict[str, str] = {}
    hosts: list[Host] = []
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.fullmatch(line.strip())
        if header:
            headers[header[1]] = header[2].strip()
        elif line.strip() and not line.lstrip().startswith("#"):
            found = _host(line)
            if isinstance(found, Host):
                hosts.append(found)
            else:
                defects.append(Defect(file, number, *found))
    if "network" in headers and not _is_network(headers["network"]):
        defects.append(Defect(file, 0, f"network {headers['network']!r}", "CIDR, as 10.0.0.0/24"))
    if not headers.get("notices", "http://").startswith("http://"):
        told = f"notices {headers['notices']!r}"
        defects.append(Defect(file, 0, told, "http://ADDRESS of a metadata service"))
    for vm, count in Counter(host.vm for host in hosts if host.vm).items():
        if count > 1:
            defects.append(Defect(file, 0, f"{count} hosts for VM {vm}", "one"))
    if not hosts and not defects:
        defects.append(Defect(file, 0, "no host", f"lines such as {_EXAMPLE}"))
    if defects:
        raise SpecificationError(defects)
    names = ("ssh-config", "network", "notices")
    return Hostfile(tuple(hosts), *(headers.get(name, "") for name in names))


def _host(line: str) -> Host | tuple[str, str]:
    """Or what was found, and what was expected."""
    plain, _, comment = line.partition("#")
    address, *words = plain.split()
    if not _ADDRESS.fullmatch(address) or address.startswith("-"):
        return f"the address {address!r}", "a host name or an IP address"
    given = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name == "max_slots" or not equals:
            return repr(word), _EXAMPLE
        given[name] = value
    for word in comment.split():
        name, equals, value = word.partition("=")
        if equals and name in ("vm", "type"):
            given[name] = value
    unknown = sorted(set(given) - {"slots", "vm", "type"})
    if unknown:
        return (
            f"{unknown[0]}={given[unknown[0]]}",
            "slots=N before the #, vm=ID and type=TYPE after",
        )
    slots = given.get("slots", "0")
    if not slots.isdecimal() or ("slots" in given and int(slots) < 1):
        return f"slots={slots}", "a whole number above 0"
    for name in ("vm", "type"):
        if name in given and not _ID.fullmatch(given[name]):
            return f"{name}={given[name]}", "letters, digits, dots and hyphens"
    return Host(address, int(slots), given.get("vm", ""), given.get("type", "local"))


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


def write(hostfile: Hostfile, title: str = "") -> str:
    lines = [f"# {title}"] if title else []
    if hostfile.ssh_config:
        lines.append(f"# ssh-config: {hostfile.ssh_config}")
    if hostfile.network:
        lines.append(f"# network: {hostfile.network}")
    if hostfile.notices:
        lines.append(f"# notices: {hostfile.notices}")
    for host in hostfile.hosts:
        slots = f" slots={host.slots}" if host.slots else ""
        vm = f" vm={host.vm}" if host.vm else ""
        lines.append(f"{host.address}{slots}  #{vm} type={host.type}")
    return "\n".join(lines) + "\n"


# --- hosts and VMs ------------------------------------------------------------------------------


def fleet_of(hosts: Iterable[Host], catalog: Mapping[str, VmType]) -> Fleet:
    """The VMs that these hosts are; those without an id are numbered within their type."""
    listed = tuple(hosts)
    taken = {host.vm for host in listed}
    vms = []
    for host in listed:
        vm_type = _type_of(host, catalog)
        number = 1
        while not host.vm and f"{vm_type.name}-{number}" in taken:
            number += 1
        vm = Vm(host.vm or f"{vm_type.name}-{number}", vm_type)
        taken.add(vm.id)
        vms.append(vm)
    return Fleet(tuple(vms), _text(vms))


def _type_of(host: Host, catalog: Mapping[str, VmType]) -> VmType:
    if host.type == "local":
        return VmType("local", host.slots or 1, 0, speed=1.0, price_usd_per_hour=0.0)
    if host.type not in catalog:
        known = ", ".join(["local", *sorted(catalog)])
        raise UsageError(
            f"host {host.address}: VM type {host.type!r} is not known", f"known types: {known}"
        )
    vm_type = catalog[host.type]
    if host.slots not in (0, vm_type.slots):
        raise UsageError(
            f"host {host.address} has slots={host.slots}, but a {vm_type.name} has {vm_type.slots}",
            "write the type's slots, or another type",
        )
    return vm_type


def _text(vms: Iterable[Vm]) -> str:
    counts = Counter(
        f"local:{vm.type.slots}" if vm.type.name == "local" else vm.type.name for vm in vms
    )
    return ",".join(f"{count}x{name}" for name, count in counts.items())


def seat(hosts: Iterable[Host], fleet: Fleet) -> tuple[Seat, ...]:
    """Each VM of the plan on its host, in the plan's order. All differences are told at once."""
    named = {host.vm: host for host in hosts if host.vm}
    anonymous = [host for host in hosts if not host.vm]
    seats, differences = [], []
    for vm in fleet.vms:
        host = named.pop(vm.id, None)
        if host is None:
            fitting = [each for each in anonymous if not _differences(vm, each)]
            if not fitting:
                differences.append(f"VM {vm.id} ({vm.type.name}): no host")
                continue
            host = fitting[0]
            anonymous.remove(host)
        differences += _differences(vm, host)
        seats.append(Seat(vm, host.address))
    for host in (*named.values(), *anonymous):
        which = f"VM {host.vm} ({host.type})" if host.vm else f"a {host.type}"
        differences.append(f"host {host.address} is {which}: the plan has no use for it")
    if differences:
        listing = "\n".join(f"  {difference}" for difference in differences)
        raise UsageError(
            f"the hosts are not the VMs of the plan ({fleet.text}):\n{listing}",
            "change the hostfile, or plan for these hosts: leave --plan out",
        )
    return tuple(seats)


def _differences(vm: Vm, host: Host) -> list[str]:
    found = []
    if host.type != vm.type.name:
        found.append(f"VM {vm.id}: host {host.address} is a {host.type}, not a {vm.type.name}")
    if host.slots not in (0, vm.type.slots):
        found.append(
            f"VM {vm.id}: host {host.address} has {host.slots} slots, the plan counts on "
            f"{vm.type.slots}"
        )
    return found


def seat_again(
    hosts: Iterable[Host], fleet: Fleet, catalog: Mapping[str, VmType]
) -> tuple[Seat, ...]:
    """For a run that is under way: VMs of the plan may be missing, and new ones may have come.

    A host without a VM id takes the next VM of the plan that it fits; after these it is new.
    """
    listed = list(hosts)
    taken = {host.vm for host in listed if host.vm}
    free = [vm for vm in fleet.vms if vm.id not in taken]
    planned = {vm.id: vm for vm in fleet.vms}
    for index, host in enumerate(listed):
        fitting = [vm for vm in free if not host.vm and not _differences(vm, host)]
        if fitting:
            listed[index] = replace(host, vm=fitting[0].id)
            free.remove(fitting[0])
    strange = [
        difference
        for host in listed
        if host.vm in planned
        for difference in _differences(planned[host.vm], host)
    ]
    if strange:
        raise UsageError("the hostfile does not fit the run:\n  " + "\n  ".join(strange))
    unnamed = fleet_of(listed, {**catalog, **{vm.type.name: vm.type for vm in fleet.vms}})
    return tuple(
        Seat(planned.get(vm.id, vm), host.address)
        for vm, host in zip(unnamed.vms, listed, strict=True)
    )
