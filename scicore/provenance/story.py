"""One activation of a run, with everything that provenance knows about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from sqlalchemy import Connection, text

from scicore.errors import UsageError
from scicore.provenance.hold import is_held
from scicore.provenance.relatives import (
    BY_NUMBER,
    CHILDREN,
    PARENTS,
    Relative,
    planned_parents,
    relatives,
)

SHOWN = 5  # of those that it waits behind


@dataclass(frozen=True, slots=True)
class AttemptStory:
    number: int
    vm: str
    host: str
    slot: int | None
    redundant: bool
    started_at: datetime
    ended_at: datetime | None
    cause: str | None
    exit_code: int | None
    command: str | None
    workspace: str | None
    stderr_tail: str | None
    cpu_s: float | None
    peak_rss_bytes: int | None
    cpus: int = 1  # slots that it took
    memory_mb: int | None = None  # its limit; None = none
    asked_cpus: int | None = None  # None = it was not sized
    asked_memory_mb: int | None = None
    sized_because: str | None = None

    @property
    def took_s(self) -> float | None:
        return None if self.ended_at is None else (self.ended_at - self.started_at).total_seconds()


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What the plan says about it."""

    position: int  # of all assignments
    of: int  # assignments
    vm: str
    start_s: float  # from the start of the run
    finish_s: float
    estimate_source: str | None  # where the runtime was known from
    estimate_samples: int | None


@dataclass(frozen=True, slots=True)
class Queue:
    """What is before an activation that waits for a VM, or was before it started there."""

    vm_state: str
    slots: int
    running: tuple[str, ...]  # names of what runs on the VM now; a few
    running_count: int
    ahead: int  # ready activations for the VM that the plan has before it
    freed_by: str | None  # what ended on the VM last, before it started there
    freed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Story:
    run_id: int
    run_state: str
    run_started_at: datetime | None
    run_directory: str
    dispatch: str
    plan_id: int
    algorithm: str
    activation_id: int | None  # None: it does not exist yet
    name: str
    activity: str
    state: str  # of the activation; `expected` where it does not exist yet
    vm: str | None
    moved_because: str
    created_at: datetime | None
    ended_at: datetime | None
    foreseen: Foreseen | None
    blocked_by: Relative | None
    parents: tuple[Relative, ...]
    children: tuple[Relative, ...]
    attempts: tuple[AttemptStory, ...]
    queue: Queue | None  # None: it waits for no VM and ran on none
    attended: bool  # a master is at work on the run


def activation_id(connection: Connection, run_id: int, reference: str) -> int | None:
    """The number of the activation that the user means by its name or number; None: unknown."""
    if reference.isdecimal() and len(reference) <= 9:
        by_number = "SELECT activation_id FROM activation WHERE run_id = :run AND activation_id = "
        found = connection.scalar(
            text(by_number + ":number"), {"run": run_id, "number": int(reference)}
        )
    else:
        by_name = "SELECT activation_id FROM activation WHERE run_id = :run AND name = :name"
        found = connection.scalar(text(by_name), {"run": run_id, "name": reference})
    return None if found is None else int(found)


def no_such_activation(connection: Connection, run_id: int, reference: str) -> UsageError:
    """Said with what comes close."""
    activity = reference.partition(".")[0]
    rows = connection.scalars(
        text(
            "SELECT name FROM activation JOIN activity USING (activity_id) "
            "WHERE run_id = :run AND (activity.tag = :tag OR :none) "
            "ORDER BY activation_id LIMIT 2000"
        ),
        {"run": run_id, "tag": activity, "none": not _has_activity(connection, run_id, activity)},
    )
    close = get_close_matches(reference, list(rows), n=3, cutoff=0.3)
    hint = f"did you mean {', '.join(close)}?" if close else "names are like measure.3"
    return UsageError(f"run {run_id} has no activation {reference!r}", hint)


def _has_activity(connection: Connection, run_id: int, tag: str) -> bool:
    wanted = (
        "SELECT EXISTS (SELECT FROM run JOIN activity USING (workflow_id) "
        "WHERE run_id = :run AND tag = :tag)"
    )
    return bool(connection.scalar(text(wanted), {"run": run_id, "tag": tag}))


