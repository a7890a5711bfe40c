"""What the genetic algorithm makes small, and how solvers come to differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scicore.kernel.billing import prices_of
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.money import Tariff
from scicore.model.plan import Plan
from scicore.model.problem import Problem
from scicore.planners import planner
from scicore.planners.base import Progress, validated
from scicore.planners.ga import ConfidenceMeans, GaParameters, Rates, rules_of, weighted
from scicore.planners.heft import Heft

SLOW = VmType("slow", 1, 0, 1.0, 1.0)
FAST = VmType("fast", 1, 0, 4.0, 8.0)  # four times as fast, eight times as dear


def problem(vms: list[VmType], work_s: list[float], edges: tuple[tuple[int, int], ...]) -> Problem:
    return Problem(
        tuple(f"a.{index}" for index in range(len(work_s))),
        ("a",) * len(work_s),
        edges,
        Fleet(tuple(Vm(f"vm-{number}", kind) for number, kind in enumerate(vms)), "some"),
        np.array([[work / kind.speed for kind in vms] for work in work_s]),
    )


CHAIN = problem([SLOW, FAST], [400.0] * 6, tuple((n, n + 1) for n in range(5)))


def solved(task: Problem, **settings: object) -> Plan:
    wanted = {"generations": 60, **settings}
    return planner("ga", {name: str(value) for name, value in wanted.items()}).plan(task, 0)


def test_time_is_bought_only_if_it_is_worth_its_price() -> None:
    cheap, dear = solved(CHAIN, hour_usd=0.01), solved(CHAIN, hour_usd=1000)
    assert {item.vm for item in cheap.assignments} == {"vm-0"}
    assert {item.vm for item in dear.assignments} == {"vm-1"}
    assert cheap.cost_usd < dear.cost_usd
    assert cheap.makespan_s > dear.makespan_s


def test_a_front_reaches_from_the_fastest_plan_to_the_cheapest_and_has_the_plan_itself() -> None:
    made = planner("ga", {"generations": "60", "hour_usd": "9"})
    front, plan = made.front(CHAIN, 0), made.plan(CHAIN, 0)
    assert (front.plans[0].makespan_s, front.plans[-1].makespan_s) == (600, 2400)
    assert any(each.assignments == plan.assignments for each in front)


def test_data_stay_in_their_region_where_leaving_it_is_dear() -> None:
    vms = [replace(SLOW, name=f"s-{region}", region=region) for region in ("us", "japan") * 2]
    pairs = tuple((n, n + 4) for n in range(4))  # four chains of two
    task = replace(problem(vms, [60.0] * 8, pairs), edge_bytes=(10**10,) * 4)
    both = {("us", "japan"): 0.2, ("japan", "us"): 0.15}
    plan = solved(replace(task, tariff=Tariff(both)), hour_usd=0.01)
    region = {vm.id: vm.type.region for vm in task.fleet.vms}
    where = {item.activation: region[item.vm] for item in plan.assignments}
    assert all(where[f"a.{one}"] == where[f"a.{other}"] for one, other in pairs)


def test_confidence_shrinks_estimates_to_their_mean_or_scales_them() -> None:
    instance = validated(problem([SLOW, FAST], [400.0, 800.0], ()))  # 400, 100; 800, 200
    half = GaParameters(confidence=0.5)  # their mean is 375
    assert weighted(instance, half).runtime_ms.tolist() == [
        [387_500, 237_500],
        [587_500, 287_500],
    ]
    scaled = replace(half, confidence_means=ConfidenceMeans.SCALED)
    assert weighted(instance, scaled).runtime_ms.tolist() == [
        [200_000, 50_000],
        [400_000, 100_000],
    ]
    assert weighted(instance, GaParameters()) is instance


def test_what_does_not_fit_fits_with_no_confidence_either() -> None:
    task = replace(problem([SLOW, replace(FAST, slots=2)], [400.0], ()), cpus=(2,))
    for means in ConfidenceMeans:
        plan = solved(task, confidence=0, confidence_means=means)
        assert [item.vm for item in plan.assignments] == ["vm-1"]


def test_differently_confident_solvers_give_different_schedules() -> None:
    plans = [solved(CHAIN, confidence=confidence, hour_usd=9) for confidence in (1, 0)]
    assert {item.vm for item in plans[0].assignments} == {"vm-1"}  # 9.5 USD/h × 4 < 2 USD/h × 16
    assert {item.vm for item in plans[1].assignments} == {"vm-0"}  # both look equally fast
    # Whatever a solver believes, its plan says what the estimates say.
    assert plans[1].makespan_s == 2400


def test_it_is_not_worse_than_heft_where_it_starts_with_heft() -> None:
    task = problem([SLOW, SLOW, FAST], [float(40 * n) for n in range(1, 21)], ((0, 5), (5, 19)))
    heft = Heft().plan(task, 0)

    def value(plan: Plan) -> float:
        return plan.cost_usd + 10 * plan.makespan_s / 3600

    plan = solved(task, start="heft", hour_usd=10, generations=5)
    assert value(plan) <= value(heft)
    assert solved(task, start="heft", hour_usd=10, generations=0).makespan_s <= heft.makespan_s


def test_an_hour_counts_as_the_fleet_does_and_anything_where_that_is_free() -> None:
    assert rules_of(GaParameters(), prices_of(CHAIN)).hour_usd == 9
    free = problem([replace(SLOW, price_usd_per_hour=0.0)], [1.0], ())
    assert rules_of(GaParameters(), prices_of(free)).hour_usd == 1


def test_rates_can_be_read_as_algorithm_1_has_them() -> None:
    prices = prices_of(CHAIN)
    plain = rules_of(GaParameters(), prices)
    literal = rules_of(GaParameters(rates=Rates.ALGORITHM), prices)
    assert (plain.crossover, plain.mutation) == (0.85, 0.03)
    assert [literal.crossover, literal.mutation] == pytest.approx([0.15, 0.97])


@pytest.mark.parametrize(
    "settings",
    [
        {"rates": "algorithm"},
        {"mutates": "gene"},
        {"replacement": "weakest"},
        {"processing": "work"},
        {"elitism": 1},
        {"elitism": 0, "population": 3},
    ],
)
def test_every_reading_of_the_text_gives_a_plan(settings: dict[str, object]) -> None:
    assert len(solved(CHAIN, generations=5, **settings).assignments) == 6


def test_progress_is_told_generation_by_generation() -> None:
    told: list[Progress] = []
    planner("ga", {"generations": "7"}).plan(CHAIN, 0, None, told.append)
    assert [each.episodes for each in told] == [1, 2, 3, 4, 5, 6, 7]
    assert all(each.makespan_s >= each.lower_bound_s > 0 for each in told)
