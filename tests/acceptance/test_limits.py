"""What a workflow may take: time, and money. Then it stops, says why, and can be resumed."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.console import Console
from tests.acceptance.workflows import PASS_ON, Step, write_workflow

SLOW = f"sleep 0.7\n{PASS_ON}"


def limited(console: Console, constraint: str) -> Path:
    rows = [(str(number),) for number in range(1, 7)]
    spec = write_workflow(console.directory / "wf", [Step("a", SLOW)], rows)
    environment = '<environment type="LOCAL"/>'
    text = spec.read_text().replace(environment, f"{environment}<constraint {constraint}/>")
    spec.write_text(text)
    return spec


def test_a_run_stops_at_its_time_limit_and_can_be_resumed(console: Console) -> None:
    spec = limited(console, 'max_time="1"')
    run = console.run(spec, fleet="1xlocal", code=4)
    assert run["state"] == "stopped"
    assert "max_time of 1 s" in run["reason"]
    assert 0 < run["finished"] < 6
    assert run["failed"] == 0
    # what ran when the limit was reached was allowed to end
    causes = "SELECT DISTINCT cause FROM attempt WHERE run_id = %s"
    assert console.rows(causes, run["run_id"]) == [("finished",)]
    before = run["finished"]
    for _ in range(6):
        said = console("resume", str(run["run_id"]), "--json")
        assert said.code in (0, 4), said
        assert said.document["finished"] > before
        before = said.document["finished"]
        if said.code == 0:
            break
    assert said.document["state"] == "finished"
    assert (said.document["attempts"], said.document["reason"]) == (6, "")
