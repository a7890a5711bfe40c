"""What the verbs that rent VMs have in common: provider, ledger, owner, a cluster's directory."""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from provisioning.desk import Desk, Patience
from provisioning.ledger import Busy, Ledger, MemoryLedger
from provisioning.provider import Provider
from scicore.cli.output import say
from scicore.config import seconds
from scicore.errors import DatabaseError, UsageError

if TYPE_CHECKING:
    from scicore.model.cluster import ClusterRecord
    from scicore.provenance.clusters import ClusterLedger

OWNER = "SCICUMULUS_OWNER"
LAUNCHED, SOFTWARE = "launched", "software"  # what is remembered of a cluster
POLL = "SCICUMULUS_CLOUD_POLL_S"  # how often a provider is asked while something is awaited
SETTLE = "SCICUMULUS_CLOUD_SETTLE_S"  # until what a call made can surely be seen
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,39}")
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_WHERE_AM_I = "https://checkip.amazonaws.com"

_F = TypeVar("_F", bound=Callable[..., Any])


def rental_options(command: _F) -> _F:
    """Who rents, and where."""
    for option in reversed(
        (
            click.option(
                "--provider",
                default="ec2",
                show_default=True,
                metavar="NAME",
                help="Where VMs are rented.",
            ),
            click.option(
                "--region", metavar="NAME", help="AWS region; default: as boto3 finds it."
            ),
            click.option(
                "--owner",
                metavar="NAME",
                help=f"Whose VMs they are; default: {OWNER}, else the user's name.",
            ),
        )
    ):
        command = option(command)
    return command


def require_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"cluster name {name!r}: expected letters, digits and hyphens, at most 40")
    return name


def owner_of(chosen: str | None) -> str:
    owner = chosen or os.environ.get(OWNER) or getpass.getuser()
    if not _OWNER.fullmatch(owner):
        raise UsageError(
            f"owner {owner!r}: expected letters, digits, dots, hyphens and underscores",
            f"give --owner, or set {OWNER}",
        )
    return owner


def provider_of(name: str, region: str | None = None, **settings: Any) -> Provider:
    """A driver is imported when it is asked for."""
    chosen: Provider
    if name == "ec2":
        from provisioning.ec2 import Ec2, Ec2Settings

        given = {key: value for key, value in settings.items() if value is not None}
        chosen = Ec2(Ec2Settings(region=region, **given))
        return chosen
    if name == "netns":  # hosts on this computer, for tests
        from provisioning.netns import Netns

        # Hosts share all files but those below /tmp; they need this program, wherever it is.
        program = (sys.prefix, sys.base_prefix, Path(__file__).parents[2])
        chosen = Netns(state_directory() / "netns", [Path(place) for place in program])
        return chosen
    raise UsageError(f"provider {name!r} is not known", "known: ec2, netns")


def state_directory() -> Path:
    from scicore.provenance.postgres_home import default_directory

    return default_directory().parent


def cluster_directory(name: str) -> Path:
    """Its key, and whatever else belongs to it on this computer."""
    return state_directory() / "clusters" / name


def remember(name: str, what: str, settings: Mapping[str, Any]) -> None:
    """How the cluster was launched, or configured: VMs that come later must be alike."""
    given = {key: value for key, value in settings.items() if value}
    (cluster_directory(name) / f"{what}.json").write_text(json.dumps(given))


def remembered(name: str, what: str) -> dict[str, Any]:
    file = cluster_directory(name) / f"{what}.json"
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def provider_of_cluster(record: ClusterRecord) -> Provider:
    """As it was launched."""
    return provider_of(record.provider, **remembered(record.name, LAUNCHED))


def forget_cluster(name: str) -> None:
    shutil.rmtree(cluster_directory(name), ignore_errors=True)


def caller_network(wanted: str) -> str:
    """`auto`: the address from which the internet sees this computer; `none`: nobody."""
    if wanted != "auto":
        return "" if wanted == "none" else wanted
    try:
        with urllib.request.urlopen(_WHERE_AM_I, timeout=10) as answer:
            return f"{answer.read(64).decode().strip()}/32"
    except (OSError, ValueError) as error:
        raise UsageError(
            f"this computer's public address is not known: {_WHERE_AM_I}: {error}",
            "give --reachable-from 203.0.113.7/32, or `none`",
        ) from error


def now() -> datetime:
    return datetime.now(UTC)


def desk_of(provider: Provider, ledger: Ledger) -> Desk:
    usual = Patience()
    patience = Patience(
        poll_s=seconds(POLL, usual.poll_s), settle_s=seconds(SETTLE, usual.settle_s)
    )
    return Desk(provider, ledger, now, time.sleep, say, patience)


def ledger_of(database_url: str | None) -> ClusterLedger:
    from scicore.provenance.clusters import ClusterLedger
    from scicore.provenance.connection import connect

    return ClusterLedger(connect(database_url).engine, Busy)


def ledger_or_none(database_url: str | None) -> Ledger:
    """To end machines, tags must do when the database is lost."""
    try:
        return ledger_of(database_url)
    except DatabaseError as error:
        say(f"warning: {error.message}; going by the machines' tags alone")
        return MemoryLedger()
