"""A run is held by one master: a lock of its database session says so, and vanishes with it.

Batches of facts are numbered within the run, so that one whose commit was cut off is neither lost
nor written twice; and a master that was replaced meanwhile writes nothing any more.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

from sqlalchemy import Connection, Engine, case, func, select, text, update

from scicore.errors import UsageError
from scicore.model.activation import RunState
from scicore.provenance import locks, tables
from scicore.provenance.bulk import trust
from scicore.provenance.patience import AWAY, PATIENCE_S, patiently

_T = TypeVar("_T")
Work = Callable[[Connection], Mapping[str, object]]
"""Writes a batch, and returns what changes in the run's own row."""

_LOCK = 0x5C1C_0002  # with the run's id: the advisory lock of its master
_OVER = (RunState.FINISHED, RunState.FAILED)
_PAUSED = RunState.PAUSED  # stays so until the user says otherwise
_HELD = text("SELECT launches, batches FROM run WHERE run_id = :run FOR UPDATE")
# The server notices that a master is gone even while its session waits for somebody's lock.
_WATCH = """
    SELECT set_config('client_connection_check_interval', '500ms', false),
           set_config('tcp_keepalives_idle', '10', false),
           set_config('tcp_keepalives_interval', '5', false),
           set_config('tcp_keepalives_count', '3', false)
"""


class Hold:
    def __init__(self, engine: Engine, run_id: int, patience_s: float = PATIENCE_S) -> None:
        """Take the run. A run that has ended, or that another master holds, is refused."""
        self._engine = engine
        self._run_id = run_id
        self._patience_s = patience_s
        self._connection = self._connect()
        try:
            self.launches, self._batches = self._take()  # launches: 1 = this is the first
        except BaseException:
            self._connection.close()
            raise

    def _take(self) -> tuple[int, int]:
        self._lock_or_refuse()
        run = tables.run.c
        with self._connection.begin():
            found = self._connection.execute(
                update(tables.run)
                .where(run.run_id == self._run_id, run.state.not_in(_OVER))
                .values(
                    state=case((run.state == _PAUSED, _PAUSED), else_=RunState.RUNNING),
                    started_at=func.coalesce(run.started_at, func.now()),
                    ended_at=None,
                    reason="",
                    launches=run.launches + 1,
                )
                .returning(run.launches, run.batches)
            ).one_or_none()
            if found is None:
                of_it = select(run.state).where(run.run_id == self._run_id)
                state = self._connection.scalar(of_it)
                raise UsageError(
                    f"run {self._run_id} is {state} already; expected one that has not ended",
                    "prepare another one with `scicumulus run SPEC --prepare`",
                )
        return found.launches, found.batches

    def _connect(self) -> Connection:
        """Not the pool's any more: the lock ends with this connection, not with the process."""
        connection = self._engine.connect()
        connection.detach()
        with connection.begin():
            connection.execute(text(_WATCH))
            trust(connection, session=True)  # batches know what there is to refer to
        return connection

    def ask(self, question: Callable[[Connection], _T], lost: threading.Event) -> _T:
        """As the one who holds the run; waits for a database that is away, unless `lost` is set."""
        return self._patiently(lambda: self._ask(question), lost)

    def write(self, work: Work, lost: threading.Event) -> None:
        """One batch, exactly once; waits in the same way."""
        self._batches += 1
        self._patiently(lambda: self._write(work), lost)

    def _patiently(self, work: Callable[[], _T], lost: threading.Event) -> _T:
        return patiently(
            work,
            self._patience_s,
            meanwhile="the run goes on, results are kept on disk",
            again=self._reconnect,
            hurry=lost,
        )

    def _ask(self, question: Callable[[Connection], _T]) -> _T:
        with self._connection.begin():
            return question(self._connection)

    def _write(self, work: Work) -> None:
        with self._connection.begin():
            held, batches = self._connection.execute(_HELD, {"run": self._run_id}).one()
            if held != self.launches:
                raise UsageError(f"another master has taken over run {self._run_id}")
            if batches == self._batches:
                return  # it was committed after all
            changes = {**work(self._connection), "batches": self._batches}
            said = "".join(f"{column} = :{column}, " for column in changes)
            self._connection.execute(
                text(f"UPDATE run SET {said}recorded_at = clock_timestamp() WHERE run_id = :run"),
                {**changes, "run": self._run_id},
            )

    def _reconnect(self) -> None:
        """What fails here fails again in the next try.

        SQLAlchemy would only forget a connection that is no longer the pool's; while it is open,
        its session holds the lock against us.
        """
        with contextlib.suppress(*AWAY):
            session = self._connection.connection.dbapi_connection
            if session is not None:
                session.close()
        with contextlib.suppress(*AWAY):
            self._connection.invalidate()
        with contextlib.suppress(*AWAY):
            self._connection.close()
        with contextlib.suppress(*AWAY):
            self._connection = self._connect()
            self._lock_or_refuse()

    def _lock_or_refuse(self) -> None:
        if not locks.take(self._connection, _LOCK, self._run_id):
            raise UsageError(
                f"run {self._run_id} is being executed by another master",
                "watch it with `scicumulus status`, or end it with `scicumulus cancel`",
            )

    def close(self) -> None:
        self._connection.close()


def is_held(connection: Connection, run_id: int) -> bool:
    """Whether some master is at work on the run."""
    return run_id in held_runs(connection)


def held_runs(connection: Connection) -> frozenset[int]:
    """The runs that some master is at work on."""
    query = """
        SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND classid = :lock
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    """
    return frozenset(connection.scalars(text(query), {"lock": _LOCK}))
