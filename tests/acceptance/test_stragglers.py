"""Attempts that take unusually long get a double, VMs that fail too often get no more work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.console import Console
from tests.acceptance.workflows import PASS_ON, Step, write_workflow

# `SCICUMULUS_ATTEMPT` ends with the VM, the activation and the attempt's number.
ONE_HANGS = f'case "$1 $SCICUMULUS_ATTEMPT" in "8 "*.1) sleep 300 ;; esac\nsleep 0.1\n{PASS_ON}'
ONE_VM_FAILS = f'case "$SCICUMULUS_ATTEMPT" in *" local-1 "*) exit 1 ;; esac\nsleep 0.1\n{PASS_ON}'


def workflow(console: Console, program: str, rows: int, wishes: str, max_failure: int = 1) -> Path:
    numbers = [(str(number),) for number in range(1, rows + 1)]
    spec = write_workflow(
        console.directory / "wf", [Step("work", program)], numbers, max_failure=max_failure
    )
    spec.write_text(spec.read_text().replace("<executionWorkflow", f"<executionWorkflow {wishes}"))
    return spec


def test_a_double_is_faster_than_a_straggler_which_is_ended_and_leaves_nothing(
    console: Console,
) -> None:
    run = console.run(workflow(console, ONE_HANGS, 8, 'redundancy="true"'))
    assert (run["finished"], run["failed"], run["attempts"]) == (8, 0, 9)
    attempts = console.rows(
        "SELECT number, cause, redundant, attempt.vm = activation.vm, moved_because"
        " FROM attempt JOIN activation USING (run_id, activation_id)"
        " WHERE run_id = %s AND attempts = 2 ORDER BY number",
        run["run_id"],
    )
    because = attempts[0][-1]
    assert "straggler" in because
    assert attempts == [
        (1, "cancelled", False, False, because),
        (2, "finished", True, True, because),
    ]
    results = "SELECT count(*), count(DISTINCT generated_by) FROM tuple WHERE run_id = %s"
    assert console.rows(f"{results} AND generated_by IS NOT NULL", run["run_id"]) == [(8, 8)]
    assert not [words for words in console.processes().values() if "sleep" in words]


@pytest.mark.parametrize("dispatch", ["adaptive", "dynamic"])
def test_a_vm_that_fails_too_often_is_drained_and_the_others_do_its_work(
    console: Console, dispatch: str
) -> None:
    """It fails at once, so that it is idle most of the time: nothing comes back to it."""
    spec = workflow(console, ONE_VM_FAILS, 40, 'reliability="0.9"', max_failure=2)
    run = console.run(spec, "--dispatch", dispatch, fleet="3xlocal")
    assert (run["finished"], run["failed"]) == (40, 0)
    vms = (
        "SELECT vm, state = 'drained' OR reason <> '', reason FROM vm WHERE run_id = %s ORDER BY vm"
    )
    (bad, *others) = console.rows(vms, run["run_id"])
    assert bad[:2] == ("local-1", True), bad
    assert "attempts" in bad[2]
    assert [drained for _, drained, _ in others] == [False, False]
    swallowed = "SELECT count(*), count(DISTINCT activation_id) FROM attempt WHERE run_id = %s"
    ((attempts, activations),) = console.rows(f"{swallowed} AND vm = 'local-1'", run["run_id"])
    assert attempts == activations < 40
