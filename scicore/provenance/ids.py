"""What the rows of a run may refer to: the parts of its workflow, its activations and tuples."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, func, select

from scicore.model.workflow import Relation
from scicore.provenance import tables
from scicore.provenance.sheet import Refused
from scicore.provenance.store import StoredRun


class Ids:
    """Names of the workflow's parts → their ids in the database; and which ids there are."""

    def __init__(self, run: StoredRun) -> None:
        """Of a run that begins: there is nothing but its datasets, whose tuples are 1, 2, …"""
        self.run_id = run.id
        self.activity_ids = run.activity_ids
        self.relation_ids = run.relation_ids
        self.commands = {activity.tag: activity.command for activity in run.workflow.activities}
        self.relations: Mapping[str, Relation] = {
            relation.name: relation for relation in run.workflow.relations
        }
        self._activity_of = array("i")  # by activation; 0 = not known
        # By tuple; 1 = it is in the database, or on its way there.
        self._tuples = _all(sum(len(dataset.rows) for dataset in run.workflow.datasets))

    def look_up(self, connection: Connection) -> Ids:
        """The run has gone on before."""
        known = select(tables.activation.c.activation_id, tables.activation.c.activity_id)
        for row in connection.execute(known.where(tables.activation.c.run_id == self.run_id)):
            self.remember(row[0], row[1])
        self._tuples = _tuples_of(connection, self.run_id)
        return self

    def remember(self, activation: int, activity_id: int) -> None:
        missing = activation + 1 - len(self._activity_of)
        if missing > 0:
            self._activity_of.extend([0] * max(missing, len(self._activity_of) // 2))
        self._activity_of[activation] = activity_id

    def activity_of(self, activation: int) -> int:
        known = self._activity_of[activation] if activation < len(self._activity_of) else 0
        if not known:
            raise Refused(f"an attempt of activation {activation}, which is not recorded")
        return known

    def remember_tuple(self, id: int) -> None:
        missing = id + 1 - len(self._tuples)
        if missing > 0:
            self._tuples.extend(bytes(max(missing, len(self._tuples) // 2)))
        self._tuples[id] = 1

    def require_tuples(self, ids: Iterable[int]) -> None:
        tuples = self._tuples
        for id in ids:
            if id >= len(tuples) or not tuples[id]:
                raise Refused(f"rows were not stored: run {self.run_id} has no tuple {id}")


def _tuples_of(connection: Connection, run_id: int) -> bytearray:
    """Most often all of them are there, from the first to the last."""
    id, run = tables.tuple_.c.tuple_id, tables.tuple_.c.run_id == run_id
    last, count = connection.execute(select(func.max(id), func.count()).where(run)).one()
    if count == last:
        return _all(count)
    tuples = bytearray((last or 0) + 1)
    for found in connection.scalars(select(id).where(run)):
        tuples[found] = 1
    return tuples


def _all(count: int) -> bytearray:
    return bytearray(b"\x00" + b"\x01" * count)
