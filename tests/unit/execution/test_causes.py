"""Why programs die, and what is tried again."""

from __future__ import annotations

import errno
import signal

import pytest

from scicore.execution.causes import RETRY, Where, cause_of_error, cause_of_exit
from scicore.execution.messages import Stop
from scicore.model.activation import ActivationState, Cause
from scicore.model.workflow import Operator
from tests.unit.execution.building import Stage, activity, fleet, plan, relation, workflow

GB = 1 << 30
KILL, SEGV, TERM, ABRT = -signal.SIGKILL, -signal.SIGSEGV, -signal.SIGTERM, -signal.SIGABRT


@pytest.mark.parametrize(
    ("exit_code", "stderr", "peak_bytes", "limit_bytes", "cause"),
    [
        (0, "", 0, 0, Cause.FINISHED),
        (0, "MemoryError: but I went on", GB, GB, Cause.FINISHED),
        (1, "", 0, 0, Cause.EXIT_CODE),
        (1, "no such star", GB // 2, GB, Cause.EXIT_CODE),
        (SEGV, "", 0, 0, Cause.SIGNAL),
        (TERM, "", GB, GB, Cause.SIGNAL),  # nobody runs out of memory politely
        (139, "Segmentation fault", 0, 0, Cause.EXIT_CODE),
        # out of memory
        (KILL, "", 0, 0, Cause.OUT_OF_MEMORY),
        (137, "Killed", 0, 0, Cause.OUT_OF_MEMORY),  # as a shell tells it
        (KILL, "", GB // 2, GB, Cause.OUT_OF_MEMORY),
        (KILL, "", GB // 100, GB, Cause.SIGNAL),  # somebody killed it, but not for its memory
        (137, "", GB // 100, GB, Cause.EXIT_CODE),
        (KILL, "Killed process 7 (x), oom-kill:constraint", 1, GB, Cause.OUT_OF_MEMORY),
        (SEGV, "", GB, GB, Cause.OUT_OF_MEMORY),  # malloc gave nothing, nobody looked
        (ABRT, "", GB * 95 // 100, GB, Cause.OUT_OF_MEMORY),
        (ABRT, "terminate called: what():  std::bad_alloc", 0, 0, Cause.OUT_OF_MEMORY),
        (1, "Traceback…\nMemoryError", 0, 0, Cause.OUT_OF_MEMORY),
        (1, "numpy.core._exceptions._ArrayMemoryError: Unable", 0, 0, Cause.OUT_OF_MEMORY),
        (1, "sort: Cannot allocate memory", 0, 0, Cause.OUT_OF_MEMORY),
        (1, "Error: cannot allocate vector of size 8.0 Gb", 0, 0, Cause.OUT_OF_MEMORY),
        (1, "java.lang.OutOfMemoryError: Java heap space", 0, 0, Cause.OUT_OF_MEMORY),
        (3, "Out of memory!", 0, 0, Cause.OUT_OF_MEMORY),
        (1, "Memory cgroup out of memory: Killed process", 0, 0, Cause.OUT_OF_MEMORY),
        (2, "virtual memory exhausted", 0, 0, Cause.OUT_OF_MEMORY),
        (101, "memory allocation of 900 bytes failed", 0, 0, Cause.OUT_OF_MEMORY),
        (134, "FATAL ERROR: JavaScript heap out of memory", 0, 0, Cause.OUT_OF_MEMORY),
        (1, "ERROR: OutOfMemoryError()", 0, 0, Cause.OUT_OF_MEMORY),
        (134, "Unhandled exception. System.OutOfMemoryException", 0, 0, Cause.OUT_OF_MEMORY),
        (1, "failed to allocate memory (NoMemoryError)", 0, 0, Cause.OUT_OF_MEMORY),
        (255, "Allowed memory size of 134217728 bytes exhausted", 0, 0, Cause.OUT_OF_MEMORY),
        (1, "slurmstepd: error: Exceeded job memory limit", 0, 0, Cause.OUT_OF_MEMORY),
        (1, "Unable to allocate 7.3 TiB for an array", 0, 0, Cause.OUT_OF_MEMORY),
        # disk full
        (1, "cp: error writing 'x': No space left on device", 0, 0, Cause.DISK_FULL),
        (1, "OSError: [Errno 122] Disk quota exceeded", 0, 0, Cause.DISK_FULL),
        (1, "write failed (ENOSPC)", 0, 0, Cause.DISK_FULL),
        (-signal.SIGXFSZ, "", 0, 0, Cause.DISK_FULL),
        # the rest
        (-signal.SIGXCPU, "", 0, 0, Cause.TIMEOUT),
        (127, "sh: 1: mProjekt: not found", 0, 0, Cause.NO_PROGRAM),
        (126, "sh: 1: ./x: Permission denied", 0, 0, Cause.NO_PROGRAM),
    ],
)
def test_a_programs_end_tells_its_cause(
    exit_code: int, stderr: str, peak_bytes: int, limit_bytes: int, cause: Cause
) -> None:
    assert cause_of_exit(exit_code, stderr, peak_bytes, limit_bytes) is cause


@pytest.mark.parametrize(
    ("number", "starting", "cause"),
    [
        (errno.ENOENT, True, Cause.NO_PROGRAM),
        (errno.EACCES, True, Cause.NO_PROGRAM),
        (errno.ENOENT, False, Cause.NOT_STARTED),  # an input file, say: it may come yet
        (errno.EAGAIN, True, Cause.NOT_STARTED),
        (errno.ENOMEM, True, Cause.OUT_OF_MEMORY),
        (errno.ENOSPC, True, Cause.DISK_FULL),
        (errno.EDQUOT, False, Cause.DISK_FULL),
        (None, False, Cause.NOT_STARTED),
    ],
)
def test_an_error_of_the_system_tells_its_cause(
    number: int | None, starting: bool, cause: Cause
) -> None:
    assert cause_of_error(number, starting=starting) is cause


@pytest.mark.parametrize("exit_code", [KILL, 137])
def test_who_is_held_to_a_size_and_killed_lacked_memory_wherever_it_was(exit_code: int) -> None:
    """A container's or another host's processes are not seen: their peak is next to nothing."""
    assert cause_of_exit(exit_code, "", GB // 100, GB, sized=True) is Cause.OUT_OF_MEMORY
    assert cause_of_exit(TERM, "", GB // 100, GB, sized=True) is Cause.SIGNAL


def test_there_is_a_rule_for_every_end_that_is_no_success() -> None:
    assert set(RETRY) == set(Cause) - {Cause.FINISHED}


# --- in a run -----------------------------------------------------------------------------------

SOURCE = relation("source", "ID")
WORK = activity("work", Operator.MAP, SOURCE, "ID")


def on(*slots: int, max_attempts: int = 3) -> Stage:
    """work.1 is planned for vm-1."""
    spec = workflow(SOURCE, (("x",),), WORK, max_attempts=max_attempts)
    stage = Stage(spec, plan(fleet(*slots), {"work.1": "vm-1"}))
    stage.begin(*(f"vm-{number}" for number in range(1, len(slots) + 1)))
    return stage


@pytest.mark.parametrize("cause", [cause for cause, rule in RETRY.items() if not rule.counts])
def test_what_is_not_the_programs_fault_uses_up_none_of_its_attempts(cause: Cause) -> None:
    stage = on(1, max_attempts=1)
    for _ in range(5):
        assert stage.started(stage.fail("work.1", cause)) == ["work.1"]


@pytest.mark.parametrize("cause", [cause for cause, rule in RETRY.items() if rule.counts])
def test_what_may_be_the_programs_fault_ends_when_its_attempts_are_used_up(cause: Cause) -> None:
    stage = on(1, 1, 1, 1, max_attempts=3)
    stage.fail("work.1", cause)
    stage.fail("work.1", cause)
    assert stage.states() == {"work.1": ActivationState.RUNNING}
    stage.fail("work.1", cause)
    assert stage.states() == {"work.1": ActivationState.FAILED}


@pytest.mark.parametrize("cause", [cause for cause, rule in RETRY.items() if rule.counts])
def test_another_attempt_goes_elsewhere_where_that_can_help(cause: Cause) -> None:
    stage = on(1, 1)
    stage.fail("work.1", cause)
    same = RETRY[cause].where is Where.ANY
    assert stage.order("work.1").vm == ("vm-1" if same else "vm-2")


def test_a_missing_program_is_not_looked_for_twice_in_the_same_place() -> None:
    stage = on(1)
    assert stage.fail("work.1", Cause.NO_PROGRAM) == [Stop("vm-1")]
    assert stage.states() == {"work.1": ActivationState.FAILED}


def test_a_program_that_is_missing_everywhere_is_looked_for_everywhere_once() -> None:
    stage = on(1, 1, 1, max_attempts=9)
    seen = [stage.order("work.1").vm]
    while stage.started(stage.fail("work.1", Cause.NO_PROGRAM)):
        seen.append(stage.order("work.1").vm)
    assert sorted(seen) == ["vm-1", "vm-2", "vm-3"]


def test_a_missing_program_may_be_on_another_vm() -> None:
    stage = on(1, 1)
    assert stage.started(stage.fail("work.1", Cause.NO_PROGRAM)) == ["work.1"]
    assert stage.order("work.1").vm == "vm-2"
    stage.finish("work.1", ("y",))
    assert stage.states() == {"work.1": ActivationState.FINISHED}
