"""The activations that one depends on, and those that depend on it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlalchemy import Connection, text

from scicore.model.cloud import Fleet
from scicore.provenance.grounds import load_problem

MOST_RELATIVES = 1000  # a REDUCE may have a hundred thousand


@dataclass(frozen=True, slots=True)
class Relative:
    """An activation that it depends on, or that depends on it."""

    activation_id: int
    name: str
    state: str
    ended_at: datetime | None


_RELATIVE = "activation.activation_id, activation.name, activation.state, activation.ended_at"
BY_NUMBER = f"SELECT {_RELATIVE} FROM activation WHERE run_id = :run AND activation_id = :id"
BY_NAMES = f"SELECT {_RELATIVE} FROM activation WHERE run_id = :run AND name = ANY(:names)"
PARENTS = f"""
    SELECT DISTINCT {_RELATIVE}
    FROM used
    JOIN tuple USING (run_id, tuple_id)
    JOIN activation ON activation.run_id = tuple.run_id
                   AND activation.activation_id = tuple.generated_by
    WHERE used.run_id = :run AND used.activation_id = :id
    ORDER BY activation.ended_at DESC NULLS FIRST, activation.activation_id
    LIMIT {MOST_RELATIVES}
"""
CHILDREN = f"""
    SELECT DISTINCT {_RELATIVE}
    FROM tuple
    JOIN used USING (run_id, tuple_id)
    JOIN activation ON activation.run_id = used.run_id
                   AND activation.activation_id = used.activation_id
    WHERE tuple.run_id = :run AND tuple.generated_by = :id
    ORDER BY activation.activation_id
    LIMIT {MOST_RELATIVES}
"""


def relatives(connection: Connection, sql: str, **values: object) -> tuple[Relative, ...]:
    return tuple(Relative(*row) for row in connection.execute(text(sql), values))


def planned_parents(
    connection: Connection, run_id: int, plan_id: int, name: str
) -> tuple[Relative, ...]:
    """Whom the plan expects it to wait for; `expected` is what does not exist yet."""
    fleet = connection.execute(
        text("SELECT fleet, fleet_vms FROM plan WHERE plan_id = :plan"), {"plan": plan_id}
    ).one()
    problem = load_problem(
        connection, plan_id, msgspec.convert({"text": fleet[0], "vms": fleet[1]}, Fleet)
    )
    if problem is None or name not in problem.activations:
        return ()
    own = problem.activations.index(name)
    names = [problem.activations[parent] for parent, child in problem.edges if child == own]
    known = {
        each.name: each
        for each in relatives(connection, BY_NAMES, run=run_id, names=names[:MOST_RELATIVES])
    }
    return tuple(
        known.get(each, Relative(0, each, "expected", None)) for each in names[:MOST_RELATIVES]
    )
