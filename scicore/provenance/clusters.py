"""The ledger of rented clusters in PostgreSQL: what `provisioning.ledger` asks for.

A cluster is held by a lock of a database session, which vanishes with its process.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Connection, Engine, RowMapping, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from scicore.errors import UsageError
from scicore.model.cloud import VmType
from scicore.model.cluster import ClusterRecord, Instance, Intent, Outcome, Wanted
from scicore.provenance import locks, tables

_LOCK = 0x5C1C_0003  # with a digest of the cluster's name: who is at work on it


class ClusterLedger:
    def __init__(self, engine: Engine, busy: type[Exception]) -> None:
        """`busy` is raised, with the cluster's name, when another process holds it."""
        self._engine = engine
        self._busy = busy

    @contextmanager
    def hold(self, cluster: str) -> Iterator[None]:
        """Not one of the pool's connections: its end is the end of the lock."""
        with self._engine.connect() as connection:
            connection.detach()
            if not locks.take(connection, _LOCK, _number_of(cluster)):
                raise self._busy(cluster)
            yield

    # --- reading --------------------------------------------------------------------------------

    def open(self, cluster: str) -> ClusterRecord | None:
        found = self._records(tables.cluster.c.name == cluster, tables.cluster.c.ended_at.is_(None))
        return found[0] if found else None

    def all_open(self) -> tuple[ClusterRecord, ...]:
        return self._records(tables.cluster.c.ended_at.is_(None))

    def latest(self, cluster: str) -> ClusterRecord | None:
        """Also one that has ended: for its bill."""
        found = self._records(tables.cluster.c.name == cluster)
        return found[-1] if found else None

    def _records(self, *conditions: Any) -> tuple[ClusterRecord, ...]:
        cluster = tables.cluster.c
        with self._engine.connect() as connection:
            rows = connection.execute(
                select(tables.cluster).where(*conditions).order_by(cluster.cluster_id)
            )
            return tuple(self._record(connection, row) for row in rows.mappings())

    def _record(self, connection: Connection, row: RowMapping) -> ClusterRecord:
        intent = tables.intent.c
        intents = connection.execute(
            select(tables.intent)
            .where(intent.cluster_id == row["cluster_id"])
            .order_by(intent.intended_at)
        ).mappings()
        fields = {
            name: row[name]
            for name in ClusterRecord.__dataclass_fields__
            if name not in ("intents", "wanted")
        }
        return ClusterRecord(
            **fields,
            wanted=Wanted(row["wanted"]),
            intents=tuple(self._intent(connection, each) for each in intents),
        )

    def _intent(self, connection: Connection, row: RowMapping) -> Intent:
        instance = tables.instance.c
        rows = connection.execute(
            select(instance.instance, instance.vm, instance.launched_at, instance.ended_at)
            .where(instance.token == row["token"])
            .order_by(instance.vm)
        )
        return Intent(
            token=row["token"],
            vm_type=msgspec.convert(row["vm_type"], VmType),
            vms=tuple(row["vms"]),
            spot=row["spot"],
            intended_at=row["intended_at"],
            lease_until=row["lease_until"],
            outcome=None if row["outcome"] is None else Outcome(row["outcome"]),
            instances=tuple(Instance(*each) for each in rows),
        )

    # --- writing --------------------------------------------------------------------------------

    def begin(self, record: ClusterRecord) -> None:
        values = {
            name: getattr(record, name)
            for name in ClusterRecord.__dataclass_fields__
            if name != "intents"
        }
        with self._engine.begin() as connection:
            connection.execute(insert(tables.cluster).values(**values))

    def intend(self, cluster: str, intent: Intent) -> None:
        with self._engine.begin() as connection:
            connection.execute(
                insert(tables.intent).values(
                    token=intent.token,
                    cluster_id=_open_id(connection, cluster),
                    vm_type=msgspec.to_builtins(intent.vm_type),
                    vms=list(intent.vms),
                    spot=intent.spot,
                    lease_until=intent.lease_until,
                    intended_at=intent.intended_at,
                )
            )

    def ask_again(self, cluster: str, token: str, at: datetime) -> None:
        with self._engine.begin() as connection:
            connection.execute(
                update(tables.intent).where(tables.intent.c.token == token).values(intended_at=at)
            )

    def settle(
        self, cluster: str, token: str, outcome: Outcome, instances: Sequence[Instance] = ()
    ) -> None:
        with self._engine.begin() as connection:
            connection.execute(
                update(tables.intent).where(tables.intent.c.token == token).values(outcome=outcome)
            )
            for each in instances:
                row = {
                    "instance": each.id,
                    "launched_at": each.launched_at,
                    "ended_at": each.ended_at,
                }
                connection.execute(
                    upsert(tables.instance)
                    .values(token=token, vm=each.vm, **row)
                    .on_conflict_do_update(index_elements=["token", "vm"], set_=row)
                )

    def complete(self, cluster: str) -> None:
        self._update(cluster, complete=True)

    def want_down(self, cluster: str) -> None:
        self._update(cluster, wanted=Wanted.DOWN)

    def end(self, cluster: str, at: datetime) -> None:
        self._update(cluster, ended_at=at)

    def _update(self, cluster: str, **values: object) -> None:
        columns = tables.cluster.c
        with self._engine.begin() as connection:
            connection.execute(
                update(tables.cluster)
                .where(columns.name == cluster, columns.ended_at.is_(None))
                .values(**values)
            )

    def instances_ended(self, cluster: str, ids: Sequence[str], at: datetime) -> None:
        instance, intent, owner = tables.instance.c, tables.intent.c, tables.cluster.c
        of_cluster = (
            select(intent.token)
            .join(tables.cluster, owner.cluster_id == intent.cluster_id)
            .where(owner.name == cluster, owner.ended_at.is_(None))
        )
        with self._engine.begin() as connection:
            connection.execute(
                update(tables.instance)
                .where(
                    instance.instance.in_(list(ids)),
                    instance.ended_at.is_(None),
                    instance.token.in_(of_cluster),
                )
                .values(ended_at=at)
            )


def _open_id(connection: Connection, cluster: str) -> int:
    columns = tables.cluster.c
    found = connection.scalar(
        select(columns.cluster_id).where(columns.name == cluster, columns.ended_at.is_(None))
    )
    if found is None:
        raise UsageError(f"no cluster {cluster} is open in this database")
    return int(found)


def _number_of(name: str) -> int:
    """For a lock, which needs 32 bits with a sign; two names that share one only wait."""
    return zlib.crc32(name.encode()) - 2**31
