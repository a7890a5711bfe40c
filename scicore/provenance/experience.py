"""Experiences of solvers: what ended runs tell, how it is kept; and the load right now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, RowMapping, select, text
from sqlalchemy.dialects.postgresql import insert

from scicore.model.activation import RunState
from scicore.model.experience import Experience, Moment, Result
from scicore.provenance import tables
from scicore.provenance.hold import held_runs

LATEST = 10_000  # experiences of a workflow that are looked at


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that came to its end by itself or at one of its limits, and what it took."""

    run_id: int
    tag: str  # of the workflow
    plan_id: int
    state: RunState
    ended_at: datetime
    makespan_s: float
    max_time_s: float  # 0 = none
    cost_usd: float  # of its VMs, billed as in the query cost_so_far


def untold_runs(connection: Connection, algorithm: str) -> list[EndedRun]:
    """Runs of this algorithm's plans that have ended and are no experience yet.

    What a user has stopped says nothing about the plan.
    """
    rows = connection.execute(
        text(
            """
            SELECT run.run_id, workflow.tag, run.plan_id, run.state, run.ended_at,
                   date_part('epoch', run.ended_at - run.started_at) AS makespan_s,
                   coalesce((workflow.definition->>'max_time_s')::float, 0) AS max_time_s,
                   coalesce((
                       SELECT sum(greatest(ceil(present.seconds), 60) * price_usd_per_hour / 3600)
                       FROM vm CROSS JOIN LATERAL (
                           SELECT date_part(
                               'epoch', coalesce(vm.left_at, run.ended_at) - vm.joined_at
                           ) AS seconds
                       ) AS present
                       WHERE vm.run_id = run.run_id AND present.seconds > 0
                   ), 0) AS cost_usd
            FROM run
            JOIN plan USING (plan_id)
            JOIN workflow ON workflow.workflow_id = run.workflow_id
            WHERE plan.algorithm = :algorithm
              AND run.started_at IS NOT NULL AND run.ended_at IS NOT NULL
              AND (
                  run.state IN ('finished', 'failed')
                  OR run.state = 'stopped' AND run.reason LIKE 'max\\_%'
              )
              AND NOT EXISTS (SELECT FROM experience WHERE experience.run_id = run.run_id)
            ORDER BY run.run_id
            """
        ),
        {"algorithm": algorithm},
    ).mappings()
    return [EndedRun(**{**row, "state": RunState(row["state"])}) for row in rows]


def moved_bytes(connection: Connection, run_id: int) -> dict[tuple[str, str], int]:
    """Bytes of files that activations read which others had made on another VM: from, to."""
    rows = connection.execute(
        text(
            """
            SELECT maker.vm AS sender, taker.vm AS receiver, sum(file.size_bytes)::bigint AS bytes
            FROM used
            JOIN tuple USING (run_id, tuple_id)
            JOIN file USING (run_id, tuple_id)
            JOIN activation AS maker ON maker.run_id = used.run_id
                                    AND maker.activation_id = tuple.generated_by
            JOIN activation AS taker ON taker.run_id = used.run_id
                                    AND taker.activation_id = used.activation_id
            WHERE used.run_id = :run AND maker.vm <> taker.vm
            GROUP BY maker.vm, taker.vm
            """
        ),
        {"run": run_id},
    )
    return {(sender, receiver): size for sender, receiver, size in rows}


def save_experience(connection: Connection, run: EndedRun, experience: Experience) -> None:
    """Once for each run, whoever comes first."""
    before, after = experience.before, experience.after
    connection.execute(
        insert(tables.experience)
        .values(
            run_id=run.run_id,
            tag=run.tag,
            solver=experience.solver,
            hour=before.hour,
            load=before.load,
            result=before.result,
            next_hour=after.hour,
            next_load=after.load,
            next_result=after.result,
            cost_usd=experience.cost_usd,
            makespan_s=experience.makespan_s,
        )
        .on_conflict_do_nothing()
    )


def experiences(connection: Connection, workflow_tag: str) -> list[Experience]:
    """The latest ones with the workflow, the oldest of them first."""
    table = tables.experience
    rows = connection.execute(
        select(table)
        .where(table.c.tag == workflow_tag)
        .order_by(table.c.run_id.desc())
        .limit(LATEST)
    ).mappings()
    return [_experience(row) for row in reversed(rows.all())]


def _experience(row: RowMapping) -> Experience:
    return Experience(
        row["solver"],
        Moment(row["hour"], row["load"], Result(row["result"])),
        Moment(row["next_hour"], row["next_load"], Result(row["next_result"])),
        row["cost_usd"],
        row["makespan_s"],
    )


def load_now(connection: Connection) -> float:
    """Activations that run or are ready, per slot of the VMs that are there, over all runs that a
    master is at work on; 0 when there is none."""
    loaded = connection.scalar(
        text(
            """
            SELECT (
                SELECT count(*) FROM activation
                WHERE run_id = ANY (:runs) AND state IN ('ready', 'running')
            )::float / nullif((
                SELECT sum(slots) FROM vm
                WHERE run_id = ANY (:runs) AND state IN ('joining', 'joined')
            ), 0)
            """
        ),
        {"runs": sorted(held_runs(connection))},
    )
    return float(loaded or 0.0)
