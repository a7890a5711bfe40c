"""plan, compare, simulate and explain, as a scientist uses them; and what they refuse."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.console import Console
from tests.acceptance.workflows import GENERATOR, Step, write_mosaic, write_workflow

FLEET = ("--fleet", "4xt2.micro,1xt2.2xlarge")
CATALOG = """
[[vm_type]]
name = "turtle"
slots = 2
speed = 0.5
price_usd_per_hour = 0.01
boot_s = 30
bandwidth_mb_s = 1
"""
PLAN_KEYS = {  # DESIGN.md, section 10
    *("plan_id", "algorithm", "seed", "fleet", "activations", "makespan_s", "cost_usd"),
    *("lower_bound_s", "gap", "planning_s"),
}
SIMULATE_KEYS = {"makespan_s", "cost_usd", "utilisation", "p50_s", "p90_s"}


@pytest.fixture(scope="module")
def trace(module_console: Console) -> Path:
    return write_mosaic(module_console)


@pytest.fixture(scope="module")
def plan(module_console: Console, trace: Path) -> Any:
    return told(module_console, "plan", trace, *FLEET, "--algorithm", "heft")


def told(console: Console, *words: str | Path) -> Any:
    said = console(*words, "--json")
    assert said.code == 0, said
    return said.document


def test_a_trace_is_planned_without_being_replayed(plan: Any) -> None:
    assert set(plan) == PLAN_KEYS
    assert (plan["algorithm"], plan["fleet"]) == ("heft", FLEET[1])
    assert plan["lower_bound_s"] <= plan["makespan_s"]
    assert plan["gap"] == pytest.approx(plan["makespan_s"] / plan["lower_bound_s"] - 1)


def test_a_stored_plan_simulates_to_what_it_predicts(
    module_console: Console, trace: Path, plan: Any
) -> None:
    simulated = told(module_console, "simulate", trace, "--plan", str(plan["plan_id"]))
    assert set(simulated) >= SIMULATE_KEYS
    assert simulated["makespan_s"] == plan["makespan_s"] == simulated["p50_s"]
    assert simulated["cost_usd"] == pytest.approx(plan["cost_usd"])
    assert 0 < simulated["utilisation"] <= 1


def test_noise_makes_a_distribution_and_the_chart_is_drawn(
    module_console: Console, trace: Path
) -> None:
    chart = module_console.directory / "chart.svg"
    said = module_console(
        *("simulate", trace, *FLEET, "--algorithm", "heft", "--gantt", chart),
        *("--repeat", "50", "--noise", "0.3", "--failures", "2%", "--slowdown", "0.2:2"),
        *("--dispatch", "adaptive"),
    )
    assert said.code == 0, said
    assert "means of 50 simulations" in said.err
    assert "t2.2xlarge-1" in said.out
    assert "mDiffFit" in said.out
    assert chart.read_text().startswith("<?xml")
    spread = told(
        module_console,
        *("simulate", trace, *FLEET, "--algorithm", "heft", "--repeat", "200", "--noise", "0.3"),
    )
    assert spread["p50_s"] < spread["p90_s"]
    assert (spread["repeats"], spread["finished"]) == (200, 200)


def test_planners_are_compared_side_by_side(module_console: Console, trace: Path) -> None:
    document = told(module_console, "compare", trace, *FLEET, "--algorithms", "fcfs,heft")
    fcfs, heft = document["results"]
    assert set(fcfs) >= {"algorithm", "makespan_s", "cost_usd", "gap", "planning_s"}
    assert (fcfs["algorithm"], heft["algorithm"]) == ("fcfs", "heft")
    assert min(fcfs["ratio"], heft["ratio"]) == 1.0
    for result in (fcfs, heft):
        assert result["gap"] == pytest.approx(result["makespan_s"] / document["lower_bound_s"] - 1)


def test_a_plan_explains_its_estimates_and_its_choices(module_console: Console, plan: Any) -> None:
    document = told(module_console, "explain", "plan", str(plan["plan_id"]))
    assert {each["source"] for each in document["estimates"]} == {"trace"}
    assert {each["vm_type"] for each in document["estimates"]} == {"t2.micro", "t2.2xlarge"}
    assert sum(each["activations"] for each in document["activities"]) == plan["activations"]
    assert len(document["choices"]) == plan["activations"]
    for choice in document["choices"]:
        assert choice["because"]
        assert len(choice["alternatives"]) == 4
    said = module_console("explain", "plan", str(plan["plan_id"]), "--activation", "mAdd.1")
    assert said.code == 0, said
    assert "mAdd.1 on " in said.out
    assert module_console("explain", "plan", str(plan["plan_id"]), "--activation", "x.1").code == 2


def test_transfer_boot_and_catalog_change_the_problem(console: Console, trace: Path) -> None:
    (console.directory / "types.toml").write_text(CATALOG)
    cloud = ("--catalog", "types.toml", "--fleet", "3xturtle", "--algorithms", "heft")
    ways: list[tuple[str, ...]] = [
        (),
        ("--no-boot",),
        ("--transfer", "none"),
        ("--transfer", "shared"),
        ("--no-boot", "--transfer", "none"),
    ]
    words: list[tuple[str | Path, ...]] = [
        ("compare", trace, *cloud, *way, "--json") for way in ways
    ]
    plain, unbooted, none, shared, neither = (
        said.document["results"][0]["makespan_s"] for said in console.together(words)
    )
    assert none < plain < shared
    assert plain - unbooted == pytest.approx(30.0)
    assert none - neither == pytest.approx(30.0)


def test_a_learning_curve_is_drawn(console: Console, trace: Path) -> None:
    said = console("plan", trace, *FLEET, "--budget", "200ms", "--curve", "curve.png", "--json")
    assert said.code == 0, said
    assert (console.directory / "curve.png").stat().st_size > 1000


def test_a_second_plan_expects_what_the_first_run_took(console: Console) -> None:
    """The trace says nothing of how long it takes to start a program; the first run does."""
    trace = console.directory / "first.json"
    words = ("--activations", "25", "--seed", "9", "-o", trace)
    assert console.execute(sys.executable, GENERATOR, *words).code == 0
    replay = ("--replay", "--sleep", "--time-scale", "0.001", "--size-scale", "0.001")
    first, second = (console.run(trace, *replay, fleet="2xlocal") for _ in range(2))
    # both plans are held against the run that the second one learned from: how long the second
    # run itself takes is up to the machine
    errors = [abs(run["predicted_makespan_s"] - first["makespan_s"]) for run in (first, second)]
    assert errors[1] < errors[0]
    document = told(console, "explain", "plan", str(second["plan_id"]))
    assert {each["source"] for each in document["estimates"]} == {"same activation"}
    assert all(each["samples"] for each in document["estimates"])
    # at its own time scale nothing has been measured yet
    plan = told(console, "plan", trace, "--fleet", "2xlocal", "--algorithm", "heft")
    document = told(console, "explain", "plan", str(plan["plan_id"]))
    assert {each["source"] for each in document["estimates"]} == {"trace"}


# --- what is refused, with exit code 2 ----------------------------------------------------------


def test_an_activation_that_fits_no_vm_is_refused(console: Console) -> None:
    spec = write_workflow(console.directory / "wf", [Step("big")], [("1",)])
    text = spec.read_text()
    spec.write_text(text.replace('<activity tag="big"', '<activity tag="big" cpus="9"'))
    verbs = ("plan", "compare", "simulate")
    fleet = ("--fleet", "2xt2.micro,1xt2.2xlarge")
    for said in console.together((verb, spec, *fleet) for verb in verbs):
        assert said.code == 2, said
        assert "big.1 asks for 9 cpus, but fits no VM of the fleet" in said.err


@pytest.mark.parametrize("runtime", ["-3", "nan", "inf"])
def test_a_runtime_that_is_none_is_refused(console: Console, runtime: str) -> None:
    rows = [("1", "5"), ("2", runtime)]
    spec = write_workflow(console.directory / "wf", [Step("a")], rows, ("ID", "SECONDS"))
    text = spec.read_text().replace('<activity tag="a"', '<activity tag="a" runtime="%=SECONDS%"')
    spec.write_text(text.replace('"SECONDS" type="string"', '"SECONDS" type="float"'))
    said = console("plan", spec, "--fleet", "1xlocal")
    assert said.code == 2, said
    assert "input.dataset:3" in said.err
    assert runtime in said.err
