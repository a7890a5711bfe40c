"""While a run goes on, rented VMs that are lost, or about to be, are replaced: within limits. When
it is taken up again, those that are gone.

A new VM is launched as the others were, made ready, and written into the hostfile; the supervisor
sees that the file has changed, and lets it join.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scicore.cli.offer import OverBudget
from scicore.cli.output import say
from scicore.errors import DatabaseError, ScicumulusError, UsageError
from scicore.model.cloud import MINIMUM_BILLED_S, Vm

if TYPE_CHECKING:
    from scicore.model.cloud import VmType
    from scicore.model.cluster import ClusterRecord, Intent
    from scicore.provenance.connection import Database

_LOST = """
    SELECT vm, state = 'lost' FROM vm
    WHERE run_id = :run AND (state = 'lost' OR state = 'drained' AND starts_with(reason, :taken))
    ORDER BY vm
"""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the user allows."""

    cluster: str
    most: int  # VMs, in the whole run
    workflow: Path  # the directory that hosts need
    fetched: frozenset[Path] = frozenset()  # of it, what they get from the storage
    limit_usd: float | None = None  # of the whole cluster
    max_vms: int = 0  # at once; 0 = no limit
    # VM types that may stand in for one that is short; empty: none
    substitutes: Mapping[str, VmType] = field(default_factory=dict)


