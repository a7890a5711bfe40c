"""The tables, for statements. The schema itself is `sql/migrations`; a test holds both equal."""

from __future__ import annotations

from scicore.provenance.tables.cloud import (
    cluster,
    instance,
    intent,
)
from scicore.provenance.tables.columns import metadata
from scicore.provenance.tables.conceptual import (
    activity,
    activity_reads,
    field,
    relation,
    workflow,
)
from scicore.provenance.tables.planning import (
    assignment,
    estimate,
    experience,
    plan,
    policy,
    problem,
)
from scicore.provenance.tables.running import (
    activation,
    allocation,
    attempt,
    file,
    program,
    run,
    steering,
    transfer,
    tuple_,
    used,
    vm,
)

__all__ = [
    "activation",
    "activity",
    "activity_reads",
    "allocation",
    "assignment",
    "attempt",
    "cluster",
    "estimate",
    "experience",
    "field",
    "file",
    "instance",
    "intent",
    "metadata",
    "plan",
    "policy",
    "problem",
    "program",
    "relation",
    "run",
    "steering",
    "transfer",
    "tuple_",
    "used",
    "vm",
    "workflow",
]
