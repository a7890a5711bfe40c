"""A run that can be disturbed, and the proof that nothing was lost or done twice."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import sql

from scicore.provenance.tables import metadata
from tests.acceptance.console import SCICUMULUS, Console, Said, eventually, finish
from tests.acceptance.workflows import Step, write_workflow

WIDTH = 12

# Every start of a program is noted, so that a second one cannot hide.
NOTE = (
    'place="$(dirname "$0")/.."\n'
    'echo "$1" >> "$place/starts-$(basename "$0")"\n'
    'while [ -e "$place/hold" ]; do sleep 0.05; done\n'
)
SQUARE = (
    NOTE
    + 'sleep "0.0$(( $1 % 5 ))"\nsleep "${PACE:-0.05}"\n'
    + 'printf "ID;SQUARE\\n%s;%s\\n" "$1" "$(( $1 * $1 ))" > ERelation.txt\n'
)
ADD = (
    NOTE
    + 'sleep "${PACE:-0.05}"\n'
    + 'printf "ID;SQUARE\\n%s;%s\\n" "$1" "$(( $2 + 1 ))" > ERelation.txt\n'
)
SUM = (
    'echo all >> "$(dirname "$0")/../starts-$(basename "$0")"\n'
    "awk -F';' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == \"SQUARE\") k = i; next }"
    ' { s += $k } END { print "TOTAL"; print s }\' *.hfrag > ERelation.txt\n'
)


def steps() -> list[Step]:
    return [
        Step("square", SQUARE, gives=("ID", "SQUARE", "ALL")),
        Step("add", ADD, takes=("ID", "SQUARE"), gives=("ID", "SQUARE", "ALL"), after="square"),
        Step("total", SUM, (), ("TOTAL",), after="add", operator="REDUCE", operand="ALL"),
    ]


@dataclass
class Disturbed:
    """One run; `undisturbed` is what it must come to."""

    console: Console
    width: int = WIDTH
    max_failure: int = 1
    spec: Path = field(init=False)
    process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        rows = [(str(number), "all") for number in range(1, self.width + 1)]
        place = self.console.directory / "wf"
        columns = ("ID", "ALL")
        self.spec = write_workflow(place, steps(), rows, columns, max_failure=self.max_failure)

    def start(self, *options: str) -> None:
        words = ("--fleet", "2xlocal", "--json", *options)
        self.process = self.console.start(SCICUMULUS, "run", self.spec, *words)

    @contextmanager
    def held(self) -> Iterator[None]:
        """No program ends meanwhile, however slow everything else is."""
        hold = self.spec.parent / "hold"
        hold.touch()
        yield
        hold.unlink()

    # --- looking ---------------------------------------------------------------------------------

    def starts(self, tag: str) -> Counter[str]:
        path = self.spec.parent / f"starts-{tag}"
        return Counter(path.read_text().split()) if path.exists() else Counter()

    def begun(self, count: int) -> None:
        eventually(lambda: self.starts("square").total() >= count, f"{count} programs")

    @property
    def run_id(self) -> int:
        question = "SELECT max(run_id) FROM run WHERE directory LIKE %s"
        found = self.console.rows(question, f"{self.console.directory}/%")
        return int(found[0][0])

    def recorded(self) -> int:
        question = "SELECT count(*) FROM activation WHERE run_id = %s AND state = 'finished'"
        return int(self.console.rows(question, self.run_id)[0][0])

    def processes(self, pattern: str) -> list[int]:
        """Of this test, those whose command line matches, in the order of their start."""
        found = self.console.processes()
        return sorted(pid for pid, words in found.items() if re.search(pattern, words))

    def ranks(self) -> list[int]:
        """The master first. Keepers and their makers carry the command line of their slave, too:
        they are told apart by their sessions, which are their own."""
        (mpirun,) = self.launcher() or [0]
        session = os.getsid(mpirun) if mpirun else 0
        ranks = self.processes(r"-m scicore \d+$|-m mpi4py -m scicore")
        return [pid for pid in ranks if _session(pid) == session and pid != mpirun]

    def programs(self) -> list[int]:
        return self.processes(r"/bin/(square|add|total)( |$)")

    def launcher(self) -> list[int]:
        return self.processes(r"bin/(mpirun|prterun) ")[:1]

    # --- breaking --------------------------------------------------------------------------------

    def kill(self, *pids: int, number: signal.Signals = signal.SIGKILL) -> bool:
        """Whether there was anybody to get the signal."""
        hit = False
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
                hit = True
        return hit

    @contextmanager
    def locked(self, statement: str) -> Iterator[None]:
        """Somebody else's transaction is in the way of what the master wants to record."""
        with psycopg.connect(self.console.url) as other:
            other.execute(statement.encode(), {"run": self.run_id})
            yield
            other.rollback()

    def setting(self, name: str, value: str) -> None:
        """Of the whole server, for new transactions."""
        with psycopg.connect(self.console.url, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(
                sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), sql.Literal(value))
            )
            connection.execute("SELECT pg_reload_conf()")

    def backend_waits(self, event: str) -> bool:
        """Whether a session that is in the middle of a transaction of the master waits for that."""
        question = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = %s AND pid <> %s"
        with psycopg.connect(self.console.url) as connection:
            own = connection.info.backend_pid
            (count,) = connection.execute(question, (event, own)).fetchone() or (0,)
        return bool(count)

    # --- the proof -------------------------------------------------------------------------------

    def finish(self) -> Said:
        return finish(self.process)

    def finished(self) -> Said:
        said = self.finish()
        assert said.code == 0, said
        return said

    def resumed(self) -> None:
        said = self.console("resume", str(self.run_id), "--json")
        assert said.code == 0, said
        assert said.document["state"] == "finished"

    def causes(self) -> Counter[str]:
        """Why attempts ended."""
        question = "SELECT cause, count(*) FROM attempt WHERE run_id = %s GROUP BY 1"
        return Counter(dict(self.console.rows(question, self.run_id)))

    def nothing_was_lost(self, *, again: int = 0) -> None:
        """Every activation has exactly one recorded result, the outputs are those of an
        undisturbed run, and no process is left. `again`: so many programs died with the fault
        and had to be run again; nothing else was."""
        run = self.run_id
        states = self.console.rows(
            "SELECT tag, activation.state, count(*) FROM activation JOIN activity"
            " USING (activity_id) WHERE run_id = %s GROUP BY 1, 2 ORDER BY 1, 2",
            run,
        )
        expected = [("add", self.width), ("square", self.width), ("total", 1)]
        assert states == [(tag, "finished", count) for tag, count in expected]
        results = self.console.rows(
            "SELECT count(*), count(DISTINCT activation_id) FROM attempt"
            " WHERE run_id = %s AND cause = 'finished'",
            run,
        )
        assert results == [(2 * self.width + 1, 2 * self.width + 1)]
        open_attempts = "SELECT count(*) FROM attempt WHERE run_id = %s AND ended_at IS NULL"
        assert self.console.rows(open_attempts, run) == [(0,)]
        tuples = self.console.rows(
            "SELECT \"values\" ->> 'TOTAL' FROM tuple JOIN relation USING (relation_id)"
            " WHERE run_id = %s AND name = 'total_out'",
            run,
        )
        total = sum(number * number + 1 for number in range(1, self.width + 1))
        assert tuples == [(str(total),)]
        assert self.orphans() == []
        starts = sum((self.starts(tag) for tag in ("square", "add")), Counter[str]())
        extra = starts.total() - 2 * self.width
        assert 0 <= extra <= again, f"{extra} programs were run again, at most {again} may be"
        eventually(lambda: not self.console.processes(), "the end of all processes", patience_s=30)

    def orphans(self) -> list[str]:
        """Foreign keys of the database that some row breaks."""
        broken = []
        for table in metadata.tables.values():
            for key in table.foreign_key_constraints:
                parent = key.referred_table.name
                same = " AND ".join(
                    f'child."{element.parent.name}" = parent."{element.column.name}"'
                    for element in key.elements
                )
                said = " AND ".join(f'child."{name}" IS NOT NULL' for name in key.column_keys)
                question = (
                    f'SELECT count(*) FROM "{table.name}" AS child WHERE {said}'
                    f' AND NOT EXISTS (SELECT FROM "{parent}" AS parent WHERE {same})'
                )
                if self.console.rows(question) != [(0,)]:
                    broken.append(f"{table.name} → {parent}")
        return broken


def _session(pid: int) -> int:
    with suppress(ProcessLookupError):
        return os.getsid(pid)
    return -1
