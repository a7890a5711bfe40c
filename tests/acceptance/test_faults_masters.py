"""Two masters for one run, a slave that comes back from the dead, a user in a hurry."""

from __future__ import annotations

import signal
import time

import pytest

from tests.acceptance.console import AS_ROOT, SCICUMULUS, Console, eventually, finish
from tests.acceptance.faults import Disturbed


@pytest.fixture
def run(console: Console) -> Disturbed:
    assert console.url  # so that the server is up
    console.extra |= {"PACE": "0.3", **AS_ROOT}
    return Disturbed(console, width=8)


def test_of_two_masters_by_hand_the_second_refuses(run: Disturbed) -> None:
    options = ("--fleet", "2xlocal", "--prepare", "--json")
    words = run.console("run", run.spec, *options).document["mpirun"]
    with run.held():
        run.process = run.console.start(*words)
        run.begun(2)
        second = run.console.execute(*words)
    assert second.code == 2, second
    assert "is being executed by another master" in second.err
    assert "Traceback" not in second.err
    run.finished()
    run.nothing_was_lost()


def test_after_a_killed_master_no_lock_is_left_to_be_removed(run: Disturbed) -> None:
    options = ("--fleet", "2xlocal", "--prepare", "--json")
    words = run.console("run", run.spec, *options).document["mpirun"]
    run.process = run.console.start(*words)
    run.begun(2)
    run.kill(run.ranks()[0])
    assert run.finish().code != 0
    run.process = run.console.start(*words)  # the same command again
    run.finished()
    run.nothing_was_lost(again=2)  # nobody supervises: the dying job ends its programs


def test_a_slave_that_comes_back_from_the_dead_is_fenced_off(run: Disturbed) -> None:
    run.start()
    run.begun(3)
    ghost = run.ranks()[-1]
    run.kill(ghost, number=signal.SIGSTOP)
    run.kill(run.process.pid, *run.launcher())
    run.kill(*(pid for pid in run.ranks() if pid != ghost))
    eventually(lambda: not run.launcher(), "the end of mpirun")
    run.process = run.console.start(SCICUMULUS, "resume", str(run.run_id), "--json")
    run.begun(6)
    run.kill(ghost, number=signal.SIGCONT)
    run.finished()
    run.nothing_was_lost()


def test_a_slave_that_only_dozed_is_let_be(run: Disturbed) -> None:
    run.start()
    run.begun(2)
    slave = run.ranks()[-1]
    run.kill(slave, number=signal.SIGSTOP)
    time.sleep(2)
    run.kill(slave, number=signal.SIGCONT)
    said = run.finished()
    assert "is started again" not in said.err
    run.nothing_was_lost()


def test_ctrl_c_twice_then_resume(run: Disturbed) -> None:
    run.start()
    run.begun(4)
    run.process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    run.process.send_signal(signal.SIGINT)
    said = finish(run.process)
    assert said.code == 4, said
    assert "Traceback" not in said.err
    eventually(lambda: not run.console.processes(), "the end of all processes", patience_s=20)
    run.resumed()
    run.nothing_was_lost(again=2)
