"""What the command line shows of runs, read from provenance alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Label, Table, func, select, text

from scicore.errors import UsageError
from scicore.model.activation import ActivationState, Observation, RunState
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


def observations(connection: Connection, workflow_tag: str, limit: int = 100) -> list[Observation]:
    """How long finished attempts took: the latest ones of every activity, whatever the run."""
    rows = connection.execute(
        text(
            """
            SELECT tag, vm_type, runtime_s FROM (
                SELECT activity.tag, vm.vm_type,
                       extract(epoch FROM attempt.ended_at - attempt.started_at) AS runtime_s,
                       row_number() OVER (
                           PARTITION BY activity.tag, vm.vm_type ORDER BY attempt.started_at DESC
                       ) AS age
                FROM workflow
                JOIN activity USING (workflow_id)
                JOIN activation USING (activity_id)
                JOIN attempt USING (run_id, activation_id)
                JOIN vm ON vm.run_id = attempt.run_id AND vm.vm = attempt.vm
                WHERE workflow.tag = :tag AND attempt.cause = 'finished'
            ) AS measured
            WHERE age <= :limit
            """
        ),
        {"tag": workflow_tag, "limit": limit},
    )
    return [Observation(tag, vm_type, float(runtime_s)) for tag, vm_type, runtime_s in rows]


def fan_outs(connection: Connection, workflow_tag: str) -> dict[str, int]:
    """How many tuples an activation gave on average, for activities that give several: from the
    latest run that came to its end."""
    rows = connection.execute(
        text(
            """
            WITH latest AS (
                SELECT max(run_id) AS run_id FROM run JOIN workflow USING (workflow_id)
                WHERE tag = :tag AND run.state = 'finished'
            )
            SELECT activity.tag, count(tuple_id)::float / count(DISTINCT activation_id) AS fan_out
            FROM latest
            JOIN activation USING (run_id)
            JOIN activity USING (activity_id)
            LEFT JOIN tuple ON tuple.run_id = activation.run_id
                           AND tuple.generated_by = activation.activation_id
            WHERE activity.operator IN ('SPLIT_MAP', 'SR_QUERY', 'MR_QUERY')
              AND activation.state = 'finished'
            GROUP BY activity.tag
            """
        ),
        {"tag": workflow_tag},
    )
    return {tag: round(fan_out) for tag, fan_out in rows}
