"""How a job is waited for: real processes in mpirun's place."""

from __future__ import annotations

import subprocess
import sys

from scicore.engine.launch import supervise


def job(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code], start_new_session=True)


def test_a_job_that_died_before_anybody_looked_after_it_says_so_by_its_exit_code() -> None:
    dead = job("raise SystemExit(7)")
    dead.wait()
    outcome = supervise([], {}, poll=lambda: False, poll_s=60.0, begun=dead)
    assert (outcome.exit_code, outcome.left, outcome.stop_asked) == (7, False, False)


def test_the_end_of_a_job_is_known_between_two_looks() -> None:
    def look() -> bool:
        raise AssertionError("an hour has not passed")

    brief = job("import time; time.sleep(0.3); raise SystemExit(5)")
    assert supervise([], {}, poll=look, poll_s=3600.0, begun=brief).exit_code == 5


def test_a_job_whose_hosts_have_changed_is_asked_to_leave() -> None:
    endless = job("import time; time.sleep(1000)")
    outcome = supervise([], {}, poll=lambda: True, poll_s=0.1, begun=endless)
    assert outcome.left
    assert endless.returncode != 0
