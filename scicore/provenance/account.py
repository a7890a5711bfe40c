"""Everything that a report tells of one run, read in one transaction: figures, never whole tables
of tuples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, Engine, text

from scicore.model.activation import RunState
from scicore.model.plan import Plan
from scicore.model.problem import Problem
from scicore.model.workflow import Workflow
from scicore.provenance.grounds import load_curve, load_problem
from scicore.provenance.plans import load_plan
from scicore.provenance.queries import named_query
from scicore.provenance.reader import RunSummary, resolve_run, run_summary

FAILURES, OUTPUTS, LINEAGE_ROWS = 50, 12, 10_000
Row = Mapping[str, Any]


class Try(NamedTuple):
    """One attempt; times are seconds since the start of the run."""

    activation: str
    activity: str
    vm: str
    start_s: float
    finish_s: float  # until now, while it runs
    cause: str | None
    cpu_s: float | None
    peak_rss_bytes: int | None
    slot: int | None
    slots: int = 1  # that it took


@dataclass(frozen=True, slots=True)
class Output:
    """A tuple that nothing consumes, and what it was made of."""

    tuple_id: int
    relation: str
    values: Mapping[str, str]
    generated_by: str
    files: tuple[Row, ...]  # path, size_bytes, sha256
    ancestors: tuple[Row, ...]  # steps, relation, tuples, activities; from the output backwards


@dataclass(frozen=True, slots=True)
class Account:
    taken_at: datetime
    summary: RunSummary
    facts: Row  # of the run: who, where, version, …
    workflow: Workflow
    plan: Plan
    problem: Problem | None  # None: the plan was made before problems were stored
    curve: tuple[tuple[int, float], ...]  # episodes and best makespan; empty: not learned
    tries: Sequence[Try]
    vms: tuple[Row, ...]  # as the query vm_utilisation
    costs: tuple[Row, ...]  # as the query cost_so_far
    fed_by: Mapping[str, str]  # activation → the one that gave it its last input
    failures: tuple[Row, ...]  # as the query failures; the first ones
    moved: tuple[tuple[str, int], ...]  # why activations ran elsewhere than planned, how many
    steering: tuple[Row, ...]
    outputs: tuple[Output, ...]  # the first ones
    output_count: int
    tuples: Mapping[str, int]  # by relation
    database: str  # PostgreSQL's version

    @property
    def going_on(self) -> bool:
        going_on = (RunState.PREPARED, RunState.RUNNING, RunState.PAUSED)
        return self.summary.state in going_on


def read_account(engine: Engine, reference: str) -> Account:
    """Of the run that the user means (a number, or `last`), as it is at this moment."""
    with engine.connect() as connection:
        connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
        connection.execute(text("SET LOCAL work_mem = '64MB'"))
        return _read(connection, resolve_run(connection, reference))


def _read(connection: Connection, run_id: int) -> Account:
    summary = run_summary(connection, run_id)
    facts = dict(_rows(connection, _FACTS, run=run_id)[0])
    _, plan = load_plan(connection, summary.plan_id)
    moved = connection.execute(text(_MOVED), {"run": run_id})
    tuples = connection.execute(text(_TUPLES), {"run": run_id})
    fed = connection.execute(text(_FED_BY), {"run": run_id})
    outputs = tuple(_outputs(connection, run_id))
    return Account(
        taken_at=facts.pop("taken_at"),
        summary=summary,
        workflow=msgspec.convert(facts.pop("definition"), Workflow),
        database=facts.pop("database"),
        facts=facts,
        plan=plan,
        problem=load_problem(connection, summary.plan_id, plan.fleet),
        curve=load_curve(connection, summary.plan_id),
        tries=[Try(*row) for row in connection.execute(text(_TRIES), {"run": run_id})],
        vms=_in_order(_named(connection, "vm_utilisation", run_id)),
        costs=_in_order(_named(connection, "cost_so_far", run_id)),
        fed_by={str(row[0]): str(row[1]) for row in fed},
        failures=_named(connection, "failures", run_id)[:FAILURES],
        moved=tuple((because, int(count)) for because, count in moved),
        steering=_named(connection, "steering_log", run_id),
        outputs=outputs,
        output_count=int(connection.scalar(text(_OUTPUT_COUNT), {"run": run_id}) or 0),
        tuples={relation: int(count) for relation, count in tuples},
    )


_FACTS = """
    SELECT now() AS taken_at, current_setting('server_version') AS database,
           run.execution_tag, run.user_name, run.host, run.version, run.created_at, run.dispatch,
           run.launches, workflow.description, workflow.digest, workflow.definition
    FROM run JOIN workflow USING (workflow_id) WHERE run_id = :run
