"""Several workflows on one fleet, planners of time and money, and their experiment, by the CLI."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.console import Console
from tests.acceptance.workflows import Step, write_workflow

ROOT = Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "workflows" / "montage_trace" / "generate.py"
FLEET = ("--fleet", "2xt2.micro,1xt2.2xlarge")
PLANNERS = ("dqn", "nsga2", "mopso", "gtbga")


def told(console: Console, *words: str | Path) -> Any:
    said = console(*words, "--json")
    assert said.code == 0, said
    return said.document


@pytest.fixture(scope="module")
def traces(module_console: Console) -> tuple[Path, Path]:
    small, large = (module_console.directory / f"{count}.json" for count in (26, 30))
    for path in (small, large):
        words = ("--activations", path.stem, "--seed", "3", "-o", path)
        assert module_console.execute(sys.executable, GENERATOR, *words).code == 0
    return small, large


def test_workflows_that_share_a_fleet_are_compared_and_simulated_together(
    module_console: Console, traces: tuple[Path, Path]
) -> None:
    names = ",".join(("heft", *PLANNERS))
    quickly = ("--algorithms", names, "--budget", "0.3s")
    document = told(module_console, "compare", *traces, *FLEET, *quickly)
    assert [each["algorithm"] for each in document["results"]] == ["heft", *PLANNERS]
    both = told(module_console, "simulate", *traces, *FLEET, "--algorithm", "heft")
    alone = told(module_console, "simulate", traces[0], *FLEET, "--algorithm", "heft")
    assert both["activations"] == alone["activations"] + 30
    assert both["makespan_s"] == document["results"][0]["makespan_s"] > alone["makespan_s"]
    twice = told(module_console, "simulate", traces[0], *traces[:1], *FLEET, "--algorithm", "heft")
    assert twice["activations"] == 2 * alone["activations"]


def test_workflows_are_planned_together_and_each_is_run_by_its_own_part(console: Console) -> None:
    names = ("together-one", "together-two")  # nobody else runs them: no history
    specs = [
        write_workflow(
            console.directory / name,
            [Step("first"), Step("second", after="first")],
            [[str(number)] for number in range(3)],
            tag=name,
        )
        for name in names
    ]
    both = told(console, "plan", *specs, "--fleet", "2xlocal", "--algorithm", "heft")
    simulated = told(console, "simulate", *specs, "--fleet", "2xlocal", "--algorithm", "heft")
    assert both["plan_id"] is None
    assert both["makespan_s"] == simulated["makespan_s"] == 6  # 12 activations of a second
    assert [each["workflow"] for each in both["plans"]] == [*names]
    assert [each["activations"] for each in both["plans"]] == [6, 6]
    assert max(each["makespan_s"] for each in both["plans"]) == 6

    ids = [each["plan_id"] for each in both["plans"]]
    taken = console.rows(
        "SELECT vm, start_s, count(*) FROM assignment WHERE plan_id = ANY(%s) GROUP BY vm, start_s",
        ids,
    )
    assert {count for _, _, count in taken} == {1}  # neither takes the other's slot
    explained = told(console, "explain", "plan", str(ids[1]))
    assert [(each["plan_id"], each["workflow"]) for each in explained["joint"]] == [
        *zip(ids, names, strict=True)
    ]
    for choice in explained["choices"]:  # no other VM is free, because of the other workflow
        assert choice["alternatives"][0]["finish_s"] >= choice["finish_s"]
    assert f"plan {ids[0]} of {names[0]}" in console("explain", "plan", str(ids[1])).out
    alone = console("simulate", specs[0], "--plan", str(ids[0]))
    assert f"shares its VMs with plan {ids[1]}" in alone.err

    commands = [
        ("run", spec, "--plan", str(plan_id), "--dispatch", "strict", "--json")
        for spec, plan_id in zip(specs, ids, strict=True)
    ]
    for said, plan_id in zip(console.together(commands), ids, strict=True):
        assert said.code == 0, said
        assert said.document["plan_id"] == plan_id
        kept = console.rows(
            "SELECT activation.vm = assignment.vm AND activation.position = assignment.position"
            " FROM activation JOIN assignment ON assignment.activation = activation.name"
            " WHERE run_id = %s AND plan_id = %s",
            said.document["run_id"],
            plan_id,
        )
        assert kept == [(True,)] * 6


def test_a_front_of_workflows_together_has_a_plan_for_each(
    module_console: Console, traces: tuple[Path, Path]
) -> None:
    words = ("plan", *traces, "--objective", "makespan", "--algorithm", "heft")
    for fleet in (FLEET, ("--fleet", "auto", "--quota", "8")):
        front = told(module_console, *words, *fleet)
        ids = [each["plan_ids"] for each in front["front"]]
        assert len(ids) > 1
        assert [each["plan_id"] for each in front["plans"]] == ids[0]
        assert [each["activations"] for each in front["plans"]] == [26, 30]
        shares_usd = sum(each["cost_usd"] for each in front["plans"])
        assert shares_usd == pytest.approx(front["cost_usd"])
        explained = told(module_console, "explain", "plan", str(ids[0][0]))
        assert [each["plan_id"] for each in explained["joint"]] == ids[0]
        assert [each["plan_id"] for each in explained["front"]] == [own[0] for own in ids]


def test_networks_are_stored_with_the_plan_and_the_next_plan_starts_from_them(
    module_console: Console, traces: tuple[Path, Path]
) -> None:
    words = ("plan", traces[1], *FLEET, "--algorithm", "dqn")
    still = ("--set", "episodes=1", "--set", "epsilon=0", "--set", "rate=0", "--seed", "7")
    fresh = told(module_console, *words, *still)
    learned = told(module_console, *words, "--set", "episodes=20")
    reused = told(module_console, *words, *still)
    assert reused["makespan_s"] == learned["makespan_s"] != fresh["makespan_s"]
    refused = module_console("simulate", *traces, "--plan", str(learned["plan_id"]))
    assert refused.code == 2
    assert "a stored plan is for one workflow, found 2" in refused.err


def test_the_experiment_prints_its_tables_and_draws_its_pictures(
    module_console: Console, tmp_path: Path
) -> None:
    words = ("--sizes", "138", "--budget", "0.1", "--traces", "nowhere", "--pictures", tmp_path)
    said = module_console.execute(sys.executable, ROOT / "bench/markov_game.py", *words, "--json")
    assert said.code == 0, said
    document = json.loads(said.out)
    by_name = {row["planner"]: row for row in document["rows"]}
    assert set(PLANNERS) <= set(by_name)
    assert all(0 <= row["hypervolume"] <= 1.21 for row in by_name.values())
    assert all(row["used_usd"] <= row["cost_usd"] + 1e-9 for row in by_name.values())
    published = {
        each["baseline"]: each["published_dearer"] for each in document["beside_the_paper"]
    }
    assert published == {"nsga2": 0.02899, "mopso": 0.04303, "gtbga": None}
    pictures = {path.name for path in tmp_path.iterdir()}
    assert {"generated-138.png", "generated-138-dqn.png"} <= pictures
