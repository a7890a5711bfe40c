"""GA, MDP and BRS beside their paper (Barrett, Howley, Duggan 2011).

Its results are curves without numbers. What it does give: equations 3 to 8, the parameters of the
solvers, 144 states, the example of figure 1, and Table I.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.four_regions import REGIONS, TABLE_I, execute, tariff
from bench.ga_mdp import BRS, SOLVERS, planned
from scicore.kernel.billing import prices_of
from scicore.kernel.evolution import fitness
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.experience import Experience, Moment, Result
from scicore.model.problem import Problem
from scicore.planners import planner
from scicore.planners.decision_process import STATES, Model, Tally, action_values, learned
from scicore.planners.ga import GaParameters, rules_of
from scicore.planners.mdp import MdpParameters, solvers_of
from scicore.planners.mdp import rules_of as mdp_rules

KINDS = [VmType(f"vm in {region}", 1, 0, 1.0, 0.6, region=region) for region in REGIONS]
GB = 10**9


def pair(sender: int, receiver: int) -> Problem:
    """A parent that can only run in one region, and its child in another: 1 GB between them."""
    rows = [[60.0 if vm == where else 6000.0 for vm in range(4)] for where in (sender, receiver)]
    return Problem(
        ("T1", "T2"),
        ("T", "T"),
        ((0, 1),),
        Fleet(tuple(Vm(f"C{number}", kind) for number, kind in enumerate(KINDS, 1)), "C1 to C4"),
        np.array(rows),
        edge_bytes=(GB,),
        tariff=tariff(),
    )


# -- the genetic algorithm ------------------------------------------------------------------------


def test_the_solvers_parameters_are_those_of_section_v() -> None:
    """50, 5%, 85% and 3%; mu = 0.3."""
    ours = GaParameters()
    found = (ours.population, ours.elitism, ours.crossover, ours.mutation, ours.mu)
    assert found == (50, 0.05, 0.85, 0.03, 0.3)


def test_there_are_three_solvers_whose_confidence_differs() -> None:
    solvers = solvers_of(MdpParameters().solvers).values()
    confidences = [solver.confidence for solver in solvers]
    assert len(confidences) == len(set(confidences)) == 3
    assert all(0 <= each <= 1 for each in confidences)


@pytest.mark.parametrize("sender", range(4))
@pytest.mark.parametrize("receiver", range(4))
def test_data_between_regions_cost_what_table_i_says(sender: int, receiver: int) -> None:
    """Cents per unit of 10 MB: USD per GB. Equations 3 to 5 on two tasks."""
    task = pair(sender, receiver)
    plan = planner("ga", {"generations": "30", "hour_usd": "1000", "processing": "work"}).plan(
        task, 0
    )
    moved_usd = TABLE_I[sender][receiver]
    way_s = 0 if sender == receiver else GB / 125e6
    assert [item.vm for item in plan.assignments] == [f"C{sender + 1}", f"C{receiver + 1}"]
    assert plan.makespan_s == 60 + way_s + 60  # eq. 3
    held_s = [120] if sender == receiver else [60, 120 + way_s]
    rent_usd = sum(seconds * 0.6 / 3600 for seconds in held_s)
    assert plan.cost_usd == pytest.approx(rent_usd + moved_usd)  # eq. 4


def test_equation_6() -> None:
    f = np.array([10.0, 14.0, 20.0])
    assert fitness(f, 0.3).tolist() == pytest.approx([1 + 0.3, 0.6 + 0.3, 0.3])


def test_best_resource_selection_pays_for_data_and_a_solver_does_not() -> None:
    """Section V.B: BRS takes the dearest resource wherever it is; a GA sees the whole workflow."""
    fast = replace(KINDS[3], name="fast", speed=2.0, price_usd_per_hour=1.2)
    vms = (Vm("C1", KINDS[0]), Vm("C4", fast), Vm("C2", KINDS[1]))
    fork = Problem(
        tuple(f"T{number}" for number in range(1, 8)),
        ("T",) * 7,
        ((0, 1), (0, 2), (0, 3), (1, 4), (2, 5), (3, 6)),
        Fleet(vms, "three regions"),
        np.array([[60.0, 30.0, 60.0]] * 7),
        edge_bytes=(GB,) * 6,
        tariff=tariff(),
    )
    brs = planner("brs").plan(fork, 0)
    ga = planner("ga", {"generations": "100", "hour_usd": "1"}).plan(fork, 0)
    assert ga.cost_usd < brs.cost_usd / 2


def test_as_data_grow_best_resource_selection_becomes_dearer_faster() -> None:
    """Figure 6, on one of the benchmark's workflows, when all goes as estimated."""
    little, much = (planned(20, 5, data_mb, seed=0) for data_mb in (64, 2048))
    dearer_usd = {
        who: execute(much, who, 0.0, np.random.default_rng(0)).cost_usd
        - execute(little, who, 0.0, np.random.default_rng(0)).cost_usd
        for who in (*SOLVERS, BRS)
    }
    assert all(dearer_usd[BRS] > 1.5 * dearer_usd[solver] for solver in SOLVERS)


# -- the decision process -------------------------------------------------------------------------


def test_there_are_144_states() -> None:
    assert STATES == 144


def test_an_agent_that_wants_state_2_takes_action_1_of_figure_1() -> None:
    """In state 1, A1 leads to state 2 with probability 0.7 and A2 with 0.4. Being anywhere but on
    the way to state 2 costs 1; state 2 keeps whoever is there."""
    probability = np.array([[[0.3, 0.7], [0.0, 1.0]], [[0.6, 0.4], [0.0, 1.0]]])
    cost_usd = probability[:, :, 0]
    values = action_values(Model(probability, cost_usd, np.zeros((2, 2))), 0.5, 1e-12)
    # V = 0.3 × (1 + V / 2); A2 instead, once: 0.6 × (1 + V / 2).
    best = 0.3 / (1 - 0.15)
    assert values[:, 0] == pytest.approx([best, 0.6 * (1 + best / 2)])


def test_probabilities_follow_equations_7_and_8_step_by_step() -> None:
    parameters = MdpParameters()
    rules = mdp_rules(parameters)
    tally = Tally(("a",), rules)
    now = Moment(9, 0.2)
    seen = [Moment(10, 0.2), Moment(10, 3.0, Result.FAILURE), Moment(10, 0.2), Moment(9, 0.2)]
    p, expc = np.full(STATES, 1 / STATES), 1.0
    for after in seen:
        tally.add(Experience("a", now, after, 1.0, 60.0))
        there = rules.state(after).number
        changed = p * expc / (expc + 1)  # eq. 8
        changed[there] = (p[there] * expc + 1) / (expc + 1)  # eq. 7
        p, expc = changed, expc + 1
        ours = learned(tally).probability[0, rules.state(now).number]
        assert ours == pytest.approx(p)
        assert ours.sum() == pytest.approx(1)
    assert p[rules.state(seen[0]).number] == pytest.approx((1 / STATES + 2) / 5)


def test_elitism_of_five_percent_keeps_three_of_fifty() -> None:
    assert rules_of(GaParameters(), prices_of(pair(0, 1))).elite == 3
