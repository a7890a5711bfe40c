"""A place where real processes serve many activations, driven by a runner; no MPI."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from textwrap import dedent

from scicore.engine.runner import Runner
from scicore.engine.wire import Welcome
from scicore.execution.messages import AttemptEnded, Start
from scicore.model.activation import Cause
from scicore.model.workflow import Activity, Batch, Field, FieldType, Operator, Relation, Row
from tests.unit.engine.program_bench import looks

ID = Field("ID", FieldType.STRING)
GIVEN = Relation("given", (ID,))

MODULE = """
    import os, pathlib, signal, sys, time

    def same(t): return {"ID": t["ID"].upper()}
    def odd(t): return {} if int(t["ID"]) % 2 else None
    def many(t): return [{"ID": f"{t['ID']}.{n}"} for n in range(int(t["ID"]))]
    def worker(t): return {"ID": os.getpid()}
    def picky(t):
        if t["ID"] == "3":
            raise ValueError("three is too much")
        return {}
    def deadly(t):
        if t["ID"] == "3":
            os.kill(os.getpid(), signal.SIGSEGV)
        return {}
    def endless(t):
        if t["ID"] == "3":
            time.sleep(1000)
        return {}
    def leaves(t):
        sys.exit("enough")
    def burns(t):
        end = time.process_time() + 0.2
        while time.process_time() < end: pass
        return {}
    def writes(t):
        pathlib.Path("made.txt").write_text(t["ID"])
        return {"FILE": "made.txt"}
    def reads(t):
        return {"ID": pathlib.Path(t["FILE"]).read_text() + os.path.basename(os.getcwd())}
    def surrogate(t): return {"ID": "\\ud800"}
    def speaks(t):
        print("hello")
        return {}
"""

PROGRAM = """
    import sys
    print("ID")
    next(sys.stdin)
    for line in sys.stdin:
        value = line.strip()
        if value == "die": sys.exit("dead")
        if value == "hang":
            import time; time.sleep(1000)
        if value == "mute":
            import os, time
            os.close(1); time.sleep(1000)
        if value == "slow":
            import time; time.sleep(0.05)
        if value == "two": print(value)
        if value == "wrong": print("a;b;c")
        elif value != "none": print(value)
        print(flush=True)
"""


class Place:
    def __init__(self, directory: Path, slots: int = 1) -> None:
        self.directory = directory
        self.slots = slots
        (directory / "work.py").write_text(dedent(MODULE))
        (directory / "program.py").write_text(dedent(PROGRAM))
        self.runners: list[Runner] = []

    def function(self, name: str, operator: Operator = Operator.MAP, **more: object) -> Activity:
        made = more.pop("output", Relation("made", (ID,)))
        given = more.pop("input", GIVEN)
        return Activity("work", operator, f"python:work.{name}", given, made, **more)  # type: ignore[arg-type]

    def program(self, operator: Operator = Operator.MAP, timeout_s: float = 0.0) -> Activity:
        command = shlex.join([sys.executable, str(self.directory / "program.py")])
        made = Relation("made", (ID,))
        return Activity(
            "work", operator, command, GIVEN, made, batch=Batch.STDIN, timeout_s=timeout_s
        )

    def runner(self, activity: Activity) -> Runner:
        here = str(self.directory)
        runs = str(self.directory / "runs")
        runner = Runner(Welcome("vm-1", runs, here, here, (activity,), slots=self.slots))
        self.runners.append(runner)
        return runner

    def run(self, activity: Activity, *values: str) -> list[AttemptEnded]:
        """One attempt per value, in their order."""
        runner = self.runner(activity)
        runner.start(*orders(*values))
        ended = collect(runner, len(values))
        for _ in looks():
            if not runner.busy:
                break
            assert runner.wait(0.1) == []
        return sorted(ended, key=lambda attempt: attempt.activation)

    def close(self) -> None:
        for runner in self.runners:
            runner.kill_all()
            while runner.busy:
                runner.wait(0.1)


def orders(*values: str) -> list[Start]:
    return [
        Start("vm-1", id, 1, "work", f"work/{id}", ((value,),))
        for id, value in enumerate(values, 1)
    ]


def collect(runner: Runner, count: int) -> list[AttemptEnded]:
    ended: list[AttemptEnded] = []
    for _ in looks():
        ended += runner.wait(min(0.1, runner.patience_s()))
        if len(ended) >= count:
            return ended
    raise AssertionError(f"only {len(ended)} of {count} ended")


def rows(attempts: list[AttemptEnded]) -> list[tuple[Row, ...]]:
    return [attempt.rows for attempt in attempts]


def causes(attempts: list[AttemptEnded]) -> list[Cause]:
    return [attempt.cause for attempt in attempts]
