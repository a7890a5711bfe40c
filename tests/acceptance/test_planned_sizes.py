"""Whatever plans a workflow that is sized counts with its sizes, by the CLI."""

from __future__ import annotations

from tests.acceptance.console import Console
from tests.acceptance.test_sizing import FLEET, ROWS, load_workflow


def test_every_way_of_planning_counts_with_the_sizes_that_a_run_would_give(
    console: Console,
) -> None:
    """`feedback` knows nothing yet and gives all there is: one activation at a time, not two."""
    spec = load_workflow(console.directory / "wf", "feeding", sizing="feedback")
    here = ("--fleet", FLEET)
    heft = ("--algorithm", "heft", "--json")
    ways = [
        ("plan", spec, *here, *heft),
        ("plan", spec, *here, *heft, "--objective", "makespan"),
        ("plan", spec, *here, *heft, "--deadline", "1h"),
        ("simulate", spec, *here, *heft),
        ("compare", spec, *here, "--algorithms", "heft", "--json"),
        ("whatif", spec, *here, "--algorithms", "heft", "--json"),
    ]
    for said in console.together(ways):
        assert said.code == 0, said
        found = said.document.get("results", [said.document])
        assert [each["makespan_s"] for each in found] == [ROWS], said
    off = console("plan", spec, *here, *heft, "--objective", "makespan", "--sizing", "off")
    assert off.document["makespan_s"] == ROWS / 2
    assert off.document["fleet"] == FLEET

    chosen = ("--fleet", "auto", "--quota", "8", "--objective", "makespan", "--no-boot")
    sized, declared = (
        console("plan", spec, *chosen, *heft, *words) for words in ((), ("--sizing", "off"))
    )
    assert planned_at_once(console, sized.document["plan_id"]) == 1
    assert planned_at_once(console, declared.document["plan_id"]) > 1


def planned_at_once(console: Console, plan_id: int) -> int:
    sql = (
        "SELECT max((SELECT count(*) FROM assignment AS other WHERE other.plan_id = own.plan_id"
        " AND other.start_s <= own.start_s AND own.start_s < other.finish_s))"
        " FROM assignment AS own WHERE plan_id = %s"
    )
    [(most,)] = console.rows(sql, plan_id)
    return int(most)
