"""`scicumulus cluster configure` and `bake`: rented VMs become hosts that can run a workflow."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scicore.cli.output import database_option, json_option, print_json, say

if TYPE_CHECKING:
    from provisioning.bootstrap import Software
    from provisioning.ssh import Target

SOFTWARE = "scicumulus"  # what an index is asked for


@click.command(epilog="Example: scicumulus cluster configure montage --wheels wheels/")
@click.argument("name", default="cluster")
@click.option(
    "--wheels",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Install from these wheels, without an index.",
)
@click.option(
    "--baked",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Install what `cluster bake` has taken from another host.",
)
@click.option(
    "--workflow",
    type=click.Path(path_type=Path, exists=True),
    metavar="SPEC",
    help="Bring the workflow's directory, too; `run --cluster` does so anyway.",
)
@database_option
@json_option
def configure(
    name: str,
    wheels: Path | None,
    baked: Path | None,
    workflow: Path | None,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Make the VMs of cluster NAME ready over SSH: the package, at the same path as here, and the
    keys that they need to reach each other. A host that has it already is left as it is.

    Their host keys must be those that the provider reports. Afterwards there is a hostfile.
    """
    from scicore.cli.rental import SOFTWARE as HOW
    from scicore.cli.rental import remember

    directory = directory_of(workflow) if workflow else None
    software = _software(wheels, baked)
    hostfile, targets = make_ready(name, database_url, software, directory)
    chosen = {"wheels": wheels, "baked": baked}
    remember(name, HOW, {key: str(path.absolute()) for key, path in chosen.items() if path})
    if as_json:
        hosts = {target.vm: target.address for target in targets}
        print_json({"cluster": name, "hostfile": str(hostfile), "hosts": hosts})
    else:
        say(f"{len(targets)} hosts are ready; run on them: scicumulus run SPEC --cluster {name}")


def software_of(name: str) -> Software:
    """As the cluster's hosts got it."""
    from scicore.cli.rental import SOFTWARE as HOW
    from scicore.cli.rental import remembered

    chosen = {key: Path(path) for key, path in remembered(name, HOW).items()}
    return _software(chosen.get("wheels"), chosen.get("baked"))


def _software(wheels: Path | None = None, baked: Path | None = None) -> Software:
    from provisioning.bootstrap import Software
    from scicore import __version__

    packed = tuple(sorted(wheels.glob("*.whl"))) if wheels else ()
    return Software(SOFTWARE, packed, version=__version__, baked=baked)


@click.command(epilog="Example: scicumulus cluster bake montage -o montage.tar.gz")
@click.argument("name", default="cluster")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="Where it is written.",
)
@database_option
@json_option
def bake(name: str, output: Path, database_url: str | None, as_json: bool) -> None:
    """Take the package, as it is installed on the first host of cluster NAME, into FILE: others
    are made ready from it in seconds (`cluster configure --baked FILE`).
    """
    from provisioning.bootstrap import bake as take

    reached = _reach(name, database_url)
    first = reached.targets[0]
    take(first, reached.places[0], output.absolute(), sys.prefix)
    size_bytes = output.stat().st_size
    if as_json:
        print_json({"cluster": name, "file": str(output), "size_bytes": size_bytes})
    else:
        say(f"{output}: {size_bytes / 1e6:.1f} MB, from {first.vm}")


@dataclass(frozen=True, slots=True)
class _Reached:
    targets: tuple[Target, ...]  # hosts that run
    types: dict[str, tuple[str, int]]  # name and slots of each VM's type
    places: tuple[str, str]  # on the hosts: our directory, and the file of the keys let in
    spot: bool  # the provider may take some of them back
    own: str  # this computer's address in their network; empty: it has none


def make_ready(
    name: str,
    database_url: str | None,
    software: Software | None,
    workflow: Path | None,
    fetched: frozenset[Path] = frozenset(),
    only: str = "",
) -> tuple[Path, tuple[Target, ...]]:
    """Configure all hosts of the cluster that run; the hostfile, and the hosts.

    `fetched`: files of the workflow that hosts will get from elsewhere. `only`: a VM; the others
    are ready.
    """
    from provisioning.access import write_files
    from provisioning.bootstrap import Wanted
    from provisioning.bootstrap import configure as configure_hosts
    from scicore.cli.rental import cluster_directory

    reached = _reach(name, database_url)
    directory, keys = reached.places
    wanted = Wanted(directory, software, sys.prefix, workflow, keys, fetched)
    unready = [target for target in reached.targets if only in ("", target.vm)]
    configure_hosts(unready, wanted, say)
    files = cluster_directory(name), reached.targets, reached.types, reached.own
    return write_files(*files, spot=reached.spot), reached.targets


def _reach(name: str, database_url: str | None) -> _Reached:
    from provisioning.access import own_address, targets_of
    from provisioning.keys import ensure_key
    from scicore.cli.preparation import base_catalog
    from scicore.cli.rental import cluster_directory, ledger_of, provider_of_cluster, require_name
    from scicore.errors import UsageError

    record = ledger_of(database_url).open(require_name(name))
    if record is None:
        raise UsageError(
            f"there is no cluster {name}", f"launch it: scicumulus cluster up --name {name}"
        )
    provider = provider_of_cluster(record)
    agreed = {vm: intent.vm_type for intent in record.intents for vm in intent.vms}
    catalog = base_catalog(None)
    machines = [each for each in provider.observe(name) if each.owner == record.owner]
    key = ensure_key(cluster_directory(name), f"scicumulus-{name}")
    targets = targets_of(provider, machines, key.private_file)
    if not targets:
        raise UsageError(f"cluster {name} has no VM that runs", "see `scicumulus cluster ls`")
    types = {}
    for each in machines:
        vm_type = agreed.get(each.vm) or catalog[each.vm_type]
        types[each.vm] = (vm_type.name, vm_type.slots)
    spot = any(each.spot for each in machines)
    own = own_address(provider.network(name))
    return _Reached(targets, types, _places(record.provider), spot, own)


def _places(provider: str) -> tuple[str, str]:
    if provider == "netns":  # its hosts share the home directories of this computer
        from provisioning.netns_host import OWN

        return OWN, f"{OWN}/authorized_keys"
    return ".scicumulus", ".ssh/authorized_keys"


def directory_of(spec: Path) -> Path:
    """What a run needs of the workflow: the directory of its specification."""
    return (spec if spec.is_dir() else spec.parent).absolute()
