"""While a run goes on, its cluster's lease is renewed: no VM ends itself under it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from scicore.cli.output import say
from scicore.errors import ScicumulusError

if TYPE_CHECKING:
    from provisioning.provider import Machine, Provider

LEASE_S = 3600.0  # that the VMs have at least, after each renewal
RENEW_S = 300.0


def cluster_of(hostfile: Path) -> str | None:
    """The cluster that the hostfile is of; None: the user's own hosts."""
    from scicore.cli.rental import cluster_directory

    name = hostfile.parent.name
    return name if hostfile.parent == cluster_directory(name) else None


@contextmanager
def kept_alive(name: str | None, database_url: str | None) -> Iterator[None]:
    """Renewed at once, and every few minutes until the end; a failure is told, once."""
    from scicore.cli.rental import ledger_of, provider_of_cluster

    record = ledger_of(database_url).open(name) if name is not None else None
    if name is None or record is None:
        yield
        return
    provider, owner, cluster = provider_of_cluster(record), record.owner, name
    over = threading.Event()

    def keep() -> None:
        told = False
        while True:
            try:
                renew(provider, cluster, owner)
                told = False
            except ScicumulusError as error:
                if not told:
                    say(f"warning: the lease of cluster {cluster} is not renewed: {error}")
                told = True
            if over.wait(RENEW_S):
                return

    thread = threading.Thread(target=keep, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def renew(provider: Provider, name: str, owner: str) -> None:
    """An hour from now, or what it has if that is more."""
    from scicore.cli.rental import now

    leases = [each.lease_until for each in _running(provider, name, owner)]
    untold = prolong(provider, name, owner, max([now() + timedelta(seconds=LEASE_S), *leases]))
    if untold:
        raise ScicumulusError("; ".join(untold.values()))


def prolong(provider: Provider, name: str, owner: str, lease_until: datetime) -> dict[str, str]:
    """By tag, and over SSH where a VM does not see its tags change. Returns which VMs could not be
    told, and why: they end when their old lease does."""
    from provisioning.access import targets_of
    from provisioning.fleet import sees_its_tags
    from provisioning.keys import ensure_key
    from provisioning.lease import renewal_command
    from provisioning.ssh import connect
    from scicore.cli.rental import cluster_directory

    provider.renew(name, owner, lease_until)
    blind = [each for each in _running(provider, name, owner) if not sees_its_tags(each.vm_type)]
    if provider.name != "ec2" or not blind:
        return {}
    key = ensure_key(cluster_directory(name), f"scicumulus-{name}")
    untold = {}
    for target in targets_of(provider, blind, key.private_file):
        try:
            with connect(target, retries=0) as session:
                session.run("sh", "-c", renewal_command(lease_until))
        except ScicumulusError as error:
            untold[target.vm] = error.message
    return untold


def _running(provider: Provider, name: str, owner: str) -> list[Machine]:
    from provisioning.provider import MachineState

    return [
        each
        for each in provider.observe(name)
        if each.owner == owner and each.state is MachineState.RUNNING
    ]
