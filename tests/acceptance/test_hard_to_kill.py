"""Whatever is killed: a recorded result is never lost, and what ran or had finished never runs
again. Real mpirun, real PostgreSQL, real signals."""

from __future__ import annotations

import signal

import pytest

from scicore.engine.process import look
from tests.acceptance.console import SCICUMULUS, Console, eventually, finish
from tests.acceptance.faults import Disturbed


@pytest.fixture
def run(console: Console) -> Disturbed:
    console.extra |= {"PACE": "0.3"}
    return Disturbed(console)


@pytest.mark.parametrize("begun", [2, 7])
def test_kill_of_a_slave(run: Disturbed, begun: int) -> None:
    run.start()
    run.begun(begun)
    run.kill(run.ranks()[-1])
    said = run.finish()
    assert said.code == 0, said
    assert "is started again" in said.err
    run.nothing_was_lost()


@pytest.mark.parametrize("begun", [1, 5, 11])
def test_kill_of_the_master(run: Disturbed, begun: int) -> None:
    run.start()
    run.begun(begun)
    run.kill(run.ranks()[0])
    said = run.finish()
    assert said.code == 0, said
    run.nothing_was_lost()


def test_kill_of_mpirun(run: Disturbed) -> None:
    run.start()
    run.begun(3)
    run.kill(run.processes(r"bin/(mpirun|prterun) ")[0])
    said = run.finish()
    assert said.code == 0, said
    run.nothing_was_lost()


def test_kill_of_a_keeper_costs_only_what_it_ran(run: Disturbed) -> None:
    run.start()
    run.begun(3)
    keepers: list[int] = []

    def found() -> bool:
        """Programs that began a moment before may still end."""
        keepers[:] = [seen.parent for seen in map(look, run.programs()) if seen is not None]
        return bool(keepers)

    with run.held():
        eventually(found, "a program under its keeper")
        run.kill(keepers[0])
    said = run.finish()
    assert said.code == 0, said
    run.nothing_was_lost(again=1)


def test_kill_of_the_supervisor_then_resume(run: Disturbed) -> None:
    run.start()
    run.begun(3)
    with run.held():  # its job goes on without it, and could be done before we are back
        run.kill(run.process.pid)
        resuming = run.console.start(SCICUMULUS, "resume", str(run.run_id), "--json")
        assert resuming.stderr is not None
        assert "a master that is at work; waiting for it" in resuming.stderr.readline()
    said = finish(resuming)
    assert (said.code, said.document["state"]) == (0, "finished"), said
    run.nothing_was_lost()


def test_kill_of_everything_at_once_then_resume(run: Disturbed) -> None:
    run.start()
    run.begun(5)
    eventually(lambda: run.recorded() >= 1, "a recorded result")
    run.kill(*run.console.processes())
    eventually(lambda: not run.console.processes(), "the end of all processes")
    run.resumed()
    run.nothing_was_lost(again=2)


def test_ctrl_c_then_resume(run: Disturbed) -> None:
    run.start()
    run.begun(4)
    run.process.send_signal(signal.SIGINT)
    said = run.finish()
    assert said.code == 4, said
    eventually(lambda: not run.console.processes(), "the end of all processes", patience_s=20)
    run.resumed()
    run.nothing_was_lost(again=2)


def test_kill_of_a_master_that_has_not_yet_taken_up_a_run_that_was_stopped(run: Disturbed) -> None:
    run.start()
    run.begun(4)
    run.process.send_signal(signal.SIGINT)
    assert run.finish().code == 4
    run.process = run.console.start(SCICUMULUS, "resume", str(run.run_id), "--json")
    eventually(run.ranks, "a master")
    run.kill(run.ranks()[0])
    said = run.finish()
    assert said.code == 0, said
    run.nothing_was_lost(again=2)


def test_a_stopped_slave_is_noticed_and_replaced(run: Disturbed) -> None:
    run.console.extra["SCICUMULUS_LEASE_S"] = "7"
    run.start()
    run.begun(2)
    run.kill(run.ranks()[-1], number=signal.SIGSTOP)
    said = run.finish()
    assert said.code == 0, said
    assert "has been silent for too long" in said.err
    run.nothing_was_lost()


def test_a_second_master_is_refused(run: Disturbed) -> None:
    run.start()
    run.begun(2)
    words = run.processes(r"bin/(mpirun|prterun) ")
    assert words
    said = run.console("resume", str(run.run_id), "--json")  # it waits for the first one instead
    assert said.code == 0, said
    assert "has a master that is at work" in said.err
    assert run.finish().code == 0
    run.nothing_was_lost()


def test_a_paused_run_stays_paused_when_its_job_dies(run: Disturbed) -> None:
    with run.held():
        run.start()
        run.begun(2)
        assert run.console("pause", str(run.run_id)).code == 0
        before = run.ranks()
        run.kill(before[0])
        eventually(lambda: run.ranks() and not {*before} & {*run.ranks()}, "another job")
    eventually(lambda: run.recorded() == 2, "what ran is recorded")
    assert run.starts("square").total() == 2
    assert run.console("resume", str(run.run_id)).code == 0
    assert run.finish().code == 0
    run.nothing_was_lost()
