"""`scicumulus cluster`: VMs are rented, listed and ended."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scicore.cli.configuring import bake, configure
from scicore.cli.options import duration_s, substitutes_option
from scicore.cli.output import database_option, json_option, print_json, print_table, say
from scicore.cli.rental import rental_options
from scicore.cli.vm_prices import prices

if TYPE_CHECKING:
    from provisioning.provider import Machine
    from scicore.model.cloud import VmType


@click.group(epilog="Example: scicumulus cluster up --fleet 8xt2.micro,1xt2.2xlarge --name montage")
def command() -> None:
    """Rent VMs, list them, end them. Each has a lease, and ends itself when nobody renews it."""


@command.command(epilog="Example: scicumulus cluster up --plan 7 --lease 2h --budget 1.50")
@click.option("--plan", "plan_id", type=int, metavar="ID", help="The VMs of this plan.")
@click.option("--fleet", metavar="FLEET", help="VMs, as COUNTxTYPE,…, instead of a plan's.")
@click.option("--name", metavar="NAME", help="Of the cluster; default: plan-ID, or `cluster`.")
@click.option(
    "--lease",
    "lease_s",
    type=duration_s,
    metavar="TIME",
    help="How long it may live; default: 1h, or twice what the plan takes.",
)
@click.option("--budget", type=float, metavar="USD", help="Refuse if more is expected.")
@click.option("--spot", is_flag=True, help="Cheaper VMs that may be taken away.")
@substitutes_option
@click.option("--image", metavar="AMI", help="AMI, or SSM parameter of one; default: Debian 12.")
@click.option("--login", metavar="USER", help="The image's user; default: admin.")
@click.option("--subnet", metavar="ID", help="Default: one of the default VPC.")
@click.option("--disk", "disk_gib", type=int, metavar="GIB", help="Default: the image's.")
@click.option("--instance-profile", metavar="NAME", help="What the VMs may do in AWS: S3, say.")
@click.option(
    "--reachable-from",
    default="auto",
    metavar="CIDR",
    help="Who may reach SSH besides the cluster; default: this computer, `none`: nobody.",
)
@click.option(
    "--catalog",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="TOML with further VM types.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@rental_options
@database_option
@json_option
def up(
    plan_id: int | None,
    fleet: str | None,
    name: str | None,
    lease_s: float | None,
    budget: float | None,
    spot: bool,
    substitutes: bool,
    image: str | None,
    login: str | None,
    subnet: str | None,
    disk_gib: int | None,
    instance_profile: str | None,
    reachable_from: str,
    catalog: Path | None,
    yes: bool,
    provider: str,
    region: str | None,
    owner: str | None,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Launch the VMs of a plan or a fleet: all of them, or none.

    What will be launched and what it costs is shown before anything is asked for. The same
    command goes on with a launch that was cut off, and replaces VMs that were lost.
    """
    from provisioning.keys import ensure_key
    from provisioning.launching import Launching, Order
    from provisioning.provider import Cluster
    from scicore.cli.offer import make_offer, print_offer, require_affordable
    from scicore.cli.preparation import base_catalog
    from scicore.cli.rental import (
        LAUNCHED,
        caller_network,
        cluster_directory,
        desk_of,
        ledger_of,
        now,
        owner_of,
        provider_of,
        remember,
        require_name,
    )

    types = base_catalog(catalog)
    offer = make_offer(plan_id, fleet, lease_s, types, database_url)
    require_affordable(offer, budget)
    name = require_name(name or (f"plan-{plan_id}" if plan_id is not None else "cluster"))
    ledger = ledger_of(database_url)
    settings: dict[str, Any] = {
        "region": region,
        "image": image,
        "login": login,
        "subnet": subnet,
        "disk_gib": disk_gib,
        "instance_profile": instance_profile,
    }
    driver = provider_of(provider, **settings)
    print_offer(offer, name, driver.region, spot=spot)
    if not yes:
        click.confirm("Launch?", abort=True, err=True)
    mine = owner_of(owner)
    key = ensure_key(cluster_directory(name), f"scicumulus-{name}")
    remember(name, LAUNCHED, settings)
    run = f"plan {plan_id}" if plan_id is not None else ""
    order = Order(
        cluster=Cluster(name, mine, key.public_key, caller_network(reachable_from), run),
        fleet=offer.fleet.text,
        vms=offer.fleet.vms,
        lease_until=now() + timedelta(seconds=offer.lease_s),
        spot=spot,
        plan_id=plan_id,
        estimate_usd=offer.estimate.expected_usd,
        substitutes_from=types if substitutes else None,
        most_usd_per_hour=offer.most_usd_per_hour(budget),
    )
    machines = Launching(desk_of(driver, ledger)).up(order)
    if as_json:
        print_json(
            {
                "cluster": name,
                "machines": [_document(each) for each in machines],
                "usd_per_hour": offer.estimate.usd_per_hour,
                "expected_usd": offer.estimate.expected_usd,
                "most_usd": offer.estimate.most_usd,
                "lease_until": order.lease_until,
                "private_key": str(key.private_file),
            }
        )
        return
    print_table(
        ("VM", "type", "id", "address"),
        [(each.vm, each.vm_type, each.id, each.address) for each in machines],
    )
    say(f"cluster {name} is up until {order.lease_until:%H:%M} UTC; SSH key: {key.private_file}")
    say(f"longer: scicumulus cluster renew {name}; end it: scicumulus cluster down {name}")


