"""Users intervene while a run goes on."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.console import SCICUMULUS, Console, eventually, finish
from tests.acceptance.workflows import PASS_ON, Step, write_workflow

WAIT_FOR_GO = "until [ -e DIRECTORY/go ]; do sleep 0.05; done\n" + PASS_ON


def waiting_workflow(directory: Path) -> Path:
    """Six tuples, whose first programs wait for a file called go."""
    steps = [
        Step("first", WAIT_FOR_GO.replace("DIRECTORY", str(directory))),
        Step("second", after="first"),
    ]
    return write_workflow(directory / "w", steps, [[str(number)] for number in range(1, 7)])


def running(console: Console, directory: Path) -> int:
    """The run in this directory with two programs running; 0 when there is none yet."""
    rows = console.rows(
        "SELECT run_id FROM activation JOIN run USING (run_id) WHERE run.state = 'running' "
        "AND starts_with(run.directory, %s) "
        "AND activation.state = 'running' GROUP BY run_id HAVING count(*) = 2",
        str(directory),
    )
    return int(rows[0][0]) if rows else 0


def states(console: Console, run: int) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, state in console.rows(
        "SELECT name, state FROM activation WHERE run_id = %s ORDER BY name", run
    ):
        found.setdefault(state, []).append(name)
    return found


def test_a_paused_run_starts_nothing_new_until_it_is_resumed(
    console: Console, tmp_path: Path
) -> None:
    spec = waiting_workflow(tmp_path)
    process = console.start(SCICUMULUS, "run", spec, "--fleet", "2xlocal", "--json")
    run = eventually(lambda: running(console, tmp_path), "two programs run")
    said = console("pause", str(run))
    assert (said.code, "paused" in said.err) == (0, True)
    (tmp_path / "go").touch()
    eventually(
        lambda: console.rows(
            "SELECT 1 FROM activation WHERE run_id = %s AND state = 'finished' HAVING count(*) = 2",
            run,
        ),
        "the running ones finish",
    )
    assert console("status", str(run), "--json").document["state"] == "paused"
    assert "running" not in states(console, run)
    assert console("resume", str(run)).code == 0
    done = finish(process)
    assert (done.code, done.document["finished"]) == (0, 12)


def test_cancelled_tuples_vanish_and_the_rest_goes_on(console: Console, tmp_path: Path) -> None:
    spec = waiting_workflow(tmp_path)
    process = console.start(SCICUMULUS, "run", spec, "--fleet", "2xlocal", "--json")
    run = eventually(lambda: running(console, tmp_path), "two programs run")
    said = console("cancel", str(run), "--where", "ID >= 5", "--json")
    assert said.document["outcome"] == "2 activations cancelled so far"
    console("cancel", str(run), "--activity", "second", "--where", "ID = 1")
    console("cancel", str(run), "--activity", "first", "--where", "ID = 2")  # it runs
    (tmp_path / "go").touch()
    done = finish(process)
    assert (done.code, done.document["state"]) == (0, "finished")
    found = states(console, run)
    assert found["cancelled"] == ["first.2", "first.5", "first.6", "second.1"]
    assert found["finished"] == ["first.1", "first.3", "first.4", "second.3", "second.4"]
    log = console.rows(
        "SELECT number, action, activity, requested_by IS NOT NULL, handled_at IS NOT NULL "
        "FROM steering WHERE run_id = %s ORDER BY number",
        run,
    )
    assert [row[0] for row in log] == [1, 2, 3]
    assert all(row[3] and row[4] for row in log)


def test_a_cancelled_run_is_stopped(console: Console, tmp_path: Path) -> None:
    spec = waiting_workflow(tmp_path)
    process = console.start(SCICUMULUS, "run", spec, "--fleet", "2xlocal", "--json")
    run = eventually(lambda: running(console, tmp_path), "two programs run")
    assert console("cancel", str(run)).code == 0
    done = finish(process)
    assert (done.code, done.document["state"]) == (4, "stopped")
    said = console("pause", str(run))
    assert said.code == 2
    assert "is stopped" in said.err


def test_a_wish_that_makes_no_sense_is_refused(console: Console, tmp_path: Path) -> None:
    spec = waiting_workflow(tmp_path)
    process = console.start(SCICUMULUS, "run", spec, "--fleet", "2xlocal", "--json")
    run = eventually(lambda: running(console, tmp_path), "two programs run")
    assert "expected FIELD OPERATOR VALUE" in console("cancel", str(run), "--where", "ID").err
    assert "no activity 'third'" in console("cancel", str(run), "--activity", "third").err
    assert "there is no run 999999" in console("cancel", "999999").err
    (tmp_path / "go").touch()
    assert finish(process).code == 0
