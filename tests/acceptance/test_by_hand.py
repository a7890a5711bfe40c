"""`mpirun … python -m scicore RUN` by hand: the same run, the same provenance, or a clear no."""

from __future__ import annotations

import signal
import sys
from typing import Any

import pytest

from tests.acceptance.console import AS_ROOT, Console, Said, eventually, finish
from tests.acceptance.workflows import PASS_ON, Step, write_workflow

FLAKY = f"""
case "$PWD" in
    *-attempt-2) ;;
    *) [ "$1" != 2 ] || exit 3 ;;
esac
{PASS_ON}"""
STEPS = [
    Step("tidy", FLAKY),
    Step("weigh", after="tidy"),
    Step("sum", PASS_ON.replace("$1", "all"), (), ("ID",), "weigh", "REDUCE", "ID"),
]
ROWS = [(str(number),) for number in range(1, 7)]


@pytest.fixture
def by_hand(console: Console) -> Console:
    console.extra.update(AS_ROOT)
    return console


def prepared(console: Console, program: str = PASS_ON) -> tuple[int, list[str]]:
    """A run's number, and the words that start it."""
    spec = write_workflow(console.directory / "wf", [Step("a", program)], [("1",), ("2",)])
    document = console("run", spec, "--fleet", "2xlocal", "--prepare", "--json").document
    assert document["state"] == "prepared"
    return document["run_id"], document["mpirun"]


def state(console: Console, run_id: int) -> str:
    return str(console.rows("SELECT state FROM run WHERE run_id = %s", run_id)[0][0])


def provenance(console: Console, run_id: int) -> list[Any]:
    """Everything about a run that does not depend on when it ran."""
    questions = [
        "SELECT state, workflow_id, plan_id, execution_tag FROM run WHERE run_id = %s",
        "SELECT vm, vm_type, slots, state FROM vm WHERE run_id = %s",
        "SELECT name, key, state, vm, planned FROM activation WHERE run_id = %s",
        "SELECT name, number, attempt.vm, cause, exit_code, command FROM attempt"
        " JOIN activation USING (run_id, activation_id) WHERE run_id = %s",
        "SELECT relation_id, path, values->>'ID', activation.name FROM tuple LEFT JOIN activation"
        " ON activation.run_id = tuple.run_id AND activation_id = generated_by"
        " WHERE tuple.run_id = %s",
        "SELECT activation.name, relation_id, path FROM used"
        " JOIN activation USING (run_id, activation_id) JOIN tuple USING (run_id, tuple_id)"
        " WHERE run_id = %s",
    ]
    return [sorted(console.rows(question, run_id)) for question in questions]


def test_a_run_by_hand_has_the_same_provenance_as_through_the_cli(by_hand: Console) -> None:
    spec = write_workflow(by_hand.directory / "wf", STEPS, ROWS, max_failure=2)
    plan = str(by_hand("plan", spec, "--fleet", "2xlocal", "--json").document["plan_id"])
    strict = ("--plan", plan, "--dispatch", "strict")  # so that nothing depends on who is faster
    through_cli = by_hand.run(spec, *strict)
    document = by_hand("run", spec, *strict, "--prepare", "--json").document
    said = by_hand.execute(*document["mpirun"])
    assert said.code == 0, said
    assert f"run {document['run_id']} finished" in said.err
    expected = provenance(by_hand, through_cli["run_id"])
    assert provenance(by_hand, document["run_id"]) == expected
    assert [len(rows) for rows in expected] == [1, 2, 18, 19, 24, 18]


def test_what_does_not_fit_is_refused_and_the_run_can_still_be_started_but_once(
    by_hand: Console,
) -> None:
    run_id, words = prepared(by_hand)
    at = words.index("-n") + 1
    alone = [sys.executable, "-m", "mpi4py", "-m", "scicore", str(run_id)]

    for ranks in ("2", "4"):
        said = refused(by_hand.execute(*words[:at], ranks, *words[at + 1 :]), 3)
        assert f"the plan's fleet 2xlocal has 2 VMs, but {int(ranks) - 1} slave rank" in said.err
        assert "start it with mpirun -n 3" in said.err
    assert "there is no run 999999" in refused(by_hand.execute(*words[:-1], "999999"), 2).err
    for said in map(finish, [by_hand.start(*alone) for _ in range(2)]):  # two worlds of size 1
        refused(said, 3)
        assert "this MPI world has 1 rank; a run needs a master and at least one slave" in said.err
        assert "mpirun of another MPI" in said.err
    assert state(by_hand, run_id) == "prepared"

    assert by_hand.execute(*words).code == 0
    said = refused(by_hand.execute(*words), 2)
    assert f"run {run_id} is finished already; expected one that has not ended" in said.err
    assert "scicumulus run SPEC --prepare" in said.err


def refused(said: Said, code: int) -> Said:
    assert said.code == code, said
    assert "error: " in said.err
    assert "Traceback" not in said.err
    return said


def test_a_failing_workflow_by_hand_does_not_exit_with_0(by_hand: Console) -> None:
    run_id, words = prepared(by_hand, "exit 9\n")
    assert by_hand.execute(*words).code == 1
    assert state(by_hand, run_id) == "failed"


def test_ctrl_c_at_mpirun_by_hand_stops_the_run_and_leaves_nothing(by_hand: Console) -> None:
    run_id, words = prepared(by_hand, 'touch "$(dirname "$0")/begun-$1"\nsleep 60\n')
    process = by_hand.start(*words)
    begun = by_hand.directory / "wf" / "bin"
    eventually(lambda: len(list(begun.glob("begun-*"))) == 2, "two programs")
    process.send_signal(signal.SIGINT)
    assert finish(process).code != 0
    eventually(lambda: not by_hand.processes(), "the end of all processes")
    assert state(by_hand, run_id) == "stopped"
