"""Many activations, and many users."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.console import SCICUMULUS, Console, finish
from tests.acceptance.workflows import PASS_ON, Step, write_workflow

MANY = 1000
# Ends well only if a program of the other run is there, too: waits for it, but not for ever.
MEET = f"""
here="$(dirname "$0")/.."
touch "$here/came"
for patience in $(seq 1 1200); do
    [ ! -e "$here/../red/came" ] || [ ! -e "$here/../blue/came" ] || break
    sleep 0.05
done
[ -e "$here/../red/came" ] && [ -e "$here/../blue/came" ] || exit 1
{PASS_ON}"""


def test_two_thousand_activations_finish_with_one_attempt_each(console: Console) -> None:
    steps = [Step("first"), Step("second", after="first")]
    rows = [(str(number),) for number in range(1, MANY + 1)]
    run = console.run(write_workflow(console.directory / "wf", steps, rows))
    assert run["activations"] == run["finished"] == run["attempts"] == 2 * MANY
    counts = console.rows(
        "SELECT tag, activation.state, cause, number, attempt.ended_at IS NOT NULL, count(*),"
        " count(DISTINCT activation_id) FROM activation JOIN activity USING (activity_id)"
        " JOIN attempt USING (run_id, activation_id) WHERE run_id = %s"
        " GROUP BY 1, 2, 3, 4, 5 ORDER BY tag",
        run["run_id"],
    )
    assert counts == [
        (tag, "finished", "finished", 1, True, MANY, MANY) for tag in ("first", "second")
    ]
    # every value came through both programs, along its own line
    chains = console.rows(
        "SELECT count(*) FROM tuple AS source"
        " JOIN used USING (run_id, tuple_id)"
        " JOIN tuple AS middle ON middle.run_id = used.run_id"
        " AND middle.generated_by = used.activation_id"
        " JOIN used AS again ON again.run_id = middle.run_id AND again.tuple_id = middle.tuple_id"
        " JOIN tuple AS result ON result.run_id = again.run_id"
        " AND result.generated_by = again.activation_id"
        " WHERE source.run_id = %s AND source.generated_by IS NULL"
        " AND source.values->>'ID' = result.values->>'ID'",
        run["run_id"],
    )
    assert chains == [(MANY,)]


def test_two_runs_at_once_share_a_database_and_nothing_else(console: Console) -> None:
    rows = {"red": [("r1",), ("r2",), ("r3",)], "blue": [("b1",), ("b2",)]}
    specs = [
        write_workflow(console.directory / tag, [Step("a", MEET)], rows[tag], tag=tag)
        for tag in rows
    ]
    processes = [
        console.start(SCICUMULUS, "run", spec, "--fleet", "2xlocal", "--json") for spec in specs
    ]
    for tag, said in zip(rows, map(finish, processes), strict=True):
        assert said.code == 0, said
        run = said.document
        assert (run["workflow"], run["state"]) == (tag, "finished")
        values = console.rows(
            "SELECT values->>'ID' FROM tuple WHERE run_id = %s AND generated_by IS NOT NULL",
            run["run_id"],
        )
        assert sorted(values) == rows[tag]
        assert Path(run["directory"]).parents[1] == console.directory / tag


def test_the_same_workflow_run_twice_at_once_is_stored_once(console: Console) -> None:
    spec = write_workflow(console.directory / "wf", [Step("a")], [("1",)])
    processes = [console.start(SCICUMULUS, "plan", spec, "--json") for _ in range(3)]
    plans = {finish(process).document["plan_id"] for process in processes}
    assert len(plans) == 3
    workflows = console.rows(
        "SELECT DISTINCT workflow_id FROM plan WHERE plan_id = ANY(%s)", list(plans)
    )
    assert len(workflows) == 1


def test_first_commands_that_come_at_once_make_one_server_and_one_schema(
    fresh_home: Path, tmp_path: Path
) -> None:
    console = Console(fresh_home, tmp_path)
    processes = [console.start(SCICUMULUS, "status", "--json") for _ in range(3)]
    for said in map(finish, processes):
        assert said.code == 0, said
        assert said.document == {"runs": []}
    assert len(console.rows("SELECT version_num FROM alembic_version")) == 1
    log = (fresh_home / "postgres" / "log").read_text()
    assert log.count("starting PostgreSQL") == 1
    assert "ERROR" not in log

    url = console("db", "url", "--json").document["url"]
    assert console("db", "start", "--json").document == {
        "url": url,
        "directory": str(fresh_home / "postgres"),
    }
    stops = [console("db", "stop", "--json").document for _ in range(2)]
    assert stops == [{"stopped": True}, {"stopped": False}]
