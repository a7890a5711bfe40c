"""Real processes that serve many activations, driven by the runner; no MPI."""

from __future__ import annotations

import os
import select
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from scicore.engine import pool
from scicore.engine.lines import StdinWorker
from scicore.engine.runner import Runner
from scicore.engine.streams import STDERR
from scicore.engine.wire import Welcome
from scicore.execution.messages import AttemptEnded, Start
from scicore.model.activation import Cause
from scicore.model.workflow import (
    Activity,
    Batch,
    Field,
    FieldType,
    FileOperation,
    Operator,
    Relation,
    Row,
    Staging,
)
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


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    place.close()


# --- functions -----------------------------------------------------------------------------------


def test_a_function_is_called_with_each_tuple(place: Place) -> None:
    ended = place.run(place.function("same"), "a", "b", "c")
    assert rows(ended) == [(("A",),), (("B",),), (("C",),)]
    assert {attempt.command for attempt in ended} == {"python:work.same"}
    assert {attempt.exit_code for attempt in ended} == {0}


def test_filter_and_split_map_give_what_they_return(place: Place) -> None:
    assert rows(place.run(place.function("odd", Operator.FILTER), "1", "2")) == [(("1",),), ()]
    many = place.run(place.function("many", Operator.SPLIT_MAP), "2", "0")
    assert rows(many) == [(("2.0",), ("2.1",)), ()]


def test_one_process_serves_all_of_a_slot(place: Place) -> None:
    ended = place.run(place.function("worker"), *map(str, range(50)))
    assert len(set(rows(ended))) == 1


def test_each_slot_has_a_process_of_its_own(tmp_path: Path) -> None:
    place = Place(tmp_path, slots=2)
    ended = place.run(place.function("burns"), *map(str, range(8)))
    assert {attempt.slot for attempt in ended} == {1, 2}
    place.close()


def test_an_exception_fails_its_activation_alone_with_its_traceback(place: Place) -> None:
    ended = place.run(place.function("picky"), *map(str, range(1, 6)))
    third = ended.pop(2)
    assert causes(ended) == [Cause.FINISHED] * 4
    assert third.cause is Cause.EXIT_CODE
    assert "ValueError: three is too much" in third.stderr_tail
    assert "line" in third.stderr_tail
    assert "function_worker" not in third.stderr_tail


def test_a_crash_fails_its_activation_alone(place: Place) -> None:
    ended = place.run(place.function("deadly"), *map(str, range(1, 41)))
    third = ended.pop(2)
    assert causes(ended) == [Cause.FINISHED] * 39
    assert (third.cause, third.exit_code) == (Cause.SIGNAL, -11)
    assert "Segmentation fault" in third.stderr_tail


def test_a_timeout_fails_its_activation_alone(place: Place) -> None:
    ended = place.run(place.function("endless", timeout_s=1.0), *map(str, range(1, 41)))
    third = ended.pop(2)
    assert causes(ended) == [Cause.FINISHED] * 39
    assert third.cause is Cause.TIMEOUT


def test_what_a_worker_is_at_can_be_cancelled_and_the_others_go_on(place: Place) -> None:
    runner = place.runner(place.function("endless"))
    runner.start(*orders(*map(str, range(1, 6))))
    first = collect(runner, 2)
    assert [attempt.activation for attempt in first] == [1, 2]
    runner.cancel(3, 1)
    others = collect(runner, 3)
    assert {attempt.activation: attempt.cause for attempt in others} == {
        3: Cause.CANCELLED,
        4: Cause.FINISHED,
        5: Cause.FINISHED,
    }


def test_all_can_be_cancelled_at_once(place: Place) -> None:
    runner = place.runner(place.function("endless"))
    runner.start(*orders(*["3"] * 20))
    runner.wait(0.5)
    for id in range(1, 21):
        runner.cancel(id, 1)
    assert causes(collect(runner, 20)) == [Cause.CANCELLED] * 20
    assert not runner.busy


