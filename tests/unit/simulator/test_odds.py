"""How sure a plan is to keep its limits."""

from __future__ import annotations

import numpy as np
import pytest

from scicore.errors import UsageError
from scicore.estimation.spreads import spreads_of
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.estimate import Estimate, Grounds, Source
from scicore.model.objective import Goal, Objective
from scicore.model.problem import Problem
from scicore.planners import planner
from scicore.simulator.cloud import simulate
from scicore.simulator.models import Uncertainty
from scicore.simulator.odds import Odds, odds_of, required

SMALL = VmType("small", 1, 0, 1.0, 3.6)
LARGE = VmType("large", 2, 0, 2.0, 36.0)
PROBLEM = Problem(
    tuple(f"a.{index}" for index in range(6)),
    ("a", "a", "b", "b", "c", "c"),
    (),
    Fleet((Vm("small-1", SMALL), Vm("large-1", LARGE)), "1xsmall,1xlarge"),
    np.array([[100.0, 50.0]] * 6),
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def estimate(activity: str, vm_type: str, spread: float | None) -> Estimate:
    return Estimate(activity, vm_type, Source.ACTIVITY, 1.0, 9, spread, (vm_type,))


def test_the_share_of_runs_that_keep_both_limits_at_once_is_counted() -> None:
    odds = Odds(np.array([10.0, 20.0, 30.0, np.inf]), np.array([4.0, 3.0, 2.0, np.inf]))
    assert odds.keeps(Objective(deadline_s=20)) == 0.5
    assert odds.keeps(Objective(max_cost_usd=3)) == 0.5
    assert odds.keeps(Objective(deadline_s=20, max_cost_usd=3)) == 0.25
    assert odds.keeps(Objective(Goal.COST)) == 1
    assert odds.time_s(0.5) == 20
    assert odds.money_usd(0.9) == np.inf


def test_more_simulations_must_keep_a_limit_than_are_promised_the_fewer_the_more() -> None:
    assert 0.9 < required(0.9, 10_000) < required(0.9, 400) < required(0.9, 50) <= 1
    assert required(1.0, 100) == 1


def test_learned_spreads_belong_to_activity_and_vm_type_and_else_to_what_is_known() -> None:
    grounds = Grounds(
        PROBLEM,
        (estimate("a", "small", 0.1), estimate("a", "large", 0.2), estimate("b", "small", 0.4)),
    )
    plan = planner("heft").plan(PROBLEM, 0)
    on = {each.activation: each.vm for each in plan.assignments}
    spreads = dict(zip(PROBLEM.activations, spreads_of(grounds, plan, unknown=0.7), strict=True))
    assert spreads["a.0"] == (0.1 if on["a.0"] == "small-1" else 0.2)
    assert spreads["a.2"] == 0.4
    assert spreads["a.4"] == 0.7


def test_spreads_make_runs_scatter_around_the_estimate_by_kernel_and_core_alike() -> None:
    plan = planner("heft").plan(PROBLEM, 0)
    wild = Uncertainty(spreads=(0.0, 0.0, 0.0, 0.0, 1.0, 1.0))
    odds = odds_of(PROBLEM, plan, wild, rng(), 2000)  # by the kernel
    assert odds.time_s(0.9) > 1.3 * plan.makespan_s > odds.time_s(0.1)
    calm = Uncertainty(spreads=(0.0,) * 6)
    assert odds_of(PROBLEM, plan, calm, rng(), 3).time_s(1.0) == plan.makespan_s
    few = [simulate(PROBLEM, plan, wild, rng(seed)).makespan_s for seed in range(300)]
    assert np.median(few) == pytest.approx(odds.time_s(0.5), rel=0.2)


def test_spreads_that_mean_nothing_are_refused() -> None:
    with pytest.raises(UsageError, match="sigmas from 0 to 5"):
        Uncertainty(spreads=(0.1, -0.1))
