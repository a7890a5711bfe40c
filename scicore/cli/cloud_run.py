"""`run --cloud`: VMs are rented for one run and ended whatever happens; then there is a bill."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from scicore.cli.output import say

if TYPE_CHECKING:
    import click

    from scicore.model.cluster import ClusterRecord
    from scicore.model.plan import Plan
    from scicore.provenance.connection import Database
    from scicore.provenance.reader import RunSummary


@dataclass(frozen=True, slots=True)
class Rent:
    """What the user agrees to."""

    provider: str = "ec2"
    budget_usd: float | None = None
    yes: bool = False
    spot: bool = False
    instance_profile: str | None = None
    substitutes: bool = False  # other types, if one is short


@dataclass(frozen=True, slots=True)
class Post:
    activity: str
    estimated_usd: float  # as planned
    actual_usd: float  # its attempts' share of their VMs, lost and failed ones included


@dataclass(frozen=True, slots=True)
class Bill:
    estimated_usd: float | None  # as agreed to before the launch
    actual_usd: float
    boot_usd: float  # from the launch until the run started
    idle_usd: float  # paid, and used by nothing
    activities: tuple[Post, ...]
    estimated_boot_usd: float  # as planned
    estimated_idle_usd: float

    @property
    def document(self) -> dict[str, object]:
        return asdict(self)


def in_cloud(
    rent: Rent,
    plan_id: int,
    database: Database,
    database_url: str | None,
    go: Callable[[str], RunSummary],
) -> tuple[RunSummary, Bill]:
    """Up, configure, run, fetch, down: `go` runs on the cluster of the given name."""
    from scicore.cli.cluster import down, up
    from scicore.cli.configuring import make_ready, software_of
    from scicore.cli.fetch import command as fetch
    from scicore.cli.rental import ledger_of, now
    from scicore.provenance.plans import load_plan

    name = f"run-{plan_id}-{secrets.token_hex(3)}"  # no other cluster can be meant by `down`
    where = ["--provider", rent.provider]
    kept = ["--database-url", database_url] if database_url else []
    terms = ["--reachable-from", _neighbour(name) if rent.provider == "ec2" else "none"]
    terms += ["--budget", str(rent.budget_usd)] if rent.budget_usd is not None else []
    terms += ["--yes"] if rent.yes else []
    terms += ["--spot"] if rent.spot else []
    terms += ["--instance-profile", rent.instance_profile] if rent.instance_profile else []
    terms += ["--allow-substitutes"] if rent.substitutes else []
    with redirect_stdout(sys.stderr):  # stdout is the run's
        try:
            _call(up, "--plan", str(plan_id), "--name", name, *where, *terms, *kept)
            make_ready(name, database_url, software_of(name), None)
            summary = go(name)
            _call(fetch, str(summary.run_id), *kept)
            record = ledger_of(database_url).open(name)
        finally:
            if ledger_of(database_url).open(name) is not None:
                say(f"ending cluster {name}")
                _call(down, name, *where, *kept)
    with database.engine.connect() as connection:
        _, plan = load_plan(connection, plan_id)
    assert record is not None
    return summary, _bill(database, summary, plan, record, now())


def _neighbour(name: str) -> str:
    """This computer, as the VMs will see it. The master runs here, and they connect to it."""
    from provisioning.access import own_address
    from scicore.cli.rental import provider_of
    from scicore.errors import LaunchError

    network = provider_of("ec2").network(name)
    own = own_address(network)
    if not own:
        raise LaunchError(
            f"this computer is not in the network of the VMs ({network}): the master runs where "
            "the command is typed, and they could not connect to it; nothing was launched",
            "type it on a VM of that network, which `scicumulus cluster up --fleet 1xt3.small "
            "--name desk --instance-profile PROFILE` and `scicumulus cluster configure desk` make "
            "(docs/cloud.md); through a VPN, use `cluster up` and `run --cluster`, which try it",
        )
    return f"{own}/32"


def _call(verb: click.Command, *words: str) -> None:
    verb.main(list(words), standalone_mode=False)


def _bill(
    database: Database, summary: RunSummary, plan: Plan, record: ClusterRecord, ended_at: datetime
) -> Bill:
    from provisioning.bill import boot_usd, spent_usd

    used, started_at = _used(database, summary.run_id)
    planned = _planned(plan, tuple(each.activity for each in summary.activities))
    total = spent_usd(record, ended_at)
    boot = sum(
        intent.vm_type.price_usd_per_hour
        / 3600
        * max(0.0, (started_at - instance.launched_at).total_seconds())
        for intent in record.intents
        for instance in intent.instances
    )
    posts = tuple(
        Post(activity, planned.get(activity, 0.0), used.get(activity, 0.0))
        for activity in sorted({*planned, *used})
    )
    idle = max(0.0, total - boot - sum(post.actual_usd for post in posts))
    expected_boot = boot_usd(plan.fleet)
    expected_idle = (record.estimate_usd or 0.0) - expected_boot - sum(planned.values())
    return Bill(
        record.estimate_usd, total, boot, idle, posts, expected_boot, max(0.0, expected_idle)
    )


def _used(database: Database, run_id: int) -> tuple[dict[str, float], datetime]:
    """Each activity's share of the VMs' price, and when the run started."""
    from sqlalchemy import text

    query = text(
        """
        SELECT activity.tag, CAST(sum(extract(epoch FROM attempt.ended_at - attempt.started_at)
                                      * vm.price_usd_per_hour / 3600 / vm.slots) AS float)
        FROM attempt JOIN vm USING (run_id, vm) JOIN activity USING (activity_id)
        WHERE run_id = :run AND attempt.ended_at IS NOT NULL
        GROUP BY activity.tag
        """
    )
    with database.engine.connect() as connection:
        used = {tag: float(usd) for tag, usd in connection.execute(query, {"run": run_id})}
        started = text("SELECT started_at FROM run WHERE run_id = :run")
        started_at = connection.scalar(started, {"run": run_id})
    assert isinstance(started_at, datetime)
    return used, started_at


def _planned(plan: Plan, activities: tuple[str, ...]) -> dict[str, float]:
    types = {vm.id: vm.type for vm in plan.fleet.vms}
    usd: dict[str, float] = {}
    for each in plan.assignments:
        named = [tag for tag in activities if each.activation.startswith(f"{tag}.")]
        tag = max(named, key=len, default=each.activation)
        vm_type = types[each.vm]
        share = vm_type.price_usd_per_hour / 3600 / vm_type.slots
        usd[tag] = usd.get(tag, 0.0) + (each.finish_s - each.start_s) * share
    return usd


def show(bill: Bill) -> None:
    from scicore.cli.output import print_table

    rows = [
        (post.activity, _usd(post.estimated_usd), _usd(post.actual_usd)) for post in bill.activities
    ]
    rows += [
        ("boot", _usd(bill.estimated_boot_usd), _usd(bill.boot_usd)),
        ("idle", _usd(bill.estimated_idle_usd), _usd(bill.idle_usd)),
    ]
    estimated = "" if bill.estimated_usd is None else _usd(bill.estimated_usd)
    print_table(
        ("bill", "estimated", "actual"), [*rows, ("total", estimated, _usd(bill.actual_usd))]
    )


def _usd(amount: float) -> str:
    return f"${amount:.6f}"
