"""What becomes of activations within a batch of facts: one row each, however often they move."""

from __future__ import annotations

from itertools import chain

from msgspec import Struct
from sqlalchemy import Connection

from scicore.execution.messages import ActivationCreated, ActivationMoved, AttemptStarted
from scicore.model.activation import ActivationState, activation_key
from scicore.provenance import tables
from scicore.provenance.bulk import (
    NULL,
    Lines,
    array,
    element,
    moment,
    named,
    number,
    or_null,
    shared_stamp,
    update_from,
)
from scicore.provenance.ids import Ids

_OVER = frozenset(
    {
        ActivationState.FINISHED,
        ActivationState.FAILED,
        ActivationState.BLOCKED,
        ActivationState.CANCELLED,
    }
)
_RUNNING = ActivationState.RUNNING

_COLUMNS = (
    *("run_id", "activation_id", "activity_id", "name", "key", "state", "vm", "planned"),
    *("blocked_by", "created_at", "ended_at", "attempts", "position", "planned_vm"),
    "moved_because",
)
_CHANGED = (
    *(("run", "int"), ("id", "int")),
    *(("state", "text"), ("placed", "bool"), ("vm", "text"), ("judged", "bool")),
    *(("ended_at", "timestamptz"), ("attempts", "int"), ("blocked_by", "int")),
    ("moved_because", "text"),
)
_CHANGE = """
    state = new.state,
    vm = CASE WHEN new.placed THEN new.vm ELSE old.vm END,
    ended_at = CASE WHEN new.judged THEN new.ended_at ELSE old.ended_at END,
    attempts = coalesce(new.attempts, old.attempts),
    blocked_by = coalesce(new.blocked_by, old.blocked_by),
    moved_because = coalesce(new.moved_because, old.moved_because)
"""
# The run's id, too, comes from the arrays: a constant would let PostgreSQL begin with all rows of
# the run, of which its statistics know nothing yet.
SAME = "old.run_id = new.run AND old.activation_id = new.id"


class _Life(Struct, gc=False):
    """What has become of an activation within the batch."""

    created: ActivationCreated | None = None  # None: it was there before
    state: str = ""
    placed: bool = False  # `vm` is said
    vm: str | None = None
    judged: bool = False  # `ended_at` is said
    ended_at: float | None = None
    attempts: int | None = None  # None, as below: not said
    blocked_by: int | None = None
    moved_because: str | None = None


class ActivationRows:
    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._run_id = ids.run_id
        self._lives: dict[int, _Life] = {}
        self._whole: list[str] = []  # lines of those that appeared and finished in this batch

    def create(self, fact: ActivationCreated) -> None:
        self._ids.remember(fact.id, self._ids.activity_ids[fact.activity])
        self._lives[fact.id] = _Life(
            fact,
            fact.state,
            vm=fact.vm,
            ended_at=fact.at if fact.state in _OVER else None,
            blocked_by=fact.blocked_by,
            moved_because=fact.moved_because,
        )

    def _life(self, activation: int) -> _Life:
        life = self._lives.get(activation)
        if life is None:
            life = self._lives[activation] = _Life()
        return life

    def move(self, fact: ActivationMoved) -> None:
        life = self._life(fact.id)
        life.state = fact.state
        life.placed, life.vm = True, fact.vm
        life.judged, life.ended_at = True, fact.at if fact.state in _OVER else None
        if fact.blocked_by is not None:
            life.blocked_by = fact.blocked_by
        if fact.moved_because is not None:
            life.moved_because = fact.moved_because
        if fact.state is ActivationState.FINISHED and life.created is not None:
            self._whole.append(self._line(life))
            del self._lives[fact.id]

    def start(self, fact: AttemptStarted) -> None:
        """One of its attempts."""
        life = self._life(fact.activation)
        life.state, life.attempts = _RUNNING, fact.number
        if not fact.redundant:  # beside a double it stays where it is until one of them wins
            life.placed, life.vm = True, fact.vm

    def new(self) -> Lines:
        created = (life for life in self._lives.values() if life.created is not None)
        return Lines(tables.activation, _COLUMNS, chain(self._whole, map(self._line, created)))

    def _line(self, life: _Life) -> str:
        fact = life.created
        assert fact is not None
        ended_at = NULL if life.ended_at is None else shared_stamp(life.ended_at)
        key = activation_key(fact.activity, self._ids.commands[fact.activity], fact.rows)
        return (
            f"{self._run_id}\t{fact.id}\t{self._ids.activity_ids[fact.activity]}\t{fact.name}\t"
            f"{key}\t{life.state}\t{named(life.vm)}\t{'t' if fact.planned else 'f'}\t"
            f"{or_null(life.blocked_by)}\t{shared_stamp(fact.at)}\t{ended_at}\t"
            f"{life.attempts or 0}\t{or_null(fact.position)}\t{named(fact.planned_vm)}\t"
            f"{life.moved_because}\n"
        )

    def change(self, connection: Connection) -> None:
        """Those that were there before."""
        changed = [(id, life) for id, life in self._lives.items() if life.created is None]
        if not changed:
            return
        lives = [life for _, life in changed]
        update_from(
            connection,
            tables.activation,
            _CHANGE,
            _CHANGED,
            (
                array([str(self._run_id)] * len(changed)),
                array([str(id) for id, _ in changed]),
                array([life.state for life in lives]),
                array(["t" if life.placed else "f" for life in lives]),
                array([element(life.vm) for life in lives]),
                array(["t" if life.judged else "f" for life in lives]),
                array([moment(life.ended_at) for life in lives]),
                array([number(life.attempts) for life in lives]),
                array([number(life.blocked_by) for life in lives]),
                array([element(life.moved_because) for life in lives]),
            ),
            SAME,
            len(changed),
        )