def test_what_has_not_ended_is_claimed(place: Place) -> None:
    runner = place.runner(place.function("endless"))
    runner.start(*orders("3", "4", "5"))
    runner.wait(0.2)
    assert [order.activation for order in runner.granted] == [1, 2, 3]


def test_sys_exit_fails_the_activation_not_the_worker(place: Place) -> None:
    ended = place.run(place.function("leaves"), "1", "2")
    assert causes(ended) == [Cause.EXIT_CODE] * 2
    assert "SystemExit: enough" in ended[0].stderr_tail


def test_a_module_that_cannot_be_imported_fails_the_attempt(place: Place) -> None:
    (place.directory / "work.py").write_text("import nothing_like_this\n")
    (attempt,) = place.run(place.function("same"), "a")
    assert attempt.cause is Cause.EXIT_CODE
    assert "No module named 'nothing_like_this'" in attempt.stderr_tail


def test_a_function_that_is_not_there_fails_the_attempt(place: Place) -> None:
    (attempt,) = place.run(place.function("nowhere"), "a")
    assert "has no attribute 'nowhere'" in attempt.stderr_tail


def test_cpu_time_is_that_of_the_call(place: Place) -> None:
    burnt, idle = place.run(place.function("burns"), "1"), place.run(place.function("same"), "1")
    assert 0.15 < burnt[0].usage.cpu_s < 0.6
    assert idle[0].usage.cpu_s < 0.15
    assert burnt[0].usage.peak_rss_bytes > 1 << 20


def test_text_that_cannot_be_stored_fails_its_activation(place: Place) -> None:
    (attempt,) = place.run(place.function("surrogate"), "a")
    assert attempt.cause is Cause.BAD_OUTPUT


def test_what_it_prints_is_kept_and_harms_nothing(place: Place) -> None:
    (attempt,) = place.run(place.function("speaks"), "a")
    assert attempt.cause is Cause.FINISHED
    assert Path(attempt.workspace, "stdout.txt").read_text() == "hello\n"


def test_no_workspace_is_made_unless_files_are_expected(place: Place) -> None:
    place.run(place.function("same"), "a", "b")
    assert [path.name for path in (place.directory / "runs/work").iterdir()] == ["worker-vm-1-1"]
    made = Relation("made", (Field("FILE", FieldType.FILE),))
    ended = place.run(place.function("writes", output=made), "a", "b")
    assert [Path(attempt.rows[0][0]).read_text() for attempt in ended] == ["a", "b"]
    assert [attempt.files[0].size_bytes for attempt in ended] == [1, 1]


def test_files_are_staged_where_they_are_asked_for(place: Place) -> None:
    (place.directory / "data.txt").write_text("data in ")
    activity = place.function(
        "reads",
        input=Relation("given", (Field("FILE", FieldType.FILE),)),
        staging=(Staging("FILE", FileOperation.COPY),),
    )
    (attempt,) = place.run(activity, str(place.directory / "data.txt"))
    assert attempt.rows == (("data in 1",),)


def test_a_module_of_the_workflow_cannot_stand_in_for_one_of_ours(place: Place) -> None:
    (place.directory / "msgspec.py").write_text("raise SystemExit('stolen')\n")
    assert rows(place.run(place.function("same"), "a")) == [(("A",),)]


def test_many_go_through_a_full_pipe(place: Place) -> None:
    values = [str(number) * 500 for number in range(600)]
    ended = place.run(place.function("same"), *values)
    assert rows(ended) == [((value,),) for value in values]


# --- programs on stdin ---------------------------------------------------------------------------


def test_a_program_answers_each_line(place: Place) -> None:
    ended = place.run(place.program(), *map(str, range(100)))
    assert rows(ended) == [((str(number),),) for number in range(100)]
    assert len({attempt.workspace for attempt in ended}) == 1


def test_it_may_answer_with_none_or_many(place: Place) -> None:
    ended = place.run(place.program(Operator.SPLIT_MAP), "none", "two", "one")
    assert rows(ended) == [(), (("two",), ("two",)), (("one",),)]


