"""An MPI job that is started before its run is prepared."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from scicore.engine.launch import EarlyJob
from scicore.engine.private import private_place
from scicore.engine.process import everyone

PATIENCE_S = 60.0


def vanishes(session: int) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while any(seen.session == session for seen in everyone()):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def test_a_job_that_nobody_wants_any_more_is_ended() -> None:
    with EarlyJob(1, {}, to_stderr=True) as early:
        session = early.pid
        assert any(seen.session == session for seen in everyone())
    assert vanishes(session)


def test_a_jobs_files_are_no_other_jobs_and_go_with_it() -> None:
    own = private_place() / f"mpi-{os.getpid()}"
    with EarlyJob(1, {}, to_stderr=True) as early:
        assert early.answers()
        assert [path.name for path in own.iterdir()] == [f"ompi.{early.pid}"]
    assert not own.exists()


@pytest.mark.parametrize("moment", ["time.sleep(0)", "early.answers()"])
def test_a_job_ends_when_whoever_started_it_is_killed(moment: str) -> None:
    """Before its master has called, or after."""
    code = f"""
import os, signal, time
from scicore.engine.launch import EarlyJob
early = EarlyJob(1, {{}}, to_stderr=True)
print(early.pid, flush=True)
{moment}
os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=PATIENCE_S)
    assert vanishes(int(killed.stdout)), killed.stderr.decode()
