"""Facts into rows: one writer thread in the master, in batches, off the dispatch path."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterable

from sqlalchemy import Engine, text

from scicore.errors import DatabaseError
from scicore.execution.messages import Fact
from scicore.provenance import tables
from scicore.provenance.batch import Batch
from scicore.provenance.hold import Hold
from scicore.provenance.ids import Ids
from scicore.provenance.patience import AWAY
from scicore.provenance.store import StoredRun

GATHER_S = 0.02  # how long a batch waits for company …
MANY = 200  # … and when there is so much of it …
GATHER_MANY_S = 0.4  # … so much longer: what begins and ends within that time is written once
LOOKS = 4  # at what has come, in that time
GIVE_UP_S = 10.0
BATCH = 30_000  # facts at most in one transaction
ANALYZE_AT = 10_000  # facts; fewer need no statistics


class DatabaseRecorder:
    def __init__(self, engine: Engine, run: StoredRun, hold: Hold) -> None:
        self._engine = engine
        self._run = run
        self._hold = hold
        self._queue: deque[list[Fact]] = deque()
        self._come = threading.Event()  # there is something to write, or nothing more to come
        self._hurry = threading.Event()  # somebody waits for it
        self._closing = False
        self._error: Exception | None = None
        self.queued = self.written = 0  # facts so far
        self._giving_up = threading.Event()
        self._progress = threading.Condition()
        self._thread = threading.Thread(target=self._write_batches, name="recorder", daemon=True)
        self._thread.start()

    def record(self, facts: Iterable[Fact]) -> None:
        """Queue the facts. Raises if the writer has failed: then nothing more can be promised."""
        if self._error is not None:
            reason = getattr(self._error, "orig", None) or self._error
            raise DatabaseError(
                f"provenance cannot be recorded: {reason}",
                "see whether PostgreSQL is running (`scicumulus doctor`) and has disk space",
            ) from self._error
        batch = list(facts)
        if batch:
            self.queued += len(batch)
            for begin in range(0, len(batch), BATCH):
                self._queue.append(batch[begin : begin + BATCH] if len(batch) > BATCH else batch)
            if not self._come.is_set():
                self._come.set()

    def flush(self) -> None:
        """Wait until all facts so far are written."""
        wanted = self.queued
        if wanted > self.written:
            self._hurry.set()
            self._come.set()
        with self._progress:
            self._progress.wait_for(lambda: self.written >= wanted or self._error is not None)
        self.record(())

    def close(self) -> None:
        """Everything recorded so far is in the database when this returns."""
        self._finish()
        self._thread.join()
        self._hold.close()
        self.record(())

    def give_up(self) -> None:
        """The run cannot be finished: what is queued gets one more try."""
        self._giving_up.set()
        self._finish()
        self._thread.join(timeout=GIVE_UP_S)

    def _finish(self) -> None:
        self._closing = True
        self._hurry.set()
        self._come.set()

    def _write_batches(self) -> None:
        try:
            more, analyzed = True, 0
            ids = Ids(self._run)
            if self._hold.launches > 1:
                ids = self._hold.ask(ids.look_up, self._giving_up)
            while more:
                batch = Batch(ids)
                facts, more = self._gather(batch)
                if facts:
                    self._hold.write(batch.write, self._giving_up)
                    with self._progress:
                        self.written += facts
                        self._progress.notify_all()
                if self.written >= max(ANALYZE_AT, (10 if more else 2) * analyzed):
                    analyzed = self.written
                    self._analyze(whole=not more)
        except Exception as error:  # told to the master by its next record()
            with self._progress:
                self._error = error
                self._progress.notify_all()

    def _analyze(self, *, whole: bool) -> None:
        """Tell PostgreSQL's planner how large the run is: its own daemon looks once a minute, and
        until then a join over a run that grew in seconds may take for ever. A few times per run,
        because it takes most of a second when the tables have a million rows; not `whole`: only
        how many rows are whose, so that it takes little of a run under way. A database that is
        away can do without."""
        grown = (tables.tuple_, tables.file, tables.activation, tables.used, tables.attempt)
        names = ", ".join(table.name if whole else f"{table.name} (run_id)" for table in grown)
        with contextlib.suppress(*AWAY), self._engine.begin() as connection:
            if not whole:
                connection.execute(text("SET LOCAL default_statistics_target = 10"))
            connection.execute(text(f"ANALYZE (SKIP_LOCKED) {names}"))

    def _gather(self, batch: Batch) -> tuple[int, bool]:
        """Fill the batch; how many facts it has, and whether more will come.

        They are waited for by the clock: to wake up for every fact would take more time than to
        write it. What has come is made into rows meanwhile, so that little is left for the end.
        """
        self._come.wait()
        facts = 0
        hurry, more = False, True
        for pause_s, enough in ((GATHER_S, MANY), *[(GATHER_MANY_S / LOOKS, MANY)] * LOOKS):
            if self.queued - self.written < BATCH:  # else there is company enough
                hurry = self._hurry.wait(pause_s)
            self._hurry.clear()
            self._come.clear()
            more = not self._closing
            while self._queue and facts < BATCH:
                come = self._queue.popleft()
                batch.add(come)
                facts += len(come)
            if hurry or not enough <= facts < BATCH:
                break
        if self._queue or not more:
            self._come.set()
        return facts, more or bool(self._queue)
