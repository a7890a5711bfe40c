"""How clusters end: `down` by name, `sweep` by lease. Nothing of anybody else's is touched."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from provisioning.desk import Desk
from provisioning.fleet import GONE, Judgement, judge
from provisioning.ledger import Busy
from provisioning.provider import Machine, MachineState, ProviderError
from scicore.model.cluster import ClusterRecord, Instance, Intent, Outcome


class Ending:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def down(self, name: str, owner: str) -> int:
        """End the cluster, also while it is being launched; how many machines that ended."""
        self._desk.ledger.want_down(name)  # a launch that goes on elsewhere stops at its next step
        ended = self._terminate_visible(name, owner)
        deadline = self._desk.now() + timedelta(seconds=self._desk.patience.end_s)
        while True:
            try:
                with self._desk.ledger.hold(name):
                    return len(ended | self.end_all(name, owner))
            except Busy:
                if self._desk.now() >= deadline:
                    raise
                self._desk.sleep(self._desk.patience.poll_s)

    def knows(self, name: str, owner: str) -> bool:
        """Whether the provider has anything of that cluster."""
        left = [each for each in self._desk.provider.remnants() if each.cluster == name]
        return bool(self._own(name, owner) or [each for each in left if each.owner == owner])

    def _terminate_visible(self, name: str, owner: str) -> set[str]:
        alive = [each.id for each in self._own(name, owner) if each.state not in GONE]
        if alive:
            self._desk.provider.terminate(alive)
            self._desk.ledger.instances_ended(name, alive, self._desk.now())
        return set(alive)

    def _own(self, name: str, owner: str) -> list[Machine]:
        return [each for each in self._desk.provider.observe(name) if each.owner == owner]

    def end_all(self, name: str, owner: str) -> set[str]:
        """Until nothing is left, not even what a cut-off launch may still bring to light.

        The caller holds the cluster.
        """
        self._desk.ledger.want_down(name)
        ended: set[str] = set()
        deadline = self._desk.now() + timedelta(seconds=self._desk.patience.end_s)
        while True:
            machines = self._own(name, owner)
            record = self._desk.ledger.open(name)
            unseen = self._unseen(record, machines)
            alive = [each.id for each in machines if each.state not in GONE]
            if alive or unseen:
                self._desk.provider.terminate([*alive, *unseen])
                self._desk.ledger.instances_ended(name, alive, self._desk.now())
                ended.update(alive)
            waiting = self._settle(record, machines)
            over = all(each.state is MachineState.ENDED for each in machines)
            if over and not unseen and not waiting and self._desk.provider.dismantle(name, owner):
                self._desk.ledger.end(name, self._desk.now())
                return ended
            if self._desk.now() >= deadline:
                raise ProviderError(
                    f"cluster {name} is still ending after {self._desk.patience.end_s:.0f} s",
                    "its machines cost nothing any more; run `scicumulus cluster sweep` later to "
                    "remove its key and its security group",
                )
            self._desk.sleep(self._desk.patience.poll_s)

    def _unseen(self, record: ClusterRecord | None, machines: Sequence[Machine]) -> list[str]:
        """Machines that the provider gave us so recently that it does not list them yet."""
        seen = {each.id for each in machines}
        found = []
        for intent in record.intents if record else ():
            for each in intent.instances:
                if each.id not in seen and each.ended_at is None and self._is_fresh(intent):
                    found.append(each.id)
        return found

    def _is_fresh(self, intent: Intent) -> bool:
        age = self._desk.now() - intent.intended_at
        return age < timedelta(seconds=self._desk.patience.settle_s)

    def _settle(self, record: ClusterRecord | None, machines: Sequence[Machine]) -> bool:
        """Close intents of which nobody knew what became; True while one may still appear."""
        waiting = False
        for intent in record.unsettled if record else ():
            made = [
                Instance(each.id, each.vm, each.launched_at, self._desk.now())
                for each in machines
                if each.token == intent.token
            ]
            name = record.name if record else ""
            if made:
                self._desk.ledger.settle(name, intent.token, Outcome.ROLLED_BACK, made)
            elif self._is_fresh(intent):
                waiting = True
            else:
                self._desk.ledger.settle(name, intent.token, Outcome.NEVER_SEEN)
        return waiting

    def end_vm(self, name: str, owner: str, vm: str) -> None:
        """One VM of a cluster that goes on. The caller holds the cluster."""
        machines = [each for each in self._own(name, owner) if each.vm == vm]
        known = _ids_of(self._desk.ledger.open(name), vm)
        gone = {each.id for each in machines if each.state in GONE}
        ids = sorted({*known, *(each.id for each in machines)})
        self._desk.provider.terminate([each for each in ids if each not in gone])
        self._desk.ledger.instances_ended(name, ids, self._desk.now())  # it costs nothing any more

    # --- sweeping -------------------------------------------------------------------------------

    def sweep(self, owner: str, *, dry_run: bool = False) -> Judgement:
        """End what outlived its lease or its launch; what was found, ended and kept, and why."""
        judgement = self._judge(owner)
        if dry_run:
            return judgement
        kept = {each.machine.cluster for each in judgement.verdicts if not each.end}
        names = dict.fromkeys(
            (
                *(each.cluster for each in judgement.doomed),
                *judgement.dismantle,
                *judgement.close,
            )
        )
        for name in names:
            try:
                with self._desk.ledger.hold(name):
                    if name in kept:
                        self._end_some(name, owner)
                    elif self._is_still_doomed(name, owner):
                        self.end_all(name, owner)
            except Busy as busy:
                self._desk.say(f"{busy.message}; left alone")
        return judgement

    def _judge(self, owner: str, name: str | None = None) -> Judgement:
        records = self._desk.ledger.all_open()
        machines = self._desk.provider.observe(name)
        remnants = self._desk.provider.remnants()
        names = {record.name for record in records} if name is None else set()
        return judge(
            machines,
            [each for each in remnants if name in (None, each.cluster)],
            [each for each in records if name in (None, each.name)],
            {each for each in names if self._is_busy(each)},
            owner,
            self._desk.now(),
        )

    def _is_busy(self, name: str) -> bool:
        try:
            with self._desk.ledger.hold(name):
                return False
        except Busy:
            return True

    def _is_still_doomed(self, name: str, owner: str) -> bool:
        """Now that nobody else can change it."""
        again = self._judge(owner, name)
        mine = [each for each in again.verdicts if each.machine.owner == owner]
        return all(each.end for each in mine) and bool(
            again.doomed or again.dismantle or again.close
        )

    def _end_some(self, name: str, owner: str) -> None:
        """A cluster of which other machines still have their lease."""
        doomed = [each.id for each in self._judge(owner, name).doomed]
        if doomed:
            self._desk.provider.terminate(doomed)
            self._desk.ledger.instances_ended(name, doomed, self._desk.now())


def _ids_of(record: ClusterRecord | None, vm: str) -> set[str]:
    intents = record.intents if record else ()
    return {each.id for intent in intents for each in intent.instances if each.vm == vm}
