"""What sizing reads: measured attempts of earlier runs, and what a run knows of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlalchemy import Connection, text

from scicore.model.activation import Cause
from scicore.model.sizing import Allocation, Experience

LATEST = 2000  # attempts of an activity that are looked at
RUNS = 200  # the latest ones, that they are taken from
MB = 2**20

_EXPERIENCES = """
    WITH own AS (
        SELECT * FROM unnest(CAST(:tags AS text[]), CAST(:digests AS text[])) AS own (tag, digest)
    ), runs AS (
        SELECT run_id FROM run JOIN workflow USING (workflow_id)
        WHERE workflow.tag = :tag AND run_id <> :run ORDER BY run_id DESC LIMIT :runs
    ), measured AS (
        SELECT activity.tag, attempt.*,
               row_number() OVER (
                   PARTITION BY activity.tag ORDER BY attempt.started_at DESC
               ) AS age
        FROM runs
        JOIN program USING (run_id)
        JOIN activity USING (activity_id)
        JOIN own ON own.tag = activity.tag AND own.digest = program.digest
        JOIN attempt ON attempt.run_id = runs.run_id
                    AND attempt.activity_id = activity.activity_id
        WHERE attempt.cause IN (:finished, :killed) AND attempt.vm <> 'master'
    )
    SELECT measured.tag, measured.run_id, measured.cause,
           extract(epoch FROM measured.ended_at - measured.started_at)::float AS runtime_s,
           coalesce(measured.cpu_s, 0) AS cpu_s,
           coalesce(measured.peak_rss_bytes, 0) AS peak_bytes,
           coalesce(given.cpus, 1) AS cpus, coalesce(given.memory_mb, 0) AS memory_mb,
           coalesce(given.asked_cpus, given.cpus, 1) AS asked_cpus,
           coalesce(given.asked_memory_mb, 0) AS asked_memory_mb,
           coalesce(
               given.input_bytes,
               (SELECT sum(file.size_bytes) FROM used JOIN file USING (run_id, tuple_id)
                WHERE used.run_id = measured.run_id
                  AND used.activation_id = measured.activation_id)
           )::bigint AS input_bytes
    FROM measured
    LEFT JOIN allocation AS given ON given.run_id = measured.run_id
                                 AND given.activation_id = measured.activation_id
                                 AND given.number = measured.number
    WHERE age <= :latest
    ORDER BY measured.started_at, measured.run_id, measured.activation_id, measured.number
"""


def programs_of(connection: Connection, run_id: int) -> dict[str, str]:
    """Digests of the programs that the run was prepared with, by activity."""
    found = text(
        "SELECT tag, digest FROM program JOIN activity USING (activity_id) WHERE run_id = :run"
    )
    return {row[0]: row[1] for row in connection.execute(found, {"run": run_id})}


def experiences(
    connection: Connection, workflow_tag: str, programs: Mapping[str, str], run_id: int = 0
) -> Iterator[tuple[str, Experience]]:
    """By activity, oldest first: attempts of other runs than this whose program was the same.

    Nothing is written for learning: runs that go on at the same time cannot disturb each other.
    """
    rows = connection.execute(
        text(_EXPERIENCES),
        {
            "run": run_id,
            "tags": list(programs),
            "digests": list(programs.values()),
            "tag": workflow_tag,
            "runs": RUNS,
            "latest": LATEST,
            "finished": Cause.FINISHED,
            "killed": Cause.OUT_OF_MEMORY,
        },
    ).mappings()
    for row in rows:
        yield (
            row["tag"],
            Experience(
                run=row["run_id"],
                allocation=Allocation(row["cpus"], row["memory_mb"]),
                request=Allocation(row["asked_cpus"], row["asked_memory_mb"]),
                runtime_s=row["runtime_s"],
                cpu_s=row["cpu_s"],
                peak_mb=row["peak_bytes"] / MB,
                killed=row["cause"] == Cause.OUT_OF_MEMORY,
                input_bytes=row["input_bytes"],
            ),
        )


def tuple_bytes(connection: Connection, run_id: int) -> dict[int, int]:
    """Sizes of the files that the run's tuples name."""
    found = text(
        "SELECT tuple_id, sum(size_bytes)::bigint FROM file WHERE run_id = :run GROUP BY tuple_id"
    )
    return {row[0]: int(row[1]) for row in connection.execute(found, {"run": run_id})}


def not_enough(connection: Connection, run_id: int) -> dict[str, Allocation]:
    """By activation: the largest allocation of the run with which its memory ran out."""
    found = text(
        """
        SELECT DISTINCT ON (activation.name) activation.name, given.cpus, given.memory_mb
        FROM allocation AS given
        JOIN attempt USING (run_id, activation_id, number)
        JOIN activation USING (run_id, activation_id)
        WHERE run_id = :run AND attempt.cause = :killed AND given.memory_mb IS NOT NULL
        ORDER BY activation.name, given.memory_mb DESC
        """
    )
    rows = connection.execute(found, {"run": run_id, "killed": Cause.OUT_OF_MEMORY})
    return {name: Allocation(cpus, memory_mb) for name, cpus, memory_mb in rows}
