"""The plan on the command line: followed to the letter, or left where that is faster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.console import Console
from tests.acceptance.workflows import Step, write_workflow

HALF = 500
SIZES = "1xlocal,1xlocal:3"


@pytest.fixture
def spec(console: Console) -> Path:
    steps = [Step("first"), Step("second", after="first")]
    rows = [(str(number),) for number in range(1, HALF + 1)]
    return write_workflow(console.directory / "wf", steps, rows)


def moved(console: Console, run: int) -> list[tuple[str, str, str]]:
    return console.rows(
        "SELECT activation.name, assignment.vm, activation.vm FROM run"
        " JOIN activation USING (run_id) LEFT JOIN assignment"
        " ON assignment.plan_id = run.plan_id AND assignment.activation = activation.name"
        " WHERE run_id = %s AND activation.vm IS DISTINCT FROM assignment.vm",
        run,
    )


def plan_order(console: Console, run: int) -> list[tuple[str, list[str]]]:
    return console.rows(
        "SELECT vm, array_agg(activation ORDER BY position) FROM run JOIN assignment"
        " USING (plan_id) WHERE run_id = %s GROUP BY vm ORDER BY vm",
        run,
    )


def start_order(console: Console, run: int) -> list[tuple[str, list[str]]]:
    """Programs that a keeper starts in one go may have started at the same time."""
    return console.rows(
        "SELECT attempt.vm, array_agg(name ORDER BY started_at, position) FROM attempt"
        " JOIN activation USING (run_id, activation_id) WHERE run_id = %s GROUP BY 1 ORDER BY 1",
        run,
    )


def test_in_strict_mode_a_thousand_activations_run_where_the_plan_says(
    console: Console, spec: Path
) -> None:
    run = console.run(spec, "--dispatch", "strict", fleet=SIZES)
    assert run["finished"] == 2 * HALF
    assert moved(console, run["run_id"]) == []
    attempts = console.rows(
        "SELECT count(*), count(DISTINCT attempt.vm) FROM attempt JOIN activation"
        " USING (run_id, activation_id) WHERE run_id = %s AND attempt.vm = activation.vm"
        " AND activation.vm = planned_vm AND moved_because = ''",
        run["run_id"],
    )
    assert attempts == [(2 * HALF, 2)]
    assert plan_order(console, run["run_id"]) == start_order(console, run["run_id"])
    busiest = console.rows(
        "SELECT vm, max(slot) FROM attempt WHERE run_id = %s GROUP BY vm ORDER BY vm", run["run_id"]
    )
    assert busiest == [("local-1", 1), ("local-2", 3)]


def test_in_dynamic_mode_whoever_is_idle_gets_the_work(console: Console) -> None:
    rows = [(str(number),) for number in range(1, 9)]
    spec = write_workflow(console.directory / "wf", [Step("only")], rows)
    run = console.run(spec, "--dispatch", "dynamic")
    assert run["finished"] == 8
    assert console.rows("SELECT dispatch FROM run WHERE run_id = %s", run["run_id"]) == [
        ("dynamic",)
    ]


def test_timing_says_where_the_time_went(console: Console) -> None:
    spec = write_workflow(console.directory / "wf", [Step("only")], [("1",)])
    said = console("run", spec, "--fleet", "1xlocal", "--timing")
    assert said.code == 0, said
    for part in ("imports", "specification", "database", "plan and inputs", "mpirun"):
        assert part in said.err