def wait_for_end(pidfd: int) -> None:
    assert select.select([pidfd], [], [], 30.0)[0]


def test_a_malformed_answer_fails_its_activation_alone(place: Place) -> None:
    ended = place.run(place.program(), "a", "wrong", "b", "c")
    wrong = ended.pop(1)
    assert rows(ended) == [(("a",),), (("b",),), (("c",),)]
    assert wrong.cause is Cause.BAD_OUTPUT
    assert "found 3 values, expected 1" in wrong.stderr_tail


def test_too_many_tuples_for_the_operator_are_a_malformed_answer(place: Place) -> None:
    (two,) = place.run(place.program(Operator.MAP), "two")
    assert "found 2 tuples, expected exactly one" in two.stderr_tail


def test_its_death_fails_the_activation_that_it_was_at(place: Place) -> None:
    ended = place.run(place.program(), *map(str, range(20)), "die", "b", "c")
    dead = ended.pop(20)
    assert causes(ended) == [Cause.FINISHED] * 22
    assert (dead.cause, dead.exit_code) == (Cause.EXIT_CODE, 1)
    assert dead.stderr_tail.endswith("dead")


def test_last_words_are_its_own_however_late_they_are_looked_at(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between hearing answers and whatever comes next, the program goes on until it has died."""
    said = place.directory / "runs/work/worker-vm-1-1" / STDERR
    hear = StdinWorker.heard

    def heard(worker: StdinWorker) -> bytes:
        data = hear(worker)
        until = time.monotonic() + 0.5
        while data and not said.stat().st_size and time.monotonic() < until:
            time.sleep(0.01)
        return data

    monkeypatch.setattr(StdinWorker, "heard", heard)
    monkeypatch.setattr(pool, "HELD_S", 1000.0)  # it has all that waits in hand
    ended = place.run(place.program(), "a", "slow", "slow", "slow", "die")
    assert ended[-1].stderr_tail == "dead"


def test_what_it_says_before_anybody_looks_is_not_the_one_befores(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = StdinWorker.__init__

    def slowly(worker: StdinWorker, *details: Any) -> None:
        made(worker, *details)
        wait_for_end(worker.process.pidfd)

    monkeypatch.setattr(StdinWorker, "__init__", slowly)
    stillborn = replace(place.program(), command="sh -c 'echo no licence >&2; exit 3'")
    first, second = place.run(stillborn, "a", "b")
    assert [first.stderr_tail, second.stderr_tail] == ["no licence"] * 2


def test_a_program_that_hangs_is_ended_after_its_timeout(place: Place) -> None:
    ended = place.run(place.program(timeout_s=1.0), "a", "hang", "b")
    assert causes(ended) == [Cause.FINISHED, Cause.TIMEOUT, Cause.FINISHED]


def test_a_program_that_closes_its_output_is_not_waited_for(place: Place) -> None:
    runner = place.runner(place.program())
    runner.start(*orders("a", "mute", "b"))
    looks = 0
    ended: list[AttemptEnded] = []
    while len(ended) < 3:
        ended += runner.wait(min(0.1, runner.patience_s()))
        looks += 1
    ended.sort(key=lambda attempt: attempt.activation)
    assert causes(ended) == [Cause.FINISHED, Cause.BAD_OUTPUT, Cause.FINISHED]
    assert "ended without an answer" in ended[1].stderr_tail
    assert looks < 1000  # the end of its output woke nobody again and again


def test_a_program_that_is_not_there_fails_every_activation(place: Place) -> None:
    made = Relation("made", (ID,))
    activity = Activity("work", Operator.MAP, "/no/such", GIVEN, made, batch=Batch.STDIN)
    ended = place.run(activity, "a", "b")
    assert causes(ended) == [Cause.NOT_STARTED] * 2
    assert "/no/such" in ended[0].stderr_tail


def test_nothing_is_left_of_workers(place: Place) -> None:
    (attempt,) = place.run(place.function("worker"), "a")
    pid = int(attempt.rows[0][0])
    os.kill(pid, 0)
    place.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
