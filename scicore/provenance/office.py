"""The master's office: queries of the workflow, and the wishes of users, both in the database."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from queue import SimpleQueue

import psycopg
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from scicore.algebra.output import BadOutput, query_rows
from scicore.errors import DatabaseError
from scicore.execution.messages import AttemptEnded, Start, Steered
from scicore.model.activation import Cause
from scicore.model.workflow import Activity, Row
from scicore.provenance.recorder import DatabaseRecorder
from scicore.provenance.sandbox import Place, prepared_text, run_sql
from scicore.provenance.steering import pending
from scicore.provenance.store import StoredRun

LOOK_S = 1.0  # how often users' wishes are looked up
AGAIN_S = 0.5  # between two tries of a query whose connection broke
_BROKEN = ("08", "57P", "53300")  # connection, shut down by the server, too many of them


class DatabaseOffice:
    def __init__(
        self, engine: Engine, url: str, run: StoredRun, recorder: DatabaseRecorder
    ) -> None:
        self._engine = engine
        self._run = run
        self._recorder = recorder
        self._place = Place(url, run.id, run.workflow.tag, run.relation_ids)
        self._ended: SimpleQueue[AttemptEnded] = SimpleQueue()
        self._connections: dict[int, list[psycopg.Connection[tuple[object, ...]]]] = {}
        self._heard = 0  # number of the latest wish that was passed on
        self._wishes: SimpleQueue[Steered] = SimpleQueue()
        threading.Thread(target=self._look, name="wishes", daemon=True).start()

    def start(self, order: Start) -> None:
        self._connections[order.activation] = []
        thread = threading.Thread(target=self._run_query, args=(order,), daemon=True)
        thread.start()

    def cancel(self, activation: int) -> None:
        for connection in self._connections.get(activation, ()):
            connection.cancel()

    def news(self) -> Iterator[AttemptEnded | Steered]:
        for queue in (self._ended, self._wishes):
            while not queue.empty():  # nobody else takes anything out
                yield queue.get_nowait()

    def _look(self) -> None:
        """In a thread: a database that hangs must not hold up the run. One that is away has no
        wishes."""
        while True:
            time.sleep(LOOK_S)
            with contextlib.suppress(DatabaseError, SQLAlchemyError):
                with self._engine.connect() as connection:
                    wishes = pending(connection, self._run.id)
                for wish in wishes:
                    if wish.number > self._heard:  # what is handled is recorded a moment later
                        self._heard = wish.number
                        self._wishes.put(
                            Steered(
                                time.time(),
                                wish.number,
                                wish.action,
                                wish.activity,
                                wish.conditions,
                            )
                        )

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
        except psycopg.OperationalError as error:
            cause, note = _cause_of(error), str(error).strip()
        except DatabaseError as error:  # nothing can be recorded any more
            cause, note = Cause.LOST_VM, str(error)
        except psycopg.errors.InsufficientPrivilege as error:
            cause = Cause.NOT_STARTED
            note = (
                f"{str(error).strip()}\n(a query may read the relations of its own run only; to "
                "fence it in, the database's user must be allowed to create roles)"
            )
        except Exception as error:  # an attempt that nobody ends would hold up the run for ever
            cause, note = Cause.EXIT_CODE, str(error).strip()
        self._connections.pop(order.activation, None)
        if cause is Cause.LOST_VM:
            time.sleep(AGAIN_S)
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


def _cause_of(error: psycopg.OperationalError) -> Cause:
    """A connection that broke is nobody's fault: it counts like a VM that is lost."""
    match error:
        case psycopg.errors.DiskFull():
            return Cause.DISK_FULL
        case psycopg.errors.OutOfMemory():
            return Cause.OUT_OF_MEMORY
    broken = error.sqlstate is None or error.sqlstate.startswith(_BROKEN)
    return Cause.LOST_VM if broken else Cause.EXIT_CODE


def _as_text(value: object) -> str:
    match value:
        case None:
            return ""
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case _:
            return str(value)