def story_of(connection: Connection, run_id: int, reference: str) -> Story:
    """Also of an activation that exists in the plan alone; others are refused."""
    number = activation_id(connection, run_id, reference)
    head = _one(
        connection,
        """
        SELECT run.run_id, run.state AS run_state, run.started_at AS run_started_at,
               run.directory AS run_directory, run.dispatch, run.plan_id, plan.algorithm
        FROM run JOIN plan USING (plan_id) WHERE run_id = :run
        """,
        run=run_id,
    )
    assert head is not None
    if number is None:
        foreseen = _foreseen(connection, head["plan_id"], reference)
        if foreseen is None:
            raise no_such_activation(connection, run_id, reference)
        activity = reference.partition(".")[0]
        return Story(
            **head,
            activation_id=None,
            name=reference,
            activity=activity,
            state="expected",
            vm=None,
            moved_because="",
            created_at=None,
            ended_at=None,
            foreseen=foreseen,
            blocked_by=None,
            parents=planned_parents(connection, run_id, head["plan_id"], reference),
            children=(),
            attempts=(),
            queue=None,
            attended=is_held(connection, run_id),
        )
    own = _one(
        connection,
        """
        SELECT activation_id, name, activity.tag AS activity, state, vm, moved_because,
               created_at, ended_at, blocked_by
        FROM activation JOIN activity USING (activity_id)
        WHERE run_id = :run AND activation_id = :id
        """,
        run=run_id,
        id=number,
    )
    assert own is not None
    culprit = own.pop("blocked_by")
    blamed = relatives(connection, BY_NUMBER, run=run_id, id=culprit) if culprit else ()
    parents = relatives(connection, PARENTS, run=run_id, id=number)
    if not parents and own["state"] != "blocked":  # explicit edges, as in traces
        parents = planned_parents(connection, run_id, head["plan_id"], own["name"])
    attempts = tuple(_attempts(connection, run_id, number))
    return Story(
        **head,
        **own,
        foreseen=_foreseen(connection, head["plan_id"], own["name"]),
        blocked_by=blamed[0] if blamed else None,
        parents=parents,
        children=relatives(connection, CHILDREN, run=run_id, id=number),
        attempts=attempts,
        queue=_queue(connection, run_id, number, attempts[-1] if attempts else None),
        attended=is_held(connection, run_id),
    )


def _queue(
    connection: Connection, run_id: int, number: int, last: AttemptStory | None
) -> Queue | None:
    found = _one(
        connection,
        """
        SELECT vm.state AS vm_state, vm.slots,
               (SELECT array_agg(name ORDER BY activation_id) FROM activation AS other
                WHERE other.run_id = :run AND other.vm = vm.vm AND other.state = 'running'
                  AND other.activation_id <> :id) AS running,
               (SELECT count(*) FROM activation AS other
                WHERE other.run_id = :run AND other.vm = vm.vm AND other.state = 'ready'
                  AND other.position < own.position) AS ahead,
               freed.name AS freed_by, freed.ended_at AS freed_at
        FROM activation AS own
        JOIN vm ON vm.run_id = own.run_id AND vm.vm = own.vm
        LEFT JOIN LATERAL (
            SELECT activation.name, attempt.ended_at
            FROM attempt JOIN activation USING (run_id, activation_id)
            WHERE attempt.run_id = :run AND attempt.vm = vm.vm AND attempt.activation_id <> :id
              AND attempt.ended_at <= CAST(:began AS timestamptz)
            ORDER BY attempt.ended_at DESC
            LIMIT 1
        ) AS freed ON true
        WHERE own.run_id = :run AND own.activation_id = :id
        """,
        run=run_id,
        id=number,
        began=None if last is None else last.started_at,
    )
    if found is None:
        return None
    running = found.pop("running") or []
    return Queue(**found, running=tuple(running[:SHOWN]), running_count=len(running))


def _foreseen(connection: Connection, plan_id: int, name: str) -> Foreseen | None:
    found = _one(
        connection,
        """
        SELECT assignment.position + 1 AS position,
               (SELECT count(*) FROM assignment WHERE plan_id = :plan) AS of,
               assignment.vm, start_s, finish_s,
               estimate.source AS estimate_source, estimate.samples AS estimate_samples
        FROM assignment
        JOIN plan USING (plan_id)
        LEFT JOIN LATERAL (
            SELECT source, samples FROM estimate
            WHERE estimate.plan_id = :plan AND estimate.activity = assignment.activity
              AND estimate.vm_type = (
                  SELECT fleet_vm->'type'->>'name'
                  FROM jsonb_array_elements(plan.fleet_vms) AS fleet_vm
                  WHERE fleet_vm->>'id' = assignment.vm
              )
        ) AS estimate ON true
        WHERE plan_id = :plan AND activation = :name
        """,
        plan=plan_id,
        name=name,
    )
    return None if found is None else Foreseen(**found)


def _attempts(connection: Connection, run_id: int, number: int) -> Iterable[AttemptStory]:
    rows = connection.execute(
        text(
            """
            SELECT number, attempt.vm, coalesce(vm.host, '') AS host, slot, redundant, started_at,
                   ended_at, cause, exit_code, command, workspace, stderr_tail, cpu_s,
                   peak_rss_bytes, coalesce(cpus, 1), memory_mb, asked_cpus, asked_memory_mb,
                   because
            FROM attempt
            LEFT JOIN allocation USING (run_id, activation_id, number)
            LEFT JOIN vm ON vm.run_id = attempt.run_id AND vm.vm = attempt.vm
            WHERE attempt.run_id = :run AND activation_id = :id
            ORDER BY number
            """
        ),
        {"run": run_id, "id": number},
    )
    return (AttemptStory(*row) for row in rows)


def _one(connection: Connection, sql: str, **values: object) -> dict[str, Any] | None:
    row = connection.execute(text(sql), values).mappings().one_or_none()
    return None if row is None else dict(row)
