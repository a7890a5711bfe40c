"""A bench on which real programs are written, started and watched by a runner; no MPI."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

from scicore.engine import process
from scicore.engine.runner import Runner
from scicore.engine.wire import Welcome
from scicore.execution.messages import AttemptEnded, Start
from scicore.model.workflow import Activity, Field, FieldType, Operator, Relation, Row

PATIENCE_S = 60.0  # before a test gives up on a program
SLOW = "import time; time.sleep(1000)"


def looks() -> Iterator[None]:
    """As many as there is time for: some of them wait, others do not."""
    give_up_at = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_at:
        yield


def relation(name: str, *fields: str) -> Relation:
    return Relation(name, tuple(Field(field, FieldType.STRING) for field in fields))


WORK = Activity(
    "work", Operator.MAP, "", input=relation("given", "ID"), output=relation("made", "ID")
)


class Bench:
    """A place to write programs, and runners that run them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._runners: list[Runner] = []

    def python(self, code: str, name: str = "program") -> str:
        """The command that runs this code; tags may be added to it."""
        path = self.directory / f"{name}.py"
        path.write_text(dedent(code))
        return shlex.join([sys.executable, str(path)])

    def shell(self, code: str) -> str:
        path = self.directory / "program.sh"
        path.write_text(dedent(code))
        return f"sh {path}"

    def runner(self, *activities: Activity, adopts_orphans: bool = False, slots: int = 4) -> Runner:
        here, runs = str(self.directory), str(self.runs)
        welcome = Welcome("vm-1", runs, here, runs, activities, slots=slots)
        runner = Runner(welcome, adopts_orphans=adopts_orphans)
        runner.others |= process.children()  # other tests' servers are nobody's orphans
        self._runners.append(runner)
        return runner

    @property
    def runs(self) -> Path:
        return self.directory / "runs"

    def run(self, activity: Activity, *rows: Row) -> AttemptEnded:
        """One attempt from its start to its end."""
        runner = self.runner(activity)
        runner.start(order(activity, *rows))
        return ended(runner)

    def close(self) -> None:
        for runner in self._runners:
            runner.kill_all()
            while runner.busy:
                runner.wait(0.1)


def order(activity: Activity, *rows: Row, id: int = 1) -> Start:
    return Start("vm-1", id, 1, activity.tag, f"{activity.tag}/{id}", rows or (("x",),))


def ended(runner: Runner) -> AttemptEnded:
    """The one attempt that ends next."""
    for _ in looks():
        attempts = runner.wait(0.1)
        if attempts:
            (attempt,) = attempts
            return attempt
    raise AssertionError("the program did not end")


def appears(path: Path, runner: Runner) -> str:
    """The text of a file, as soon as a running program has written it."""
    for _ in looks():
        if path.exists() and path.read_text().endswith("\n"):
            return path.read_text().strip()
        assert runner.wait(0.1) == [], "the program ended too early"
    raise AssertionError(f"{path} did not appear")


def alive(pid: int) -> bool:
    """A zombie is dead; who should reap it may be slow."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def dies(pid: int, runner: Runner) -> bool:
    return any(not alive(pid) or runner.wait(0.1) for _ in looks())


WRITES_ITS_ARGUMENT = """
    import sys
    value = sys.argv[1].replace('"', '""')
    open("ERelation.txt", "w").write(f'ID\\n"{value}"\\n')
"""
