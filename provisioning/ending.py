"""How clusters end: `down` by name, `sweep` by lease. Nothing of anybody else's is touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from provisioning.fleet import GONE, Judgement, judge
from provisioning.ledger import Busy, Ledger
from provisioning.provider import Machine, MachineState, Provider, ProviderError
from scicore.model.cluster import ClusterRecord, Instance, Intent, Outcome


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a provider."""

    poll_s: float = 3.0
    settle_s: float = 300.0  # after a call, until what it made can surely be seen
    boot_s: float = 600.0
    end_s: float = 900.0
    asks: int = 3  # how often a launch is sent when no answer comes


class Ending:
    def __init__(
        self,
        provider: Provider,
        ledger: Ledger,
        now: Callable[[], datetime],
        sleep: Callable[[float], None],
        say: Callable[[str], None],
        patience: Patience | None = None,
    ) -> None:
        self._provider = provider
        self._ledger = ledger
        self._now = now
        self._sleep = sleep
        self._say = say
        self._patience = patience or Patience()

    def down(self, name: str, owner: str) -> int:
        """End the cluster, also while it is being launched; how many machines that ended."""
        self._ledger.want_down(name)  # a launch that goes on elsewhere stops at its next step
        ended = self._terminate_visible(name, owner)
        deadline = self._now() + timedelta(seconds=self._patience.end_s)
        while True:
            try:
                with self._ledger.hold(name):
                    return len(ended | self.end_all(name, owner))
            except Busy:
                if self._now() >= deadline:
                    raise
                self._sleep(self._patience.poll_s)

    def _terminate_visible(self, name: str, owner: str) -> set[str]:
        alive = [each.id for each in self._own(name, owner) if each.state not in GONE]
        if alive:
            self._provider.terminate(alive)
            self._ledger.instances_ended(name, alive, self._now())
        return set(alive)

    def _own(self, name: str, owner: str) -> list[Machine]:
        return [each for each in self._provider.observe(name) if each.owner == owner]

    def end_all(self, name: str, owner: str) -> set[str]:
        """Until nothing is left, not even what a cut-off launch may still bring to light.

        The caller holds the cluster.
        """
        self._ledger.want_down(name)
        ended: set[str] = set()
        deadline = self._now() + timedelta(seconds=self._patience.end_s)
        while True:
            machines = self._own(name, owner)
            record = self._ledger.open(name)
            unseen = self._unseen(record, machines)
            alive = [each.id for each in machines if each.state not in GONE]
            if alive or unseen:
                self._provider.terminate([*alive, *unseen])
                self._ledger.instances_ended(name, alive, self._now())
                ended.update(alive)
            waiting = self._settle(record, machines)
            over = all(each.state is MachineState.ENDED for each in machines)
            if over and not unseen and not waiting and self._provider.dismantle(name, owner):
                self._ledger.end(name, self._now())
                return ended
            if self._now() >= deadline:
                raise ProviderError(
                    f"cluster {name} is still ending after {self._patience.end_s:.0f} s",
                    "its machines cost nothing any more; run `scicumulus cluster sweep` later to "
                    "remove its key and its security group",
                )
            self._sleep(self._patience.poll_s)

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
        age = self._now() - intent.intended_at
        return age < timedelta(seconds=self._patience.settle_s)

    def _settle(self, record: ClusterRecord | None, machines: Sequence[Machine]) -> bool:
        """Close intents of which nobody knew what became; True while one may still appear."""
        waiting = False
        for intent in record.unsettled if record else ():
            made = [
                Instance(each.id, each.vm, each.launched_at, self._now())
                for each in machines
                if each.token == intent.token
            ]
            name = record.name if record else ""
            if made:
                self._ledger.settle(name, intent.token, Outcome.ROLLED_BACK, made)
            elif self._is_fresh(intent):
                waiting = True
            else:
                self._ledger.settle(name, intent.token, Outcome.NEVER_SEEN)
        return waiting

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
                with self._ledger.hold(name):
                    if name in kept:
                        self._end_some(name, owner)
                    elif self._is_still_doomed(name, owner):
                        self.end_all(name, owner)
            except Busy as busy:
                self._say(f"{busy.message}; left alone")
        return judgement

    def _judge(self, owner: str, name: str | None = None) -> Judgement:
        records = self._ledger.all_open()
        machines = self._provider.observe(name)
        remnants = self._provider.remnants()
        names = {record.name for record in records} if name is None else set()
        return judge(
            machines,
            [each for each in remnants if name in (None, each.cluster)],
            [each for each in records if name in (None, each.name)],
            {each for each in names if self._is_busy(each)},
            owner,
            self._now(),
        )

    def _is_busy(self, name: str) -> bool:
        try:
            with self._ledger.hold(name):
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
            self._provider.terminate(doomed)
            self._ledger.instances_ended(name, doomed, self._now())
