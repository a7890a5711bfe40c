"""A run as a Python object: start one, or attach to one that is stored; ask it, report it."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scicore.errors import RunFailed, UsageError
from scicore.exports.redaction import clean
from scicore.model.activation import ActivationState as State
from scicore.notebook.command_line import call
from scicore.notebook.frame import frame, pandas

if TYPE_CHECKING:
    from pandas import DataFrame

    from scicore.notebook.plan import Plan
    from scicore.provenance.connection import Database
    from scicore.provenance.reader import RunSummary

_STDERR_LINES = 20


def run(
    spec: str | os.PathLike[str],
    *,
    fleet: str | None = None,
    plan: Plan | int | None = None,
    algorithm: str | None = None,
    seed: int = 0,
    dispatch: str = "adaptive",
    replay: bool = False,
    time_scale: float = 1.0,
    database_url: str | None = None,
    progress: bool = True,
    check: bool = True,
) -> Run:
    """Run the workflow `spec` under mpirun and wait for its end, as `scicumulus run` does.

    `plan` is one of `scicore.plan`, or its number; it brings its own fleet and algorithm. With
    `check`, a run that does not finish raises RunFailed, which carries the run and what its first
    failed program was, where it ran and what it said; otherwise look at `run.state`.
    """
    words = [os.fspath(spec), "--dispatch", dispatch]
    if plan is not None:
        words += ["--plan", str(plan if isinstance(plan, int) else plan.id)]
    else:
        words += ["--seed", str(seed)]
    words += ["--fleet", fleet] if fleet is not None else []
    words += ["--algorithm", algorithm] if algorithm is not None else []
    words += ["--replay", "--time-scale", str(time_scale)] if replay else []
    document = call("run", *words, database_url=database_url, progress=progress)
    made = Run(int(document["run_id"]), database_url)
    if check:
        made.check()
    return made


def attach(run: int | str = "last", *, database_url: str | None = None) -> Run:
    """A run that is stored, whether it is over or still goes on: its number, or `last`."""
    from scicore.provenance.connection import reading
    from scicore.provenance.reader import resolve_run

    engine = database_of(database_url).engine
    with reading(engine) as connection:
        return Run(resolve_run(connection, str(run)), database_url)


class Run:
    """One run in the provenance database. Every answer is read anew."""

    def __init__(self, id: int, database_url: str | None = None) -> None:
        self.id = id
        self._database_url = database_url

    @property
    def summary(self) -> RunSummary:
        """State, counts by activity, makespan, plan: what `scicumulus status` knows."""
        from scicore.provenance.connection import reading
        from scicore.provenance.reader import run_summary

        with reading(database_of(self._database_url).engine) as connection:
            return run_summary(connection, self.id)

    @property
    def state(self) -> str:
        """prepared, running, paused, finished, failed, stopped or interrupted."""
        return str(self.summary.state)

    @property
    def makespan_s(self) -> float | None:
        return self.summary.makespan_s

    def activations(self) -> DataFrame:
        """A row per activation: where it was planned, where it ran, when, and what it took."""
        return self.query(_ACTIVATIONS)

    def attempts(self) -> DataFrame:
        """A row per attempt, with its command, cause of death and last lines of stderr."""
        return self.query(_ATTEMPTS)

    def tuples(self, relation: str) -> DataFrame:
        """A relation's tuples: a column per field, numbers as numbers."""
        fields = self._ask(_FIELDS, relation=relation)
        if not fields:
            raise UsageError(f"run {self.id} has no relation {relation!r}")
        rows = self._ask(_TUPLES, relation=relation)
        names = [name for name, _ in fields]
        made = frame(
            ["tuple_id", "generated_by", *names],
            [[number, maker, *map(values.get, names)] for number, maker, values in rows],
        )
        for name, kind in fields:
            if kind == "float":
                made[name] = pandas().to_numeric(made[name], errors="coerce")
        return made

    def query(self, question: str, **parameters: object) -> DataFrame:
        """A named query (`scicumulus query` lists them) or read-only SQL, which may use :run."""
        from scicore.provenance.queries import named_query, run_query

        sql = question if len(question.split()) > 1 else named_query(question).sql
        if ":run" in sql:
            parameters = {"run": self.id, **parameters}
        answer = run_query(database_of(self._database_url).engine, sql, parameters)
        return frame(answer.columns, answer.rows)

    def report(self, path: str | os.PathLike[str] | None = None) -> Report:
        """The HTML report; written to `path`, if one is given. A notebook shows it."""
        from scicore.provenance.account import read_account
        from scicore.reports.html.page import render, save

        text = render(read_account(database_of(self._database_url).engine, str(self.id)))
        if path is not None:
            save(text, Path(path))
        return Report(text, None if path is None else Path(path))

    def check(self) -> None:
        """Raise RunFailed unless the run has finished, or still goes on."""
        summary = self.summary
        if summary.state in ("finished", "prepared", "running", "paused"):
            return
        found = self._ask(_FIRST_FAILURE)
        first: dict[str, Any] = dict(zip(_FAILURE_FIELDS, found[0], strict=True)) if found else {}
        said = clean(str(first.pop("stderr", "") or "")).splitlines()
        first["command"] = clean(str(first.get("command", "") or ""))
        raise RunFailed(
            self,
            summary.state,
            summary.reason,
            failed=summary.count(State.FAILED),
            blocked=summary.count(State.BLOCKED),
            stderr="\n".join(said[-_STDERR_LINES:]),
            **first,
        )

    def _ask(self, sql: str, **parameters: object) -> list[Any]:
        from scicore.provenance.queries import run_query

        values = {"run": self.id, **parameters}
        return list(run_query(database_of(self._database_url).engine, sql, values).rows)

    def __repr__(self) -> str:
        summary = self.summary
        took = "" if summary.makespan_s is None else f" in {summary.makespan_s:.1f} s"
        done = summary.count(State.FINISHED)
        return (
            f"<Run {self.id} of {summary.workflow}: {summary.state}, {done} of "
            f"{summary.activations} activations finished{took}, "
            f"planned {summary.predicted_makespan_s:.1f} s>"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    html: str
    path: Path | None  # where it was written

    def __repr__(self) -> str:
        return f"<Report of {len(self.html)} characters{f' in {self.path}' if self.path else ''}>"

    def _repr_html_(self) -> str:
        """In a frame of its own, so that neither page changes the other's looks."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox style="width:100%;height:800px;'
            'border:1px solid #ccc"></iframe>'
        )


_databases: dict[str | None, Database] = {}


def database_of(database_url: str | None) -> Database:
    """One per URL: a notebook asks often."""
    from scicore.provenance.connection import connect

    if database_url not in _databases:
        _databases[database_url] = connect(database_url)
    return _databases[database_url]


_FAILURE_FIELDS = (
    *("activation", "attempts", "vm", "host", "cause", "program_exit_code", "command"),
    *("workspace", "stderr"),
)
_FIRST_FAILURE = """
    SELECT activation.name, activation.attempts, attempt.vm, vm.host, attempt.cause,
           attempt.exit_code, attempt.command, attempt.workspace, attempt.stderr_tail
    FROM activation
    JOIN attempt ON attempt.run_id = activation.run_id
                AND attempt.activation_id = activation.activation_id
                AND attempt.number = activation.attempts
    LEFT JOIN vm ON vm.run_id = attempt.run_id AND vm.vm = attempt.vm
    WHERE activation.run_id = :run AND activation.state = 'failed'
    ORDER BY attempt.ended_at, activation.activation_id
    LIMIT 1
"""
_ACTIVATIONS = """
    SELECT activation.activation_id, activation.name, activity.tag AS activity, activation.state,
           activation.planned_vm, activation.vm, activation.moved_because, activation.attempts,
           activation.created_at, attempt.started_at, activation.ended_at,
           date_part('epoch', attempt.started_at - activation.created_at) AS waited_s,
           date_part('epoch', attempt.ended_at - attempt.started_at) AS took_s,
           attempt.cpu_s, attempt.peak_rss_bytes, attempt.cause, attempt.exit_code
    FROM activation
    JOIN activity USING (activity_id)
    LEFT JOIN attempt ON attempt.run_id = activation.run_id
                     AND attempt.activation_id = activation.activation_id
                     AND attempt.number = activation.attempts
    WHERE activation.run_id = :run
    ORDER BY activation.activation_id
"""
_ATTEMPTS = """
    SELECT attempt.activation_id, activation.name, activity.tag AS activity, attempt.number,
           attempt.vm, vm.host, attempt.redundant, attempt.started_at, attempt.ended_at,
           date_part('epoch', attempt.ended_at - attempt.started_at) AS took_s,
           attempt.cause, attempt.exit_code, attempt.command, attempt.workspace,
           attempt.stderr_tail AS stderr, attempt.cpu_s, attempt.peak_rss_bytes,
           attempt.read_bytes, attempt.written_bytes
    FROM attempt
    JOIN activation USING (run_id, activation_id)
    JOIN activity ON activity.activity_id = activation.activity_id
    LEFT JOIN vm ON vm.run_id = attempt.run_id AND vm.vm = attempt.vm
    WHERE attempt.run_id = :run
    ORDER BY attempt.activation_id, attempt.number
"""
_FIELDS = """
    SELECT field.name, field.type
    FROM run JOIN relation USING (workflow_id) JOIN field USING (relation_id)
    WHERE run.run_id = :run AND relation.name = :relation
    ORDER BY field.position
"""
_TUPLES = """
    SELECT tuple.tuple_id, activation.name, tuple.values
    FROM tuple
    JOIN relation USING (relation_id)
    LEFT JOIN activation ON activation.run_id = tuple.run_id
                        AND activation.activation_id = tuple.generated_by
    WHERE tuple.run_id = :run AND relation.name = :relation
    ORDER BY tuple.tuple_id
"""
