"""Everything that provenance knows of one run, as frozen rows. No I/O: `source` fills them.

A row's fields are also the columns of its CSV and Parquet table, in this order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from scicore.model.activation import ActivationState, RunState
from scicore.model.cloud import Fleet, VmType
from scicore.model.workflow import Relation, Workflow


@dataclass(frozen=True, slots=True)
class RunRow:
    run_id: int
    workflow: str  # tag
    workflow_digest: str
    plan_id: int
    state: str
    execution_tag: str
    directory: str  # the workspaces' root
    user_name: str
    host: str  # where it was started
    version: str  # of SciCumulus-RL
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class PlanRow:
    plan_id: int
    algorithm: str
    parameters: str  # a JSON object
    seed: int
    fleet: str
    makespan_s: float  # predicted, as all figures of a plan
    cost_usd: float
    lower_bound_s: float
    planning_s: float
    created_at: datetime


@dataclass(frozen=True, slots=True)
class AssignmentRow:
    position: int  # order of execution
    activation: str  # name
    activity: str
    vm: str
    start_s: float  # predicted, from the start of the run
    finish_s: float


@dataclass(frozen=True, slots=True)
class ActivityRow:
    position: int
    activity: str  # tag
    operator: str
    command: str
    extractor: str
    operand: str  # fields, separated by commas
    inputs: str  # relations, separated by commas
    output: str
    template: str
    cpus: str  # a number, or a tag that gives one per activation; so the next two
    memory_mb: str  # 0 = not said
    runtime_s: str  # expected; empty = not said
    timeout_s: float  # 0 = none
    description: str


@dataclass(frozen=True, slots=True)
class FieldRow:
    relation: str
    position: int
    name: str
    type: str
    decimal_places: int | None


@dataclass(frozen=True, slots=True)
class VmRow:
    vm: str
    vm_type: str
    slots: int
    price_usd_per_hour: float
    state: str
    host: str
    joined_at: datetime | None
    left_at: datetime | None


@dataclass(frozen=True, slots=True)
class ActivationRow:
    activation_id: int
    activity: str
    name: str
    key: str  # the same activity on the same values has it in every run
    state: str
    vm: str | None
    planned: bool
    blocked_by: int | None
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class AttemptRow:
    activation_id: int
    number: int  # 1 = first try
    vm: str
    started_at: datetime
    ended_at: datetime | None
    cause: str | None
    exit_code: int | None
    command: str | None
    workspace: str | None
    stderr_tail: str | None
    cpu_s: float | None
    peak_rss_bytes: int | None
    read_bytes: int | None
    written_bytes: int | None

    @property
    def runtime_s(self) -> float | None:
        if self.ended_at is None:
            return None
        return max(0.0, (self.ended_at - self.started_at).total_seconds())


@dataclass(frozen=True, slots=True)
class TupleRow:
    tuple_id: int
    relation: str
    path: str
    values: Mapping[str, str]  # by field name, exactly as they were written
    generated_by: int | None  # activation; None = it came from a dataset


@dataclass(frozen=True, slots=True)
class UsedRow:
    activation_id: int
    tuple_id: int


@dataclass(frozen=True, slots=True)
class FileRow:
    tuple_id: int
    field: str
    path: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class SteeringRow:
    """What a user asked of the run while it went on."""

    number: int
    action: str
    activity: str | None  # None = the whole run
    conditions: str  # a JSON list
    requested_by: str
    requested_at: datetime
    handled_at: datetime | None
    outcome: str | None


@dataclass(frozen=True, slots=True)
class Head:
    """What stays small however large the run is."""

    taken_at: datetime
    run: RunRow
    workflow: Workflow  # without its datasets' rows
    source: str  # the specification as the user wrote it
    plan: PlanRow
    plan_fleet: Fleet
    vms: tuple[VmRow, ...]
    steering: tuple[SteeringRow, ...]

    @property
    def going_on(self) -> bool:
        return self.run.state in (RunState.PREPARED, RunState.RUNNING, RunState.PAUSED)

    @property
    def makespan_s(self) -> float | None:
        """So far, while it is going on."""
        if self.run.started_at is None:
            return None
        return ((self.run.ended_at or self.taken_at) - self.run.started_at).total_seconds()

    @property
    def vm_types(self) -> dict[str, VmType]:
        """By VM, as they were when the plan was made."""
        return {vm.id: vm.type for vm in self.plan_fleet.vms}

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return tuple(dataset.relation for dataset in self.workflow.datasets)

    @property
    def outputs(self) -> tuple[Relation, ...]:
        """Relations that no activity consumes."""
        consumed = {
            source.relation.name
            for activity in self.workflow.activities
            for source in activity.sources
        }
        return tuple(
            activity.output
            for activity in self.workflow.activities
            if activity.output.name not in consumed and activity.output.fields
        )


class Records(Protocol):
    """A run to be read: streamed from the database, or held as a `Snapshot`."""

    @property
    def head(self) -> Head: ...
    @property
    def assignments(self) -> Iterable[AssignmentRow]: ...
    @property
    def activations(self) -> Iterable[ActivationRow]: ...
    @property
    def attempts(self) -> Iterable[AttemptRow]: ...
    @property
    def used(self) -> Iterable[UsedRow]: ...
    @property
    def files(self) -> Iterable[FileRow]: ...
    def tuples_of(self, relation: str) -> Iterable[TupleRow]: ...
    def snapshot(self) -> Snapshot: ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole run in memory, each kind of row in the order of its key."""

    head: Head
    assignments: tuple[AssignmentRow, ...]
    activations: tuple[ActivationRow, ...]
    attempts: tuple[AttemptRow, ...]
    tuples: tuple[TupleRow, ...]
    used: tuple[UsedRow, ...]
    files: tuple[FileRow, ...]

    def tuples_of(self, relation: str) -> Iterable[TupleRow]:
        return (row for row in self.tuples if row.relation == relation)

    def snapshot(self) -> Snapshot:
        return self


def finished(activation: ActivationRow) -> bool:
    return activation.state == ActivationState.FINISHED