@command.command(epilog="Example: scicumulus cluster down montage")
@click.argument("name", default="cluster")
@rental_options
@database_option
@json_option
def down(
    name: str,
    provider: str,
    region: str | None,
    owner: str | None,
    database_url: str | None,
    as_json: bool,
) -> None:
    """End the cluster NAME and all that belongs to it, also while it is being launched.

    Everything is found by its tags, also when the database is lost.
    """
    from provisioning.bill import spent_usd
    from provisioning.ending import Ending
    from scicore.cli.rental import (
        desk_of,
        forget_cluster,
        ledger_or_none,
        now,
        owner_of,
        provider_of,
        require_name,
    )
    from scicore.errors import UsageError

    ledger = ledger_or_none(database_url)
    driver, mine = provider_of(provider, region), owner_of(owner)
    record = ledger.open(require_name(name))
    ending = Ending(desk_of(driver, ledger))
    if record is None and not ending.knows(name, mine):
        raise UsageError(
            f"there is no cluster {name} of {mine} at {driver.name}"
            f"{f' in {driver.region}' if driver.region else ''}: neither the database nor a tag "
            "knows it",
            "see `scicumulus cluster ls`; another --region, --provider or --owner may have it",
        )
    ended = ending.down(name, mine)
    forget_cluster(name)
    spent = spent_usd(record, now()) if record else None
    if as_json:
        estimate = record.estimate_usd if record else None
        print_json({"cluster": name, "ended": ended, "spent_usd": spent, "estimate_usd": estimate})
        return
    say(f"cluster {name}: {ended} VMs ended, nothing is left")
    if record and spent is not None:
        expected = "" if record.estimate_usd is None else f" (expected ${record.estimate_usd:.4f})"
        say(f"it cost about ${spent:.4f}{expected}")


@command.command(epilog="Example: scicumulus cluster ls --json")
@rental_options
@database_option
@json_option
def ls(
    provider: str,
    region: str | None,
    owner: str | None,
    database_url: str | None,
    as_json: bool,
) -> None:
    """All VMs of ours: state, age, lease and cost so far."""
    from provisioning.bill import so_far_usd, types_of
    from provisioning.provider import MachineState
    from scicore.cli.preparation import base_catalog
    from scicore.cli.rental import ledger_or_none, now, owner_of, provider_of

    ledger = ledger_or_none(database_url)
    mine = owner_of(owner)
    machines = provider_of(provider, region).observe()
    agreed, catalog, moment = types_of(ledger.all_open()), base_catalog(None), now()
    rows = []
    for each in sorted(machines, key=lambda machine: (machine.cluster, machine.vm)):
        if each.state is MachineState.ENDED or (owner and each.owner != mine):
            continue
        vm_type: VmType | None = agreed.get(each.id) or catalog.get(each.vm_type)
        rows.append(
            {
                **_document(each),
                "age_s": (moment - each.launched_at).total_seconds(),
                "cost_usd": so_far_usd(each, vm_type, moment),
            }
        )
    if as_json:
        total = sum(row["cost_usd"] or 0.0 for row in rows)
        print_json({"machines": rows, "cost_usd": total})
        return
    print_table(
        ("cluster", "VM", "type", "id", "state", "address", "age", "lease", "USD", "owner"),
        [
            (
                row["cluster"],
                row["vm"],
                row["vm_type"],
                row["id"],
                row["state"],
                row["address"],
                f"{row['age_s'] / 60:.0f} min",
                _left(row["lease_until"], moment),
                "" if row["cost_usd"] is None else f"{row['cost_usd']:.4f}",
                row["owner"],
            )
            for row in rows
        ],
    )