class Replacement:
    def __init__(self, terms: Terms, database: Database, url: str | None, run_id: int) -> None:
        self._terms = terms
        self._database = database
        self._url = url  # as the user gave it
        self._run_id = run_id
        self._done: set[str] = set()  # VMs that were replaced, or cannot be
        self._left: tuple[datetime, float] | None = None  # when taken up again; seconds of the plan
        self._before: set[tuple[str, bool]] = set()  # lost, or given notice, before we looked
        self._launched = 0
        self._thread: threading.Thread | None = None

    def look(self) -> None:
        """About once a second; a replacement takes minutes, and is made beside the run."""
        if self._thread is not None and self._thread.is_alive():
            return
        try:
            seen = self._lost()
        except DatabaseError:  # the master notices, too, and decides
            return
        self._before.intersection_update(seen)  # one that came back can be lost anew
        for vm, lost in seen:
            if (vm, lost) in self._before:
                continue
            if vm not in self._done and self._may_begin(lost=lost):
                self._done.add(vm)
                self._thread = threading.Thread(
                    target=self._try, args=(vm, lost), name="replacement", daemon=True
                )
                self._thread.start()
                return

    def catch_up(self, *, yes: bool) -> None:
        """Before a run is taken up again: what its cluster lacks is told with its price, asked for
        and launched. What was lost earlier and is still there may come back by itself."""
        from provisioning.fleet import GONE, lacking
        from scicore.cli.rental import now, provider_of_cluster

        record = self._record()
        if record is None:
            raise UsageError(
                f"cluster {self._terms.cluster} is no more: none of its VMs can be replaced",
                "launch and configure another, and go on there: scicumulus resume "
                f"{self._run_id} --hostfile FILE",
            )
        self._before = set(self._lost())
        self._left = now(), self._left_s()
        seen = provider_of_cluster(record).observe(record.name)
        machines = [each for each in seen if each.owner == record.owner]
        gone = lacking(record, machines)
        agreed = self._offer(record, gone)
        if agreed and not yes:
            click.confirm("Launch?", abort=True, err=True)
        self.rescue(agreed)
        # Whoever is not there has been replaced by now, or the user did not agree to it.
        alive = {each.vm for each in machines if each.state not in GONE}
        self._done |= {vm for each in record.intents for vm in each.vms if vm not in alive}

    def _offer(self, record: ClusterRecord, gone: Sequence[str]) -> list[str]:
        """Which of these may be replaced; what that costs is told."""
        agreed: dict[str, VmType] = {}
        expected_usd = 0.0
        for vm in gone[: self._terms.most]:
            other = _intent_of(record, vm).vm_type
            try:
                expected_usd = self._expected_usd(record, {**agreed, vm: other})
            except OverBudget as error:
                say(f"VM {vm} is not replaced: {error}")
            else:
                agreed[vm] = other
        if gone:
            say(f"cluster {record.name}: {len(gone)} of {record.size} VMs are gone")
        for vm, other in agreed.items():
            say(f"  {vm}: another {_priced(other)}{self._otherwise(other)}")
        if agreed:
            say(f"  with {len(agreed)} more the cluster is expected to cost ${expected_usd:.4f}")
        return list(agreed)

    def _otherwise(self, wanted: VmType) -> str:
        from provisioning.fleet import substitutes

        fit = substitutes(wanted, self._terms.substitutes, {wanted.name})
        return f", or {_priced(fit[0])} or dearer if that is short" if fit else ""

    def rescue(self, vms: Iterable[str]) -> bool:
        """No host is left: wait for others, whether one came."""
        self.close()
        before = self._launched
        for vm in vms:
            if vm not in self._done and self._launched < self._terms.most:
                self._done.add(vm)
                self._try(vm, lost=True)
        return self._launched > before

    def close(self) -> None:
        """A launch that is under way is not left half done."""
        if self._thread is not None and self._thread.is_alive():
            say("waiting for the VM that is being launched")
            self._thread.join()

    def _lost(self) -> list[tuple[str, bool]]:
        """VMs that are gone (True), or have notice to go."""
        from sqlalchemy import text

        from scicore.execution.core import TAKEN_BACK

        about = {"run": self._run_id, "taken": TAKEN_BACK}
        with self._database.engine.connect() as connection:
            return [(vm, lost) for vm, lost in connection.execute(text(_LOST), about)]

    def _may_begin(self, *, lost: bool) -> bool:
        """A VM that has only notice to go counts until it is gone."""
        if self._launched >= self._terms.most:
            return False
        record = None if lost or not self._terms.max_vms else self._record()
        return record is None or len(_alive(record)) < self._terms.max_vms

    def _record(self) -> ClusterRecord | None:
        from scicore.cli.rental import ledger_of

        return ledger_of(self._url).open(self._terms.cluster)

    def _try(self, vm: str, lost: bool) -> None:
        try:
            new = self._replace(vm, lost=lost)
        except ScicumulusError as error:
            say(f"VM {vm} is not replaced: {error}")
        else:
            self._launched += bool(new)
            if new:
                say(f"VM {vm} is replaced by {new}")

    def _replace(self, vm: str, *, lost: bool) -> str:
        """The new VM's id, and its type if it is another; empty: it was none of the cluster's."""
        from provisioning.keys import ensure_key
        from provisioning.launching import Launching, Order
        from provisioning.provider import Cluster
        from scicore.cli.configuring import make_ready, software_of
        from scicore.cli.leasing import LEASE_S
        from scicore.cli.rental import (
            cluster_directory,
            desk_of,
            ledger_of,
            now,
            provider_of_cluster,
        )

        record = self._record()
        if record is None or not any(vm in each.vms for each in record.intents):
            return ""
        before = _intent_of(record, vm)
        self._expected_usd(record, {vm: before.vm_type})
        name = record.name
        key = ensure_key(cluster_directory(name), f"scicumulus-{name}")
        other = Vm(_next_id(record, before.vm_type.name), before.vm_type)
        order = Order(
            cluster=Cluster(name, record.owner, key.public_key, run=f"run {self._run_id}"),
            fleet=record.fleet,
            vms=(other,),
            lease_until=now() + timedelta(seconds=LEASE_S),
            spot=before.spot,
            substitutes_from=self._affordable(record, vm),
        )
        say(f"VM {vm} is {'lost' if lost else 'being taken back'}; launching {other.id} instead")
        desk = desk_of(provider_of_cluster(record), ledger_of(self._url))
        machine = Launching(desk).add(order, instead_of=vm if lost else "")
        ready = self._terms.workflow, self._terms.fetched
        make_ready(name, self._url, software_of(name), *ready, only=other.id)
        same = machine.vm_type == before.vm_type.name
        return other.id if same else f"{other.id}, a {machine.vm_type}"

    def _affordable(self, record: ClusterRecord, vm: str) -> dict[str, VmType]:
        """Types that may stand in for the VM's own, as far as the money goes."""
        found = {}
        for name, other in self._terms.substitutes.items():
            with suppress(OverBudget):
                self._expected_usd(record, {vm: other})
                found[name] = other
        return found

    def _expected_usd(self, record: ClusterRecord, others: Mapping[str, VmType]) -> float:
        """What the cluster will have cost if VMs are replaced by such; it must not be too much."""
        from provisioning.bill import with_others_usd
        from scicore.cli.rental import now

        expected_usd = with_others_usd(record, others, others.values(), now(), self._left_s())
        limit = self._terms.limit_usd
        if limit is not None and expected_usd > limit:
            *_, last = others.values()
            raise OverBudget(
                f"with another {last.name} the cluster is expected to cost "
                f"${expected_usd:.4f}; the limit is ${limit:.4f}",
                "the run goes on with what is left",
            )
        return expected_usd

    def _left_s(self) -> float:
        """Of the plan; a run that is late takes at least a minute longer."""
        from scicore.cli.rental import now
        from scicore.provenance.reader import run_summary

        if self._left is not None:  # the time between was nobody's work
            since, left_s = self._left
            left_s -= (now() - since).total_seconds()
        else:
            with self._database.engine.connect() as connection:
                summary = run_summary(connection, self._run_id)
            left_s = summary.predicted_makespan_s - (summary.makespan_s or 0.0)
        return max(left_s, MINIMUM_BILLED_S)


def _intent_of(record: ClusterRecord, vm: str) -> Intent:
    """The latest that asked for it."""
    return [each for each in record.intents if vm in each.vms][-1]


def _priced(vm_type: VmType) -> str:
    return f"{vm_type.name} at ${vm_type.price_usd_per_hour:.4f}/h"


def _alive(record: ClusterRecord) -> list[str]:
    return [
        each.vm for intent in record.intents for each in intent.instances if each.ended_at is None
    ]


def _next_id(record: ClusterRecord, vm_type: str) -> str:
    """An id of its own: results of the VM before it must not be taken for its own."""
    used = {vm for intent in record.intents for vm in intent.vms}
    number = 1
    while f"{vm_type}-{number}" in used:
        number += 1
    return f"{vm_type}-{number}"
