"""The smallest workflows that the core can be asked about, and the states it tells."""

from __future__ import annotations

from scicore.model.activation import ActivationState
from scicore.model.workflow import Operator, Workflow
from tests.unit.execution.building import Stage, activity, fleet, plan, relation, workflow

FINISHED, READY, RUNNING = (
    ActivationState.FINISHED,
    ActivationState.READY,
    ActivationState.RUNNING,
)

FAILED, BLOCKED, CANCELLED = (
    ActivationState.FAILED,
    ActivationState.BLOCKED,
    ActivationState.CANCELLED,
)

SOURCE = relation("source", "ID")
FIRST = activity("first", Operator.MAP, SOURCE, "ID")
SECOND = activity("second", Operator.MAP, FIRST, "ID")


def one_map(*ids: str, max_attempts: int = 1) -> Workflow:
    return workflow(SOURCE, tuple((id,) for id in ids), FIRST, max_attempts=max_attempts)


def chain(*ids: str) -> Workflow:
    return workflow(SOURCE, tuple((id,) for id in ids), FIRST, SECOND)


def on_one_vm(spec: Workflow, slots: int = 1) -> Stage:
    """A stage with one VM, on which the run has begun."""
    stage = Stage(spec, plan(fleet(slots)))
    stage.begin("vm-1")
    return stage
