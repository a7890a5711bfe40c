"""The master's office: queries of the workflow, and the wishes of users, both in the database."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from queue import Empty, SimpleQueue

import psycopg
from sqlalchemy import Engine

from scicore.algebra.output import BadOutput, query_rows
from scicore.execution.messages import AttemptEnded, Start, Steered
from scicore.model.activation import Cause
from scicore.model.workflow import Activity, Row
from scicore.provenance.recorder import DatabaseRecorder
from scicore.provenance.sandbox import Place, prepared_text, run_sql
from scicore.provenance.steering import pending
from scicore.provenance.store import StoredRun, relation_ids_of

LOOK_S = 0.5  # how often users' wishes are looked up


class DatabaseOffice:
    def __init__(
        self, engine: Engine, url: str, run: StoredRun, recorder: DatabaseRecorder
    ) -> None:
        self._engine = engine
        self._run = run
        self._recorder = recorder
        with engine.connect() as connection:
            relation_ids = relation_ids_of(connection, run.workflow_id)
        self._place = Place(url, run.id, run.workflow.tag, relation_ids)
        self._ended: SimpleQueue[AttemptEnded] = SimpleQueue()
        self._connections: dict[int, list[psycopg.Connection[tuple[object, ...]]]] = {}
        self._heard = 0  # number of the latest wish that was passed on
        self._look_at = 0.0  # monotonic

    def start(self, order: Start) -> None:
        self._connections[order.activation] = []
        thread = threading.Thread(target=self._run_query, args=(order,), daemon=True)
        thread.start()

    def cancel(self, activation: int) -> None:
        for connection in self._connections.get(activation, ()):
            connection.cancel()

    def news(self) -> Iterator[AttemptEnded | Steered]:
        while True:
            try:
                yield self._ended.get_nowait()
            except Empty:
                break
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_S
            yield from self._wishes()

    def _wishes(self) -> Iterator[Steered]:
        with self._engine.connect() as connection:
            wishes = pending(connection, self._run.id)
        for wish in wishes:
            if wish.number > self._heard:  # what is handled is recorded only a moment later
                self._heard = wish.number
                yield Steered(time.time(), wish.number, wish.action, wish.activity, wish.conditions)

    def _run_query(self, order: Start) -> None:
        """In a thread: a long query must not hold up the run. Every error becomes an attempt."""
        started_at = time.time()
        cause, note = Cause.FINISHED, ""
        rows: tuple[Row, ...] = ()
        try:
            self._recorder.flush()
            rows = self._rows(order)
        except BadOutput as error:
            cause, note = Cause.BAD_OUTPUT, str(error)
        except psycopg.errors.QueryCanceled as error:
            cause, note = Cause.TIMEOUT, str(error).strip()
        except psycopg.errors.InsufficientPrivilege as error:
            cause = Cause.NOT_STARTED
            note = (
                f"{str(error).strip()}\n(a query may read the relations of its own run only; to "
                "fence it in, the database's user must be allowed to create roles)"
            )
        except Exception as error:
            cause, note = Cause.EXIT_CODE, str(error).strip()
        self._connections.pop(order.activation, None)
        self._ended.put(
            AttemptEnded(
                activation=order.activation,
                number=order.number,
                cause=cause,
                started_at=started_at,
                ended_at=time.time(),
                command=prepared_text(self._activity(order).command, self._place),
                stderr_tail=note,
                rows=rows,
            )
        )

    def _activity(self, order: Start) -> Activity:
        return self._run.workflow.activity(order.activity)

    def _rows(self, order: Start) -> tuple[Row, ...]:
        activity = self._activity(order)
        columns, rows = run_sql(self._place, activity, self._connections[order.activation])
        return query_rows(activity, columns, (tuple(map(_as_text, row)) for row in rows))


def _as_text(value: object) -> str:
    match value:
        case None:
            return ""
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case _:
            return str(value)