"""
_TRIES = """
    SELECT activation.name, activity.tag, attempt.vm,
           date_part('epoch', attempt.started_at - run.started_at),
           date_part('epoch', coalesce(attempt.ended_at, run.ended_at, now()) - run.started_at),
           attempt.cause, attempt.cpu_s, attempt.peak_rss_bytes, attempt.slot,
           coalesce(allocation.cpus, 1)
    FROM run
    JOIN attempt USING (run_id)
    LEFT JOIN allocation USING (run_id, activation_id, number)
    JOIN activation USING (run_id, activation_id)
    JOIN activity ON activity.activity_id = activation.activity_id
    WHERE run.run_id = :run
    ORDER BY attempt.started_at, attempt.activation_id
"""
_FED_BY = """
    SELECT DISTINCT ON (used.activation_id) child.name, maker.name
    FROM used
    JOIN tuple ON tuple.run_id = used.run_id AND tuple.tuple_id = used.tuple_id
    JOIN activation AS maker ON maker.run_id = tuple.run_id
                            AND maker.activation_id = tuple.generated_by
    JOIN activation AS child ON child.run_id = used.run_id
                            AND child.activation_id = used.activation_id
    WHERE used.run_id = :run
    ORDER BY used.activation_id, maker.ended_at DESC NULLS LAST, maker.activation_id
"""
_MOVED = """
    SELECT moved_because, count(*) FROM activation
    WHERE run_id = :run AND moved_because <> '' AND vm IS NOT NULL
    GROUP BY moved_because ORDER BY count(*) DESC, moved_because
"""
_TUPLES = """
    SELECT relation.name, count(*) FROM tuple JOIN relation USING (relation_id)
    WHERE run_id = :run GROUP BY relation.name
"""
_IS_OUTPUT = """
    tuple.run_id = :run AND tuple.generated_by IS NOT NULL
    AND EXISTS (SELECT FROM field WHERE field.relation_id = tuple.relation_id)
    AND NOT EXISTS (SELECT FROM activity WHERE activity.input_relation_id = tuple.relation_id)
    AND NOT EXISTS (
        SELECT FROM activity_reads WHERE activity_reads.relation_id = tuple.relation_id
    )
"""
_OUTPUT_COUNT = f"SELECT count(*) FROM tuple WHERE {_IS_OUTPUT}"
# The last activities first: what a workflow is for is made at its end.
_FIRST_OUTPUTS = f"""
    SELECT tuple.tuple_id, relation.name AS relation, tuple.values,
           activation.name AS generated_by
    FROM tuple
    JOIN relation USING (relation_id)
    JOIN activity ON activity.output_relation_id = relation.relation_id
    JOIN activation ON activation.run_id = :run AND activation.activation_id = tuple.generated_by
    WHERE {_IS_OUTPUT}
    ORDER BY activity.position DESC, tuple.tuple_id
    LIMIT :limit
"""
_ANCESTORS = """
    WITH RECURSIVE lineage (tuple_id, steps) AS (
        SELECT CAST(:tuple AS integer), 0
      UNION
        SELECT used.tuple_id, lineage.steps + 1
        FROM lineage
        JOIN tuple ON tuple.run_id = :run AND tuple.tuple_id = lineage.tuple_id
        JOIN used ON used.run_id = :run AND used.activation_id = tuple.generated_by
    ), nearest AS (
        SELECT tuple_id, min(steps) AS steps
        FROM (SELECT * FROM lineage LIMIT :limit) AS first
        GROUP BY tuple_id
    )
    SELECT nearest.steps, relation.name AS relation, count(*) AS tuples,
           min(activity.tag) AS activity,
           count(DISTINCT tuple.generated_by) AS activations,
           min(activation.name) AS for_example
    FROM nearest
    JOIN tuple ON tuple.run_id = :run AND tuple.tuple_id = nearest.tuple_id
    JOIN relation USING (relation_id)
    LEFT JOIN activation ON activation.run_id = :run
                        AND activation.activation_id = tuple.generated_by
    LEFT JOIN activity ON activity.activity_id = activation.activity_id
    GROUP BY nearest.steps, relation.name
    ORDER BY nearest.steps, relation.name
"""
_FILES = """
    SELECT field, path, size_bytes, sha256 FROM file
    WHERE run_id = :run AND tuple_id = :tuple ORDER BY field
"""


def _outputs(connection: Connection, run_id: int) -> list[Output]:
    found = _rows(connection, _FIRST_OUTPUTS, run=run_id, limit=OUTPUTS)
    return [
        Output(
            **row,
            files=_rows(connection, _FILES, run=run_id, tuple=row["tuple_id"]),
            ancestors=_rows(
                connection, _ANCESTORS, run=run_id, tuple=row["tuple_id"], limit=LINEAGE_ROWS
            ),
        )
        for row in found
    ]


def _in_order(vms: tuple[Row, ...]) -> tuple[Row, ...]:
    """local-2 before local-10."""
    return tuple(sorted(vms, key=lambda row: (row["vm_type"], len(row["vm"]), row["vm"])))


def _named(connection: Connection, name: str, run_id: int) -> tuple[Row, ...]:
    return _rows(connection, named_query(name).sql, run=run_id)


def _rows(connection: Connection, sql: str, **values: object) -> tuple[Row, ...]:
    return tuple(dict(row) for row in connection.execute(text(sql), values).mappings())
