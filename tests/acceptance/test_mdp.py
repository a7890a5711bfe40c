"""`<algorithm>mdp</algorithm>`: the solver is chosen, told, and learned from, run by run."""

from __future__ import annotations

from tests.acceptance.console import Console
from tests.acceptance.workflows import Step, write_workflow


def test_every_real_run_teaches_the_planner_that_chose_its_solver(console: Console) -> None:
    spec = write_workflow(console.directory / "wf", [Step("one")], [("1",), ("2",)], tag="taught")
    text = spec.read_text(encoding="utf-8")
    named = text.replace("</executionWorkflow>", "<algorithm>mdp</algorithm></executionWorkflow>")
    spec.write_text(named, encoding="utf-8")

    runs = [console.run(spec), console.run(spec)]
    kept = console.rows(
        "SELECT run_id, solver, next_result, makespan_s FROM experience WHERE tag = 'taught'"
        " ORDER BY run_id"
    )
    assert [row[0] for row in kept] == [run["run_id"] for run in runs]
    assert [row[2] for row in kept] == ["success", "success"]
    assert all(row[3] > 0 for row in kept)
    assert len({row[1] for row in kept}) == 2  # each time one that was never tried before

    why = console("explain", "plan", str(runs[1]["plan_id"]), "--json").document["solver"]
    assert (why["chosen"], why["because"]) == (kept[1][1], "it was never tried before")
    assert why["experiences"] == 1
    assert [each["solver"] for each in why["solvers"]][:2] == [kept[0][1], kept[1][1]]
    assert why["state"]["load"] in ("light", "moderate", "heavy")
    said = console("explain", "plan", str(runs[1]["plan_id"])).out
    assert f"solver: {kept[1][1]}, because it was never tried before" in said
