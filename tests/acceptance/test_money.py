"""Time against money, as a scientist asks for it: fronts, limits, fleets, what-ifs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.console import Console
from tests.acceptance.test_planning import FLEET, PLAN_KEYS, told
from tests.acceptance.workflows import PASS_ON, Step, write_mosaic, write_workflow

QUICK = ("--set", "episodes=3000")


@pytest.fixture(scope="module")
def trace(module_console: Console) -> Path:
    return write_mosaic(module_console)


@pytest.fixture(scope="module")
def front(module_console: Console, trace: Path) -> Any:
    picture = module_console.directory / "front.svg"
    words = ("plan", trace, *FLEET, "--objective", "pareto", *QUICK, "--picture", picture)
    document = told(module_console, *words)
    assert picture.read_text().startswith("<?xml")
    return document


def test_all_plans_of_the_front_are_told_and_stored(
    module_console: Console, trace: Path, front: Any
) -> None:
    assert set(front) > PLAN_KEYS
    assert front["algorithm"] == "reassign-pareto"
    plans = front["front"]
    assert len(plans) > 2
    assert [plan["makespan_s"] for plan in plans] == sorted(plan["makespan_s"] for plan in plans)
    costs = [plan["cost_usd"] for plan in plans]
    assert costs == sorted(costs, reverse=True)
    (chosen,) = (plan for plan in plans if plan["chosen"])
    assert chosen["plan_id"] == front["plan_id"]
    rows = module_console.rows("SELECT plan_id, makespan_s, cost_usd, fleet FROM plan")
    stored = {row[0]: row[1:] for row in rows}
    for plan in plans:
        expected = plan["makespan_s"], plan["cost_usd"], plan["fleet"]
        assert stored[plan["plan_id"]] == expected
        assert plan["p50_s"] <= plan["p90_s"]
    cheapest = str(plans[-1]["plan_id"])
    explained = told(module_console, "explain", "plan", cheapest)
    assert [each["plan_id"] for each in explained["front"]] == [each["plan_id"] for each in plans]
    assert explained["joint"] == []
    said = module_console("explain", "plan", cheapest)
    assert f"plan {cheapest} is one of a front, time against money: {plans[0]['plan_id']} (" in (
        said.out
    )
    simulated = told(module_console, "simulate", trace, "--plan", cheapest)
    assert simulated["makespan_s"] == plans[-1]["makespan_s"]
    assert simulated["cost_usd"] == pytest.approx(plans[-1]["cost_usd"])


def test_limits_pick_the_cheapest_before_a_deadline_and_the_fastest_under_a_budget(
    module_console: Console, trace: Path, front: Any
) -> None:
    ask = ("plan", trace, *FLEET, *QUICK)
    slow, fast = front["front"][-1], front["front"][0]
    late = told(module_console, *ask, "--deadline", f"{2 * slow['p90_s']}s")
    assert late["kept"] is True
    assert late["plan_id"] == late["front"][-1]["plan_id"]
    rich = told(module_console, *ask, "--max-cost", f"{2 * fast['p90_usd']}")
    assert rich["plan_id"] == rich["front"][0]["plan_id"]
    between = (fast["p90_s"] + slow["p50_s"]) / 2
    kept = told(module_console, *ask, "--deadline", f"{between}s", "--confidence", "90%")
    assert kept["probability"] >= 0.9
    noisy = ("--repeat", "200", "--noise", "0.3", "--seed", "77")
    simulated = told(module_console, "simulate", trace, "--plan", str(kept["plan_id"]), *noisy)
    assert simulated["p90_s"] <= between


def test_a_limit_that_cannot_be_kept_is_exit_code_4_and_how_close_it_gets(
    module_console: Console, trace: Path
) -> None:
    ask = ("plan", trace, *FLEET, *QUICK, "--deadline", "1s", "--max-cost", "$5")
    said = module_console(*ask, "--json")
    assert said.code == 4, said
    assert said.document["kept"] is False
    assert said.document["probability"] == 0
    assert "no plan keeps a deadline of 1.0 s and at most $5 with a confidence of 90%" in said.err
    assert "90% of them take up to" in said.err
    said = module_console(*ask)
    assert said.code == 4
    assert "→" in said.out


def test_the_fleet_is_chosen_with_the_next_faster_and_the_next_cheaper_one(
    module_console: Console, trace: Path
) -> None:
    ask = ("plan", trace, "--fleet", "auto", *QUICK, "--objective", "balanced", "--quota", "12")
    said = module_console(*ask, "--json")
    assert said.code == 0, said
    chosen = said.document
    for plan in chosen["front"]:
        assert vcpus(plan["fleet"]) <= 12
    faster, cheaper = chosen["next_faster"], chosen["next_cheaper"]
    assert faster["makespan_s"] < chosen["makespan_s"]
    assert faster["cost_usd"] > chosen["cost_usd"]
    if cheaper is not None:
        assert cheaper["cost_usd"] < chosen["cost_usd"]
    assert f"next faster mix: {faster['fleet']}" in said.err


def vcpus(fleet: str) -> int:
    from provisioning.catalog import CATALOG

    parts = (part.split("x", 1) for part in fleet.split(","))
    return sum(int(count) * CATALOG[name].slots for count, name in parts)


def test_whatif_compares_fleets_and_planners_by_their_odds(
    module_console: Console, trace: Path
) -> None:
    ask = ("whatif", trace, *FLEET, "--fleet", "2xt2.micro", "--algorithms", "fcfs,heft")
    document = told(module_console, *ask, "--deadline", "10m", "--repeat", "100")
    rows = document["results"]
    assert [(row["fleet"], row["algorithm"]) for row in rows] == [
        (fleet, name) for fleet in (FLEET[1], "2xt2.micro") for name in ("fcfs", "heft")
    ]
    for row in rows:
        assert row["p50_s"] <= row["p90_s"]
        assert row["p50_usd"] <= row["p90_usd"]
        assert 0 <= row["probability"] <= 1
        assert row["measured_activities"] == 0
    said = module_console(*ask)
    assert said.code == 0
    assert "P90 USD" in said.out
    assert "scatter as measured" in said.err


def test_whatif_scatters_runtimes_as_they_were_measured(console: Console) -> None:
    naps = Step("nap", 'sleep "0.$1"\n' + PASS_ON)
    spec = write_workflow(console.directory / "wf", [naps], [(str(n),) for n in range(1, 10)])
    console.run(spec)
    document = told(console, "whatif", spec, "--fleet", "2xlocal", "--algorithms", "heft")
    (row,) = document["results"]
    assert row["measured_activities"] == row["activities"] == 1
    assert row["p50_s"] < row["p90_s"]


def test_data_between_regions_cost_what_the_catalog_says(console: Console, trace: Path) -> None:
    types = [
        f'[[vm_type]]\nname = "{region}"\nslots = 1\nprice_usd_per_hour = 1\nregion = "{region}"\n'
        for region in ("here", "there")
    ]
    prices = [
        f'[[transfer]]\nfrom = "{one}"\nto = "{other}"\nusd_per_gb = 1000\n'
        for one, other in (("here", "there"), ("there", "here"))
    ]
    (console.directory / "free.toml").write_text("\n".join(types))
    (console.directory / "dear.toml").write_text("\n".join([*types, *prices]))
    ask = ("compare", trace, "--fleet", "2xhere,2xthere", "--algorithms", "heft")
    free, dear = (
        told(console, *ask, "--catalog", f"{name}.toml")["results"][0] for name in ("free", "dear")
    )
    assert free["makespan_s"] == dear["makespan_s"]
    assert dear["cost_usd"] > free["cost_usd"]
