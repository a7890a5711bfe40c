"""A run as the database knows it, for a master that takes it up again."""

from __future__ import annotations

from collections import defaultdict

import msgspec
from sqlalchemy import Connection, exists, func, select, text

from scicore.execution.causes import RETRY
from scicore.execution.messages import Condition, Known, RunResumed
from scicore.model.activation import ActivationState, Cause, Path, RunState
from scicore.model.workflow import Row
from scicore.provenance import tables
from scicore.provenance.store import StoredRun

_COUNTING = tuple(cause for cause, rule in RETRY.items() if rule.counts)
_decode = msgspec.json.Decoder(dict[str, str]).decode


def load_books(connection: Connection, run: StoredRun, at: float) -> RunResumed:
    tuples, rows = _tuples(connection, run)
    failures = _failures(connection, run.id)
    live = _live(connection, run.id)
    activation = tables.activation.c
    found = connection.execution_options(stream_results=True).execute(
        select(
            activation.activation_id,
            activation.name,
            activation.state,
            activation.vm,
            activation.attempts,
        )
        .where(activation.run_id == run.id)
        .order_by(activation.activation_id)
    )
    known = tuple(
        Known(
            id,
            name,
            ActivationState(state),
            vm,
            attempts,
            tuple(live.get(id, ())),
            failures.get(id, 0),
            tuple(rows.get(id, ())),
        )
        for id, name, state, vm, attempts in found
    )
    paused = run.state is RunState.PAUSED
    return RunResumed(at, known, tuple(tuples), _cancelled(connection, run.id), paused)


def _tuples(
    connection: Connection, run: StoredRun
) -> tuple[list[tuple[str, Path, int]], dict[int, list[Row]]]:
    """Every tuple's id, and what each activation produced, in the order in which it did."""
    relations = {relation.name: relation for relation in run.workflow.relations}
    names = {id: name for name, id in run.relation_ids.items()}
    fields = {name: relation.field_names for name, relation in relations.items()}
    rows: defaultdict[int, list[Row]] = defaultdict(list)
    tuples: list[tuple[str, Path, int]] = []
    found = connection.execution_options(stream_results=True).execute(
        text(
            """
            SELECT tuple_id, relation_id, path, CAST("values" AS text), generated_by
            FROM tuple WHERE run_id = :run ORDER BY tuple_id
            """
        ),
        {"run": run.id},
    )
    for id, relation_id, path, values, maker in found:
        relation = names[relation_id]
        tuples.append((relation, tuple(map(int, path.split("."))), id))
        if maker is not None:
            decoded = _decode(values)
            rows[maker].append(tuple(decoded[field] for field in fields[relation]))
    return tuples, rows


def _failures(connection: Connection, run_id: int) -> dict[int, int]:
    """But for sized attempts that lacked memory: their retries get more."""
    attempt, given = tables.attempt.c, tables.allocation.c
    sized = exists().where(
        attempt.cause == Cause.OUT_OF_MEMORY,
        given.run_id == attempt.run_id,
        given.activation_id == attempt.activation_id,
        given.number == attempt.number,
        given.memory_mb.is_not(None),
    )
    counted = (
        select(attempt.activation_id, func.count())
        .where(attempt.run_id == run_id, attempt.cause.in_(_COUNTING), ~sized)
        .group_by(attempt.activation_id)
    )
    return {row[0]: row[1] for row in connection.execute(counted)}


def _live(connection: Connection, run_id: int) -> dict[int, list[int]]:
    """Attempts whose end is not recorded."""
    attempt = tables.attempt.c
    numbers: defaultdict[int, list[int]] = defaultdict(list)
    for id, number in connection.execute(
        select(attempt.activation_id, attempt.number)
        .where(attempt.run_id == run_id, attempt.ended_at.is_(None))
        .order_by(attempt.activation_id, attempt.number)
    ):
        numbers[id].append(number)
    return numbers


def _cancelled(
    connection: Connection, run_id: int
) -> tuple[tuple[str, tuple[Condition, ...]], ...]:
    """Standing wishes: what they cover must not come back."""
    steering = tables.steering.c
    wishes = connection.execute(
        select(steering.activity, steering.conditions)
        .where(
            steering.run_id == run_id,
            steering.action == "cancel",
            steering.handled_at.is_not(None),
        )
        .order_by(steering.number)
    )
    return tuple(
        (activity or "", msgspec.convert(conditions, tuple[Condition, ...]))
        for activity, conditions in wishes
        if activity or conditions
    )
