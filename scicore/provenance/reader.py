"""What the command line shows of runs, read from provenance alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Label, Table, func, select, text

from scicore.errors import UsageError
from scicore.model.activation import ActivationState, RunState
from scicore.provenance import tables


@dataclass(frozen=True, slots=True)
class ActivityProgress:
    activity: str
    counts: Mapping[ActivationState, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class RunSummary:
    run_id: int
    workflow: str
    state: RunState
    reason: str  # why it stopped, when a limit was reached
    plan_id: int
    algorithm: str
    fleet: str
    directory: str
    started_at: datetime | None
    ended_at: datetime | None
    makespan_s: float | None  # so far, while it is running
    predicted_makespan_s: float
    attempts: int
    activities: tuple[ActivityProgress, ...]  # in the order of the workflow

    def count(self, *states: ActivationState) -> int:
        return sum(
            progress.counts.get(state, 0) for progress in self.activities for state in states
        )

    @property
    def activations(self) -> int:
        return sum(progress.total for progress in self.activities)


def files_of(connection: Connection, run_id: int) -> dict[str, str]:
    """Checksums of all files that the run's tuples name, by path."""
    file = tables.file.c
    found = connection.execute(select(file.path, file.sha256).where(file.run_id == run_id))
    return dict(found.tuples().all())


def resolve_run(connection: Connection, reference: str) -> int:
    """A run's id from what the user typed: a number, or `last`."""
    if reference == "last":
        last = connection.scalar(select(func.max(tables.run.c.run_id)))
        if last is None:
            raise UsageError("there is no run yet", "`scicumulus run SPEC` makes one")
        return int(last)
    if not reference.isdecimal():
        raise UsageError(f"run {reference!r}: expected a run's number, or last")
    known = select(tables.run.c.run_id).where(tables.run.c.run_id == int(reference))
    if len(reference) > 9 or connection.scalar(known) is None:
        raise UsageError(f"there is no run {reference}", "`scicumulus status` lists the runs")
    return int(reference)


def run_summary(connection: Connection, run_id: int) -> RunSummary:
    run, workflow, plan = tables.run.c, tables.workflow.c, tables.plan.c
    row = connection.execute(
        select(
            run.run_id,
            workflow.tag.label("workflow"),
            run.state,
            run.reason,
            run.plan_id,
            plan.algorithm,
            plan.fleet,
            run.directory,
            run.started_at,
            run.ended_at,
            func.extract("epoch", func.coalesce(run.ended_at, func.now()) - run.started_at).label(
                "makespan_s"
            ),
            plan.makespan_s.label("predicted_makespan_s"),
            _count(tables.attempt, tables.attempt.c.run_id == run.run_id, "attempts"),
        )
        .join(tables.workflow, workflow.workflow_id == run.workflow_id)
        .join(tables.plan, plan.plan_id == run.plan_id)
        .where(run.run_id == run_id)
    ).mappings()
    values = dict(row.one())
    makespan_s = values.pop("makespan_s")
    return RunSummary(
        **{**values, "state": RunState(values["state"])},
        makespan_s=None if makespan_s is None else float(makespan_s),
        activities=activity_progress(connection, run_id),
    )


def _count(table: Table, condition: ColumnElement[bool], label: str) -> Label[int]:
    return select(func.count()).select_from(table).where(condition).scalar_subquery().label(label)


def activity_progress(connection: Connection, run_id: int) -> tuple[ActivityProgress, ...]:
    rows = connection.execute(
        text(
            """
            SELECT activity.tag, counted.state, counted.activations
            FROM run
            JOIN activity USING (workflow_id)
            LEFT JOIN (
                SELECT activity_id, state, count(*) AS activations
                FROM activation WHERE run_id = :run GROUP BY activity_id, state
            ) AS counted USING (activity_id)
            WHERE run_id = :run
            ORDER BY activity.position
            """
        ),
        {"run": run_id},
    )
    counts: dict[str, dict[ActivationState, int]] = {}
    for tag, state, activations in rows:
        of_activity = counts.setdefault(tag, {})
        if state is not None:
            of_activity[ActivationState(state)] = activations
    return tuple(ActivityProgress(tag, of_activity) for tag, of_activity in counts.items())


def recent_runs(connection: Connection, limit: int = 20) -> tuple[int, ...]:
    run_ids = select(tables.run.c.run_id).order_by(tables.run.c.run_id.desc()).limit(limit)
    return tuple(connection.scalars(run_ids))
