"""How programs are ended, with everything that they started."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest

from scicore.engine.runner import Runner
from scicore.model.activation import Cause
from tests.unit.engine.program_bench import (
    SLOW,
    WORK,
    Bench,
    appears,
    dies,
    ended,
    order,
)


def started(bench: Bench, command: str) -> Runner:
    work = replace(WORK, command=command)
    runner = bench.runner(work)
    runner.start(order(work))
    return runner


def test_a_cancelled_program_is_told_to_end(bench: Bench) -> None:
    runner = started(bench, bench.python(SLOW))
    runner.cancel(1, 1)
    attempt = ended(runner)
    assert (attempt.cause, attempt.exit_code) == (Cause.CANCELLED, -signal.SIGTERM)
    assert not runner.busy


def test_cancelling_another_attempt_cancels_nothing(bench: Bench) -> None:
    runner = started(bench, bench.python(SLOW))
    runner.cancel(1, 2)
    runner.cancel(2, 1)
    assert runner.wait(0.1) == []
    assert runner.busy


def test_cancelling_ends_the_children_of_a_shell_as_well(bench: Bench) -> None:
    runner = started(bench, bench.shell("sleep 1000 & echo $! > child.txt; wait"))
    child = int(appears(bench.runs / "work/1/child.txt", runner))
    runner.cancel(1, 1)
    assert ended(runner).cause is Cause.CANCELLED
    assert dies(child, runner)


def test_cancelling_ends_a_child_in_a_process_group_of_its_own(bench: Bench) -> None:
    """`timeout` makes one, and so does an interactive shell."""
    command = bench.python(
        """
        import os, subprocess
        child = subprocess.Popen(["sleep", "1000"], process_group=0)
        open("child.txt", "w").write(f"{child.pid}\\n")
        child.wait()
        """
    )
    runner = started(bench, command)
    child = int(appears(bench.runs / "work/1/child.txt", runner))
    assert os.getpgid(child) == child
    runner.cancel(1, 1)
    assert ended(runner).cause is Cause.CANCELLED
    assert dies(child, runner)


STUBBORN = """
    import signal, time, os
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open("deaf.txt", "w").write(f"{os.getpid()}\\n")
    time.sleep(1000)
"""


def test_a_program_that_ignores_sigterm_is_killed_after_the_grace_period(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scicore.engine.program.GRACE_S", 0.05)
    runner = started(bench, bench.python(STUBBORN))
    appears(bench.runs / "work/1/deaf.txt", runner)
    runner.cancel(1, 1)
    attempt = ended(runner)
    assert (attempt.cause, attempt.exit_code) == (Cause.CANCELLED, -signal.SIGKILL)


def test_a_child_that_ignores_sigterm_is_killed_even_if_its_parent_did_not(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scicore.engine.program.GRACE_S", 0.05)
    stubborn = bench.python(STUBBORN, name="stubborn")
    runner = started(bench, bench.shell(f"{stubborn} & wait"))
    child = int(appears(bench.runs / "work/1/deaf.txt", runner))
    runner.cancel(1, 1)
    assert ended(runner).cause is Cause.CANCELLED
    assert dies(child, runner)


def test_a_child_has_its_grace_period_even_if_its_parent_ends_at_once(bench: Bench) -> None:
    tidy = bench.python(
        """
        import pathlib, signal, time
        def tidy_up(number, frame):
            time.sleep(0.2)
            pathlib.Path("tidy.txt").touch()
            raise SystemExit
        signal.signal(signal.SIGTERM, tidy_up)
        open("ready.txt", "w").write("yes\\n")
        time.sleep(1000)
        """,
        name="tidy",
    )
    runner = started(bench, bench.shell(f"{tidy} & wait"))
    appears(bench.runs / "work/1/ready.txt", runner)
    runner.cancel(1, 1)
    assert ended(runner).cause is Cause.CANCELLED
    assert (bench.runs / "work/1/tidy.txt").exists()


def test_when_the_slave_is_ended_nothing_it_started_stays(bench: Bench) -> None:
    stubborn = bench.python(STUBBORN, name="stubborn")
    runner = started(bench, bench.shell(f"{stubborn} & wait"))
    child = int(appears(bench.runs / "work/1/deaf.txt", runner))
    runner.kill_all()
    assert ended(runner).exit_code == -signal.SIGKILL
    assert dies(child, runner)
