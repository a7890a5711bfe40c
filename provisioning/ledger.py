"""Where intents are written before a provider is called; and a ledger that forgets.

The real one is in PostgreSQL (`scicore.provenance.clusters`). The one in memory serves tests, and
`down`, `ls` and `sweep` when the database is lost: tags alone must do then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from scicore.errors import ScicumulusError
from scicore.model.cluster import ClusterRecord, Instance, Intent, Outcome, Wanted


class Busy(ScicumulusError):
    """Another command is at work on the cluster."""

    def __init__(self, cluster: str) -> None:
        super().__init__(
            f"another command is at work on cluster {cluster}",
            "wait for it, or end the cluster with `scicumulus cluster down`",
        )


class Ledger(Protocol):
    """Every method is one transaction; what it returned from is on disk."""

    def hold(self, cluster: str) -> AbstractContextManager[None]:
        """Nobody else changes the cluster meanwhile, or Busy; ends with the process, too."""

    def open(self, cluster: str) -> ClusterRecord | None:
        """The cluster of that name that has not ended."""

    def all_open(self) -> tuple[ClusterRecord, ...]: ...

    def begin(self, record: ClusterRecord) -> None:
        """A new cluster; nothing is launched yet."""

    def intend(self, cluster: str, intent: Intent) -> None:
        """VMs that are about to be asked for."""

    def ask_again(self, cluster: str, token: str, at: datetime) -> None:
        """An intent that is sent once more: what it makes may appear later, too."""

    def settle(
        self, cluster: str, token: str, outcome: Outcome, instances: Sequence[Instance] = ()
    ) -> None:
        """What became of an intent."""

    def complete(self, cluster: str) -> None: ...

    def want_down(self, cluster: str) -> None:
        """Whoever is at work on it is to stop; unknown clusters are no error."""

    def instances_ended(self, cluster: str, ids: Sequence[str], at: datetime) -> None: ...

    def end(self, cluster: str, at: datetime) -> None:
        """Nothing of it is left."""


class MemoryLedger:
    def __init__(self) -> None:
        self._open: dict[str, ClusterRecord] = {}
        self._held: set[str] = set()
        self.ended: list[ClusterRecord] = []

    @contextmanager
    def hold(self, cluster: str) -> Iterator[None]:
        if cluster in self._held:
            raise Busy(cluster)
        self._held.add(cluster)
        try:
            yield
        finally:
            self._held.remove(cluster)

    def open(self, cluster: str) -> ClusterRecord | None:
        return self._open.get(cluster)

    def all_open(self) -> tuple[ClusterRecord, ...]:
        return tuple(self._open[name] for name in sorted(self._open))

    def begin(self, record: ClusterRecord) -> None:
        assert record.name not in self._open, f"cluster {record.name} is open already"
        self._open[record.name] = record

    def intend(self, cluster: str, intent: Intent) -> None:
        record = self._open[cluster]
        assert intent.token not in record.tokens, f"token {intent.token} is used already"
        self._open[cluster] = replace(record, intents=(*record.intents, intent))

    def ask_again(self, cluster: str, token: str, at: datetime) -> None:
        record = self._open[cluster]
        assert token in record.tokens, f"token {token} was never intended"
        self._open[cluster] = replace(
            record,
            intents=tuple(
                replace(intent, intended_at=at) if intent.token == token else intent
                for intent in record.intents
            ),
        )

    def settle(
        self, cluster: str, token: str, outcome: Outcome, instances: Sequence[Instance] = ()
    ) -> None:
        record = self._open[cluster]
        assert token in record.tokens, f"token {token} was never intended"
        self._open[cluster] = replace(
            record,
            intents=tuple(
                replace(intent, outcome=outcome, instances=tuple(instances) or intent.instances)
                if intent.token == token
                else intent
                for intent in record.intents
            ),
        )

    def complete(self, cluster: str) -> None:
        self._open[cluster] = replace(self._open[cluster], complete=True)

    def want_down(self, cluster: str) -> None:
        if cluster in self._open:
            self._open[cluster] = replace(self._open[cluster], wanted=Wanted.DOWN)

    def instances_ended(self, cluster: str, ids: Sequence[str], at: datetime) -> None:
        if cluster not in self._open:
            return
        record = self._open[cluster]
        self._open[cluster] = replace(
            record,
            intents=tuple(
                replace(
                    intent,
                    instances=tuple(
                        replace(each, ended_at=each.ended_at or at) if each.id in ids else each
                        for each in intent.instances
                    ),
                )
                for intent in record.intents
            ),
        )

    def end(self, cluster: str, at: datetime) -> None:
        if cluster in self._open:
            self.ended.append(self._open.pop(cluster))
