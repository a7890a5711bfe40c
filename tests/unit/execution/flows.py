"""Tuples of several sites on their way through a workflow."""

from __future__ import annotations

from scicore.execution.messages import TupleGenerated
from scicore.model.activation import ActivationState
from scicore.model.workflow import Activity, Operator, Row
from tests.unit.execution.building import Stage, fleet, plan, relation, workflow

BLOCKED = ActivationState.BLOCKED
MAP, SPLIT_MAP, FILTER, REDUCE = (
    Operator.MAP,
    Operator.SPLIT_MAP,
    Operator.FILTER,
    Operator.REDUCE,
)
SOURCE = relation("source", "ID", "SITE")


def sites(*values: str) -> tuple[Row, ...]:
    """Tuples with these sites, numbered from 1."""
    return tuple((str(line), site) for line, site in enumerate(values, start=1))


def begun(rows: tuple[Row, ...], *activities: Activity, slots: int = 9) -> Stage:
    """A stage with one VM that is wide enough for everything, on which the run has begun."""
    stage = Stage(workflow(SOURCE, rows, *activities), plan(fleet(slots)))
    stage.begin("vm-1")
    return stage


def blocked(stage: Stage) -> dict[str, str]:
    """Name of each blocked activation → name of the failed one that it waits for in vain."""
    names = {fact.id: fact.name for fact in stage.created().values()}
    return {
        fact.name: names[fact.blocked_by]
        for fact in stage.created().values()
        if fact.blocked_by is not None
    }


def used_rows(stage: Stage, name: str) -> list[Row]:
    rows = {fact.id: fact.row for fact in stage.facts() if isinstance(fact, TupleGenerated)}
    return [rows[id] for id in stage.created()[name].used]
