"""Programs that fail are data: retried, recorded, and in nobody else's way."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.console import Console
from tests.acceptance.workflows import PASS_ON, Step, write_workflow

PASS_BOTH = 'printf "ID;TEAM\\n%s;%s\\n" "$1" "$2" > ERelation.txt\n'
BOTH = ("ID", "TEAM")
BROKEN = f"""
if [ "$1" = 2 ]; then
    seq 1 5000 >&2
    echo "the lens is covered: ☂" >&2
    exit 7
fi
{PASS_BOTH}"""
FLAKY = f"""
echo try >> "$(dirname "$0")/tries-$1"
[ "$(wc -l < "$(dirname "$0")/tries-$1")" -ge 3 ] || exit 1
{PASS_ON}"""
STEPS = [
    Step("broken", BROKEN, BOTH, BOTH),
    Step("polish", PASS_BOTH, BOTH, BOTH, after="broken"),
    Step(
        "total",
        'printf "COUNT\\n%s\\n" $(($(wc -l < polish_out.hfrag) - 1)) > ERelation.txt\n',
        (),
        ("TEAM", "COUNT"),
        after="polish",
        operator="REDUCE",
        operand="TEAM",
    ),
    Step("frame", takes=("TEAM",), gives=("ID",), after="total"),
    Step("flaky", FLAKY),
    Step("killed", f'[ "$1" != 1 ] || kill -9 $$\n{PASS_ON}'),
    Step("silent", f'[ "$1" != 1 ] || exit 0\n{PASS_ON}'),
    Step("binary", f'{PASS_ON}[ "$1" != 1 ] || printf "\\000" >> ERelation.txt\n'),
    Step("missing", interpreter="/no/such/program"),
]
ROWS = [("1", "red"), ("2", "red"), ("3", "blue")]
ATTEMPTS = 3


@pytest.fixture(scope="module")
def run(module_console: Console) -> Any:
    spec = write_workflow(module_console.directory / "wf", STEPS, ROWS, BOTH, max_failure=ATTEMPTS)
    return module_console.run(spec, code=1)


@pytest.fixture(scope="module")
def failures(module_console: Console, run: Any) -> dict[str, Any]:
    return {row["activation"]: row for row in module_console.query("failures", run["run_id"])}


def states(console: Console, run: Any, activity: str) -> dict[str, str]:
    rows = console.rows(
        "SELECT name, state FROM activation JOIN activity USING (activity_id)"
        " WHERE run_id = %s AND tag = %s",
        *(run["run_id"], activity),
    )
    return dict(rows)


def causes(console: Console, run: Any, name: str) -> list[tuple[int, str, int | None]]:
    """Number, cause and exit code of every attempt of one activation."""
    rows = console.rows(
        "SELECT number, cause, exit_code FROM attempt JOIN activation USING (run_id, activation_id)"
        " WHERE run_id = %s AND name = %s ORDER BY number",
        *(run["run_id"], name),
    )
    return [(number, cause, code) for number, cause, code in rows]


def test_the_run_goes_on_to_its_end_and_counts_what_failed(run: Any) -> None:
    assert run["state"] == "failed"
    counts = {entry.pop("activity"): entry for entry in run["activities"]}
    assert counts["broken"] == {"finished": 2, "failed": 1}
    assert counts["missing"] == {"failed": 3}
    assert counts["flaky"] == {"finished": 3}
    assert run["failed"] == 1 + 1 + 1 + 1 + 3
    assert run["blocked"] == 3
    assert run["finished"] + run["failed"] + run["blocked"] == run["activations"]


def test_a_failure_is_recorded_with_all_that_is_needed_to_look_into_it(
    module_console: Console, run: Any, failures: dict[str, Any]
) -> None:
    failure = failures["broken.2"]
    assert failure["attempts"] == ATTEMPTS
    assert (failure["cause"], failure["exit_code"]) == ("exit code", 7)
    assert shlex.split(failure["command"])[2:] == ["2", "red"]
    workspace = Path(failure["workspace"])
    assert workspace.is_relative_to(run["directory"])
    assert (workspace / "stderr.txt").read_text().endswith("5000\nthe lens is covered: ☂\n")
    assert failure["stderr"].endswith("4999\n5000\nthe lens is covered: ☂")
    assert len(failure["stderr"]) < 5000
    first_to_last = [(number, "exit code", 7) for number in range(1, ATTEMPTS + 1)]
    assert causes(module_console, run, "broken.2") == first_to_last


def test_each_attempt_has_a_private_workspace_of_its_own(module_console: Console, run: Any) -> None:
    places = module_console.rows("SELECT workspace FROM attempt WHERE run_id = %s", run["run_id"])
    assert len(set(places)) == len(places) == run["attempts"]
    kept = [Path(place) for (place,) in places if Path(place).exists()]
    assert len(kept) >= run["failed"]  # one in which nothing was left need not be kept
    assert {place.stat().st_mode & 0o777 for place in kept} == {0o700}


def test_what_depends_on_a_failure_is_blocked_by_it_and_the_rest_runs(
    module_console: Console, run: Any, failures: dict[str, Any]
) -> None:
    assert states(module_console, run, "polish") == {
        "polish.1": "finished",
        "polish.2": "blocked",
        "polish.3": "finished",
    }
    # blue sorts before red, and red has lost its second tuple
    assert states(module_console, run, "total") == {"total.1": "finished", "total.2": "blocked"}
    assert states(module_console, run, "frame") == {"frame.1": "finished", "frame.2": "blocked"}
    culprits = module_console.rows(
        "SELECT DISTINCT culprit.name FROM activation"
        " JOIN activation AS culprit ON culprit.run_id = activation.run_id"
        " AND culprit.activation_id = activation.blocked_by"
        " WHERE activation.run_id = %s AND activation.state = 'blocked'",
        run["run_id"],
    )
    assert culprits == [("broken.2",)]
    assert failures["broken.2"]["blocks"] == 3
    assert all(row["blocks"] == 0 for name, row in failures.items() if name != "broken.2")


def test_a_program_that_fails_twice_and_then_succeeds_is_finished_with_three_attempts(
    module_console: Console, run: Any
) -> None:
    for name in ("flaky.1", "flaky.2", "flaky.3"):
        assert causes(module_console, run, name) == [
            (1, "exit code", 1),
            (2, "exit code", 1),
            (3, "finished", 0),
        ]


def test_a_program_killed_by_a_signal_says_which(
    failures: dict[str, Any], module_console: Console, run: Any
) -> None:
    assert (failures["killed.1"]["cause"], failures["killed.1"]["exit_code"]) == ("signal", -9)
    assert len(causes(module_console, run, "killed.1")) == ATTEMPTS


def test_a_program_that_writes_no_relation_has_failed(failures: dict[str, Any]) -> None:
    failure = failures["silent.1"]
    assert (failure["cause"], failure["exit_code"]) == ("missing output", 0)
    assert "wrote no ERelation.txt" in failure["stderr"]


def test_a_relation_that_is_no_text_is_a_failure_of_its_program_alone(
    failures: dict[str, Any],
) -> None:
    failure = failures["binary.1"]
    assert failure["cause"] == "bad output"
    assert "NUL" in failure["stderr"]


def test_a_program_that_does_not_exist_is_named(failures: dict[str, Any]) -> None:
    for name in ("missing.1", "missing.2", "missing.3"):
        failure = failures[name]
        assert (failure["cause"], failure["exit_code"]) == ("no program", None)
        assert "/no/such/program" in failure["stderr"]
        assert failure["command"].startswith("/no/such/program ")


def test_the_words_after_the_run_say_what_to_do_next(module_console: Console, run: Any) -> None:
    said = module_console("status", str(run["run_id"]))
    assert f"next: scicumulus query failures --run {run['run_id']}" in said.out
