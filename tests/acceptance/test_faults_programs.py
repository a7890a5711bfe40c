"""Programs that behave badly, all in one run: each is judged for itself, and disturbs nobody."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.console import SCICUMULUS, Console, eventually, finish
from tests.acceptance.faults import Disturbed
from tests.acceptance.workflows import PASS_ON, Step, write_workflow

NOISE_BYTES = 1_000_000_000
FIRST = 'case "$PWD" in *-attempt-2) ;; *) {} ;; esac\n'  # what only the first attempt does
STEPS = [
    Step("daemon", f"setsid sh -c 'sleep 300; : daemon' &\n{PASS_ON}"),
    Step("closed", f"{PASS_ON}exec <&- >&- 2>&-\n"),
    Step("noisy", f"{PASS_ON}head -c {NOISE_BYTES} /dev/zero | tr '\\0' x >&2\n[ $1 = 1 ]\n"),
    Step("silent", "exit 0\n"),
    Step("torn", 'printf "ID\\n\\"%s\\n" "$1" > ERelation.txt\n'),
    Step("homeless", FIRST.format('rm -rf "$PWD"') + PASS_ON),
    Step("whole", PASS_ON),
]
ROWS = [("1",), ("2",)]
DEAF = """
trap '' TERM
touch "$(dirname "$0")/begun-$1"
for patience in $(seq 1 60); do sleep 1; done
"""


@pytest.fixture(scope="module")
def run(module_console: Console) -> Any:
    spec = write_workflow(module_console.directory / "wf", STEPS, ROWS, max_failure=2)
    return module_console.run(spec, code=1)


def causes(console: Console, run: Any, tag: str) -> list[tuple[str, ...]]:
    """Of every attempt, by activation."""
    found = console.rows(
        "SELECT array_agg(cause ORDER BY number) FROM attempt"
        " JOIN activation USING (run_id, activation_id) JOIN activity"
        " ON activity.activity_id = activation.activity_id"
        " WHERE run_id = %s AND tag = %s GROUP BY activation.name ORDER BY activation.name",
        *(run["run_id"], tag),
    )
    return [tuple(each) for (each,) in found]


@pytest.mark.parametrize("tag", ["daemon", "closed", "whole"])
def test_who_writes_his_tuples_and_exits_with_0_has_finished(
    module_console: Console, run: Any, tag: str
) -> None:
    assert causes(module_console, run, tag) == [("finished",), ("finished",)]


def test_a_daemon_does_not_outlive_its_run(module_console: Console, run: Any) -> None:
    assert run["state"] == "failed"
    eventually(lambda: not module_console.processes(), "the end of all processes", patience_s=20)


def test_a_flood_on_stderr_costs_nothing_but_its_disk_space(
    module_console: Console, run: Any
) -> None:
    assert causes(module_console, run, "noisy") == [("finished",), ("exit code", "exit code")]
    noise = Path(run["directory"], "noisy", "2", "stderr.txt")
    assert noise.stat().st_size == NOISE_BYTES
    (failure,) = [
        row
        for row in module_console.query("failures", run["run_id"])
        if row["activation"] == "noisy.2"
    ]
    assert 1000 < len(failure["stderr"]) < 5000
    assert set(failure["stderr"]) == {"x"}
    for flood in Path(run["directory"]).glob("noisy/*/stderr.txt"):  # pytest keeps what is left
        flood.unlink()


def test_what_is_missing_and_what_is_malformed_are_told_apart(
    module_console: Console, run: Any
) -> None:
    assert causes(module_console, run, "silent") == 2 * [("missing output", "missing output")]
    assert causes(module_console, run, "torn") == 2 * [("bad output", "bad output")]


def test_a_workspace_deleted_under_a_program_costs_one_attempt(
    module_console: Console, run: Any
) -> None:
    assert causes(module_console, run, "homeless") == 2 * [("exit code", "finished")]


def test_a_killed_program_is_tried_again_and_the_signal_is_recorded(console: Console) -> None:
    console.extra |= {"PACE": "0.5"}
    run = Disturbed(console, width=6, max_failure=2)
    run.start()
    run.begun(2)
    run.kill(run.programs()[0])
    run.finished()
    run.nothing_was_lost(again=1)
    assert run.causes() == {"finished": 13, "signal": 1}


def test_a_program_that_ignores_sigterm_is_killed_after_its_grace(console: Console) -> None:
    spec = write_workflow(console.directory / "wf", [Step("deaf", DEAF)], ROWS)
    process = console.start(SCICUMULUS, "run", spec, "--fleet", "2xlocal", "--json")
    begun = spec.parent / "bin"
    eventually(lambda: len(list(begun.glob("begun-*"))) == 2, "two programs")
    process.send_signal(signal.SIGINT)
    said = finish(process)
    assert said.code == 4, said
    ends = console.rows(
        "SELECT cause, exit_code FROM attempt WHERE run_id = %s", said.document["run_id"]
    )
    assert ends == 2 * [("cancelled", -signal.SIGKILL)]
    eventually(lambda: not console.processes(), "the end of all processes", patience_s=20)
