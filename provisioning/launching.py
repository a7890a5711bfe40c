"""Clusters come and go: `fleet.py` decides, a provider acts, a ledger knows what was begun.

Every step can be the last one of this process: whatever it leaves is healed by the next command.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from provisioning.desk import Desk
from provisioning.ending import Ending
from provisioning.fleet import GONE, groups, substitutes
from provisioning.provider import (
    Cluster,
    LaunchRequest,
    Machine,
    MachineState,
    ProviderError,
    Shortage,
    Unanswered,
)
from scicore.errors import ScicumulusError, UsageError
from scicore.model.cloud import Vm, VmType
from scicore.model.cluster import ClusterRecord, Instance, Intent, Outcome, Wanted

TOKEN_PREFIX = "scicumulus-"  # by which providers tell our machines from copies of them


@dataclass(frozen=True, slots=True)
class Order:
    """A cluster as it is asked for."""

    cluster: Cluster
    fleet: str  # 8xt2.micro,1xt2.2xlarge
    vms: tuple[Vm, ...]
    lease_until: datetime
    spot: bool = False
    plan_id: int | None = None
    estimate_usd: float | None = None
    substitutes_from: Mapping[str, VmType] | None = None  # None: only what was asked for
    most_usd_per_hour: float = float("inf")  # substitutes included


class Stopped(ScicumulusError):
    exit_code = 4


class Launching:
    """`up`: all of the order, or nothing of it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._ending = Ending(desk)

    def up(self, order: Order) -> tuple[Machine, ...]:
        """The machines, all running. A launch that was cut off goes on; lost VMs are replaced."""
        name = order.cluster.name
        with self._desk.ledger.hold(name):
            record = self._begin(order)
            try:
                self._desk.provider.prepare(order.cluster, record.lease_until)
                for intent in record.unsettled:  # sent before, answer unknown
                    self._desk.ledger.ask_again(name, intent.token, self._desk.now())
                    self._launch(order, intent, again=True)
                for vm_type, ids in groups(self._missing(order)):
                    self._launch(order, self._intend(order, vm_type, ids))
                machines = self._until_running(order)
            except BaseException as error:
                self._roll_back(order, record, error)
                raise
            self._desk.ledger.complete(name)
            return machines

    def add(self, order: Order, instead_of: str = "") -> Machine:
        """The one VM of the order, for a cluster that is up; first, what is left of the VM that it
        replaces is ended. Whatever happens, the cluster's other VMs stay."""
        name, (vm,) = order.cluster.name, order.vms
        with self._desk.ledger.hold(name):
            self._require_wanted(name)
            if instead_of:
                self._ending.end_vm(name, order.cluster.owner, instead_of)
            try:
                self._launch(order, self._intend(order, vm.type, (vm.id,)))
                (machine,) = self._until_running(order)
            except BaseException:
                self._ending.end_vm(name, order.cluster.owner, vm.id)
                raise
            return machine

    # --- beginning ------------------------------------------------------------------------------

    def _begin(self, order: Order) -> ClusterRecord:
        """The ledger's record: a new one, or that of a launch that goes on."""
        name, owner = order.cluster.name, order.cluster.owner
        record = self._desk.ledger.open(name)
        if record is not None and record.wanted is Wanted.DOWN:
            self._desk.say(f"cluster {name} was to end; that is finished first")
            self._ending.end_all(name, owner)
            record = None
        if record is None:
            self._refuse_strangers(order)
            record = self._new_record(order)
            self._desk.ledger.begin(record)
            return record
        if (record.fleet, record.provider) != (order.fleet, self._desk.provider.name):
            raise UsageError(
                f"cluster {name} exists with the fleet {record.fleet} at {record.provider}; "
                f"asked for {order.fleet} at {self._desk.provider.name}",
                f"end it with `scicumulus cluster down {name}`, or choose another --name",
            )
        if record.complete:
            self._desk.provider.renew(name, owner, order.lease_until)
        else:
            self._desk.say(f"going on with the launch of {name} that was cut off")
        return record

    def _refuse_strangers(self, order: Order) -> None:
        name = order.cluster.name
        alive = [each for each in self._desk.provider.observe(name) if each.state not in GONE]
        if alive:
            raise UsageError(
                f"{self._desk.provider.name} has {len(alive)} machines of a cluster {name} "
                f"(of {alive[0].owner}) that this database knows nothing of",
                f"end it with `scicumulus cluster down {name}`, or choose another --name",
            )

    def _new_record(self, order: Order) -> ClusterRecord:
        return ClusterRecord(
            name=order.cluster.name,
            owner=order.cluster.owner,
            provider=self._desk.provider.name,
            fleet=order.fleet,
            plan_id=order.plan_id,
            lease_until=order.lease_until,
            created_at=self._desk.now(),
            estimate_usd=order.estimate_usd,
        )

    def _missing(self, order: Order) -> list[Vm]:
        """Of a cluster that was complete, what is gone; of another, what was not launched yet:
        there the ledger knows more than the provider shows."""
        name = order.cluster.name
        record = self._desk.ledger.open(name)
        there: set[str] = set()
        if record is not None and record.complete:
            seen = self._desk.provider.observe(name)
            there = {each.vm for each in seen if each.state not in GONE}
        elif record is not None:
            launched = [each for each in record.intents if each.outcome is Outcome.LAUNCHED]
            there = {vm for intent in launched for vm in intent.vms}
        return [vm for vm in order.vms if vm.id not in there]

    # --- launching ------------------------------------------------------------------------------

    def _intend(self, order: Order, vm_type: VmType, ids: tuple[str, ...]) -> Intent:
        """Written down before the provider hears of it."""
        token = f"{TOKEN_PREFIX}{secrets.token_hex(16)}"
        intent = Intent(token, vm_type, ids, order.spot, self._desk.now(), order.lease_until)
        self._desk.ledger.intend(order.cluster.name, intent)
        return intent

    def _launch(self, order: Order, intent: Intent, *, again: bool = False) -> None:
        """`again`: it was sent before, so that no refusal says that nothing was launched."""
        name, tried = order.cluster.name, {intent.vm_type.name}
        while True:
            try:
                self._settle(order, intent, self._request(order, intent))
                return
            except Shortage as shortage:
                self._desk.ledger.settle(name, intent.token, Outcome.SHORTAGE)
                other = self._substitute(order, intent, tried)
                if other is None:
                    raise
                self._desk.say(f"{shortage.message}; trying {other.name} instead")
                tried.add(other.name)
                intent = self._intend(order, other, intent.vms)
                again = False
            except Unanswered:
                raise  # whether it took effect is found out when the cluster is rolled back
            except ProviderError:
                if not again:
                    self._desk.ledger.settle(name, intent.token, Outcome.REFUSED)
                raise

    def _request(self, order: Order, intent: Intent) -> tuple[Machine, ...]:
        """An answer that got lost is asked for again: the token makes that safe."""
        request = LaunchRequest(
            intent.token,
            order.cluster,
            intent.vm_type.name,
            intent.vms,
            intent.lease_until,
            intent.spot,
        )
        silence: Unanswered | None = None
        for _ in range(self._desk.patience.asks):
            self._require_wanted(order.cluster.name)
            try:
                return self._desk.provider.launch(request)
            except Unanswered as error:
                silence = error
                self._desk.say(f"{error.message}; asking again")
                self._desk.sleep(self._desk.patience.poll_s)
                self._desk.ledger.ask_again(order.cluster.name, intent.token, self._desk.now())
            except Shortage:
                raise  # an earlier try with this token has launched nothing either
            except ProviderError as error:
                if silence is None:
                    raise
                raise Unanswered(error.message, error.hint) from error
        assert silence is not None
        raise silence

    def _require_wanted(self, name: str) -> None:
        record = self._desk.ledger.open(name)
        if record is None or record.wanted is Wanted.DOWN:
            raise Stopped(f"cluster {name} was ended by another command while it was launched")

    def _settle(self, order: Order, intent: Intent, machines: Sequence[Machine]) -> None:
        made = [Instance(each.id, each.vm, each.launched_at) for each in machines]
        self._desk.ledger.settle(order.cluster.name, intent.token, Outcome.LAUNCHED, made)
        self._desk.say(f"launched {len(made)} x {intent.vm_type.name}")

    def _substitute(self, order: Order, intent: Intent, tried: set[str]) -> VmType | None:
        """The cheapest type that can do the work without breaking the budget."""
        if order.substitutes_from is None:
            return None
        record = self._desk.ledger.open(order.cluster.name)
        others = record.intents if record else ()
        spent = sum(
            each.vm_type.price_usd_per_hour * len(each.vms)
            for each in others
            if each.token != intent.token and each.outcome in (None, Outcome.LAUNCHED)
        )
        for other in substitutes(intent.vm_type, order.substitutes_from, tried):
            if spent + other.price_usd_per_hour * len(intent.vms) <= order.most_usd_per_hour:
                return other
        return None

    # --- being up -------------------------------------------------------------------------------

    def _until_running(self, order: Order) -> tuple[Machine, ...]:
        name = order.cluster.name
        record = self._desk.ledger.open(name)
        assert record is not None
        wanted = {
            vm: intent.token
            for intent in record.intents
            if intent.outcome is Outcome.LAUNCHED
            for vm in intent.vms
            if vm in {each.id for each in order.vms}
        }  # the latest launch of each VM
        deadline = self._desk.now() + timedelta(seconds=self._desk.patience.boot_s)
        while True:
            self._require_wanted(name)
            seen = {
                each.vm: each
                for each in self._desk.provider.observe(name)
                if wanted.get(each.vm) == each.token
            }
            if lost := [vm for vm, each in seen.items() if each.state in GONE]:
                raise ProviderError(
                    f"{', '.join(sorted(lost))} ended while starting",
                    "the provider's console tells why; often the image does not fit the VM type",
                )
            up = [m for m in seen.values() if m.state is MachineState.RUNNING and m.address]
            if len(up) == len(wanted):
                return tuple(seen[vm] for vm in sorted(wanted))
            if self._desk.now() >= deadline:
                late = sorted(set(wanted) - {each.vm for each in up})
                raise ProviderError(
                    f"{', '.join(late)} not running after {self._desk.patience.boot_s:.0f} s",
                    "try again, or try another region or VM type",
                )
            self._desk.sleep(self._desk.patience.poll_s)

    def _roll_back(self, order: Order, record: ClusterRecord, error: BaseException) -> None:
        name = order.cluster.name
        if record.complete:
            self._desk.say(f"cluster {name} stays as it was; `cluster up` again replaces lost VMs")
            return
        self._desk.say(f"rolling back cluster {name}: {getattr(error, 'message', None) or error!r}")
        try:
            self._ending.end_all(name, order.cluster.owner)
        except ScicumulusError as trouble:
            self._desk.say(
                f"the roll-back did not finish: {trouble}\n  run `scicumulus cluster sweep` when "
                f"that is solved; what is left ends itself at {order.lease_until:%H:%M} UTC"
            )
