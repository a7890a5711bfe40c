"""What earlier runs of a workflow teach the next plan: runtimes, fan-outs, amounts of data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from scicore.algebra.request import request_of
from scicore.model.activation import Observation
from scicore.model.trace import listed_bytes
from scicore.model.transfer import Moved
from scicore.model.workflow import Activity, Workflow

LATEST = 1000  # attempts of an activity on a VM type that are looked at
RUNS = 50  # the latest ones, that they are taken from
ENOUGH = 40_000  # activations; runs of a VM type that are older than so many are not looked at
SAMPLE = 20_000  # attempts of an activity; to sort a million of them takes seconds


def observations(
    connection: Connection, workflow: Workflow, limit: int = LATEST
) -> list[Observation]:
    """How long finished attempts took: the latest ones of every activity, whatever the run; of
    those of which there are very many, the latest of a sample.

    With what was known before: the declared runtime where tuples carry one, and the size of the
    input's files.
    """
    activities = {activity.tag: activity for activity in workflow.activities}
    rows = connection.execute(
        text(
            """
            WITH latest AS (
                SELECT run_id, run.state = 'finished' AS whole,
                       (
                           SELECT max(activation_id) FROM activation
                           WHERE activation.run_id = run.run_id
                       ) AS amount
                FROM run JOIN workflow USING (workflow_id)
                WHERE workflow.tag = :tag ORDER BY run_id DESC LIMIT :runs
            ), equipped AS (
                SELECT DISTINCT run_id, vm_type FROM vm JOIN latest USING (run_id)
            ), newer AS (
                SELECT run_id,
                       sum(amount) FILTER (WHERE whole) OVER (
                           PARTITION BY vm_type ORDER BY run_id DESC
                           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                       ) AS amount
                FROM latest JOIN equipped USING (run_id)
            ), runs AS (
                SELECT DISTINCT run_id FROM newer WHERE coalesce(amount, 0) < :enough
            ), amounts AS (
                SELECT activity_id, 1 + count(*) / :sample AS step
                FROM runs JOIN attempt USING (run_id) GROUP BY activity_id
            ), measured AS (
                SELECT activity.tag, vm.vm_type, attempt.run_id, attempt.activation_id,
                       extract(epoch FROM attempt.ended_at - attempt.started_at) AS runtime_s,
                       row_number() OVER (
                           PARTITION BY activity.tag, vm.vm_type ORDER BY attempt.started_at DESC
                       ) AS age
                FROM runs
                JOIN attempt USING (run_id)
                JOIN activity USING (activity_id)
                JOIN amounts USING (activity_id)
                JOIN vm ON vm.run_id = attempt.run_id AND vm.vm = attempt.vm
                WHERE attempt.cause = 'finished'
                  AND (hashint4(attempt.activation_id) & 2147483647) % step = 0
            )
            SELECT tag, vm_type, runtime_s, activation.key,
                   (
                       SELECT tuple.values FROM used JOIN tuple USING (run_id, tuple_id)
                       WHERE used.run_id = measured.run_id
                         AND used.activation_id = measured.activation_id
                         AND measured.tag = ANY (:telling)
                       LIMIT 1
                   ) AS values,
                   (
                       SELECT sum(file.size_bytes) FROM used JOIN file USING (run_id, tuple_id)
                       WHERE used.run_id = measured.run_id
                         AND used.activation_id = measured.activation_id
                   ) AS input_bytes
            FROM measured
            JOIN activation USING (run_id, activation_id)
            WHERE age <= :limit
            ORDER BY tag, vm_type, age DESC
            """
        ),
        {
            "tag": workflow.tag,
            "limit": limit,
            "runs": RUNS,
            "sample": SAMPLE,
            "enough": ENOUGH,
            "telling": [
                tag for tag, activity in activities.items() if declares_per_tuple(activity)
            ],
        },
    ).mappings()
    return [_observation(activities.get(row["tag"]), dict(row)) for row in rows]


def declares_per_tuple(activity: Activity) -> bool:
    """Each tuple says how long it will take, as a trace's do; a number for all says less than the
    first measurement."""
    return "%=" in activity.runtime_s


def _observation(activity: Activity | None, row: dict[str, Any]) -> Observation:
    values, input_bytes = row["values"], row["input_bytes"]
    declared_s = None
    if activity is not None and values is not None:
        declared_s = request_of(activity, values).runtime_s
        if input_bytes is None and activity.parents_field and "READS" in values:
            input_bytes = listed_bytes(values["READS"])
    return Observation(
        row["tag"],
        row["vm_type"],
        float(row["runtime_s"]),
        row["key"],
        declared_s,
        None if input_bytes is None else int(input_bytes),
    )


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


@dataclass(frozen=True, slots=True)
class Flow:
    """Files that activations of one activity hand to those of another."""

    producer: str  # tag
    consumer: str
    bytes_per_edge: float


def flows(connection: Connection, workflow_tag: str) -> list[Flow]:
    """How much data went along the edges, on average: from the latest run that came to its end."""
    rows = connection.execute(
        text(
            """
            WITH latest AS (
                SELECT max(run_id) AS run_id FROM run JOIN workflow USING (workflow_id)
                WHERE tag = :tag AND run.state = 'finished'
            )
            SELECT maker.tag AS producer, taker.tag AS consumer,
                   sum(size_bytes)::float
                       / count(DISTINCT (tuple.generated_by, used.activation_id)) AS bytes_per_edge
            FROM latest
            JOIN tuple USING (run_id)
            JOIN used USING (run_id, tuple_id)
            JOIN file USING (run_id, tuple_id)
            JOIN activation AS made ON made.run_id = latest.run_id
                                   AND made.activation_id = tuple.generated_by
            JOIN activation AS took ON took.run_id = latest.run_id
                                   AND took.activation_id = used.activation_id
            JOIN activity AS maker ON maker.activity_id = made.activity_id
            JOIN activity AS taker ON taker.activity_id = took.activity_id
            GROUP BY maker.tag, taker.tag
            """
        ),
        {"tag": workflow_tag},
    )
    return [Flow(*row) for row in rows]


def transfers(connection: Connection, vm_types: Collection[str]) -> list[Moved]:
    """What VMs of these types have fetched and uploaded lately, in runs of whatever workflow: the
    network is the same for all."""
    rows = connection.execute(
        text(
            """
            WITH runs AS (
                SELECT run_id FROM run
                WHERE EXISTS (SELECT FROM transfer WHERE transfer.run_id = run.run_id)
                ORDER BY run_id DESC LIMIT :runs
            ), moved AS (
                SELECT vm.vm_type, transfer.way, transfer.size_bytes, transfer.seconds,
                       row_number() OVER (
                           PARTITION BY vm.vm_type, transfer.way ORDER BY attempt.started_at DESC
                       ) AS age
                FROM runs
                JOIN transfer USING (run_id)
                JOIN attempt USING (run_id, activation_id, number)
                JOIN vm USING (run_id, vm)
                WHERE vm.vm_type = ANY (:types) AND transfer.size_bytes > 0
            )
            SELECT vm_type, way, size_bytes, seconds FROM moved WHERE age <= :limit
            """
        ),
        {"runs": RUNS, "types": sorted(vm_types), "limit": LATEST},
    )
    return [Moved(vm_type, way, int(size), float(took_s)) for vm_type, way, size, took_s in rows]