@command.command(epilog="Example: scicumulus cluster renew montage --lease 2h")
@click.argument("name", default="cluster")
@click.option(
    "--lease",
    "lease_s",
    type=duration_s,
    default="1h",
    show_default=True,
    metavar="TIME",
    help="How long it may live from now on.",
)
@rental_options
@json_option
def renew(
    name: str,
    lease_s: float,
    provider: str,
    region: str | None,
    owner: str | None,
    as_json: bool,
) -> int:
    """Let the cluster NAME live longer.

    VMs of the Nitro system see it by themselves; older ones (t2, m4, …) are told over SSH. Those
    that cannot be reached are named: they end when their old lease does (exit code 3).
    """
    from scicore.cli.leasing import prolong
    from scicore.cli.rental import now, owner_of, provider_of, require_name

    lease_until = now() + timedelta(seconds=lease_s)
    driver, mine = provider_of(provider, region), owner_of(owner)
    untold = prolong(driver, require_name(name), mine, lease_until)
    if as_json:
        print_json({"cluster": name, "lease_until": lease_until, "untold": untold})
    else:
        say(f"cluster {name} may live until {lease_until:%Y-%m-%d %H:%M} UTC")
        for why in untold.values():
            say(f"  but not told: {why}")
    return 3 if untold else 0


@command.command(epilog="Example: scicumulus cluster sweep --dry-run")
@click.option("--dry-run", is_flag=True, help="Only say what would be ended.")
@rental_options
@database_option
@json_option
def sweep(
    dry_run: bool,
    provider: str,
    region: str | None,
    owner: str | None,
    database_url: str | None,
    as_json: bool,
) -> None:
    """End what outlived its lease, or was left by a launch that did not finish.

    Machines that are not ours are never touched, nor those of another owner.
    """
    from provisioning.ending import Ending
    from scicore.cli.rental import desk_of, forget_cluster, ledger_or_none, owner_of, provider_of

    desk = desk_of(provider_of(provider, region), ledger_or_none(database_url))
    judgement = Ending(desk).sweep(owner_of(owner), dry_run=dry_run)
    kept = {each.machine.cluster for each in judgement.verdicts if not each.end}
    gone = {*(each.cluster for each in judgement.doomed), *judgement.dismantle, *judgement.close}
    if not dry_run:
        for name in gone - kept:
            forget_cluster(name)
    rows: list[dict[str, Any]] = [
        {**_document(each.machine), "ended": each.end and not dry_run, "why": each.why}
        for each in judgement.verdicts
    ]
    if as_json:
        print_json(
            {
                "machines": rows,
                "ended": 0 if dry_run else len(judgement.doomed),
                "clusters_removed": [] if dry_run else sorted(gone - kept),
            }
        )
        return
    verb = "would end" if dry_run else "ended"
    print_table(
        ("cluster", "VM", "id", "", "why"),
        [
            (row["cluster"], row["vm"], row["id"], verb if each.end else "kept", row["why"])
            for row, each in zip(rows, judgement.verdicts, strict=True)
        ],
    )
    say(f"{verb} {len(judgement.doomed)} of {len(rows)} VMs")


for also in (configure, bake, prices):
    command.add_command(also)


def _document(machine: Machine) -> dict[str, Any]:
    names = ("cluster", "vm", "vm_type", "id", "address", "private_address", "owner", "spot")
    return {
        **{name: getattr(machine, name) for name in names},
        "state": machine.state.value,
        "launched_at": machine.launched_at,
        "lease_until": machine.lease_until,
    }


def _left(lease_until: datetime, moment: datetime) -> str:
    left_s = (lease_until - moment).total_seconds()
    return f"{left_s / 60:.0f} min" if left_s > 0 else "over"
