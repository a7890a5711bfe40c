"""The decision process by hand, and in made worlds where it can be known what is best."""

from __future__ import annotations

import numpy as np
import pytest

from scicore.errors import UsageError
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.experience import Experience, Moment, Result
from scicore.model.problem import Problem
from scicore.planners import planner
from scicore.planners.decision_process import (
    STATES,
    Load,
    Model,
    State,
    Tally,
    Unseen,
    action_values,
    learned,
)
from scicore.planners.mdp import (
    Choice,
    MdpParameters,
    choose,
    policy_of,
    rules_of,
    solvers_of,
)

GOOD, BAD = Result.SUCCESS, Result.FAILURE
MORNING, EVENING = Moment(9, 0.1), Moment(20, 2.0)
SOLVERS = ("bold", "wary")
GREEDY = MdpParameters(epsilon=0.0)


def tally(*known: Experience, parameters: MdpParameters = GREEDY) -> Tally:
    made = Tally(SOLVERS, rules_of(parameters))
    for each in known:
        made.add(each)
    return made


def ran(solver: str, cost_usd: float, now: Moment = MORNING, late: bool = False) -> Experience:
    return Experience(
        solver, now, Moment(now.hour, now.load, BAD if late else GOOD), cost_usd, 60.0
    )


# -- states ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "word"),
    [
        *((0.0, Load.LIGHT), (0.49, Load.LIGHT)),
        *((0.5, Load.MODERATE), (1.49, Load.MODERATE)),
        *((1.5, Load.HEAVY), (99.0, Load.HEAVY)),
    ],
)
def test_a_load_is_light_moderate_or_heavy(load: float, word: Load) -> None:
    assert rules_of(GREEDY).state(Moment(3, load, BAD)) == State(3, word, BAD)


def test_every_state_has_a_number_of_its_own() -> None:
    numbers = {
        State(hour, load, result).number for hour in range(24) for load in Load for result in Result
    }
    assert numbers == set(range(STATES))


def test_a_heavy_load_below_a_light_one_is_refused() -> None:
    with pytest.raises(UsageError, match=r"heavy_from=1 below light_below=2"):
        rules_of(MdpParameters(light_below=2, heavy_from=1))


# -- costs ----------------------------------------------------------------------------------------


def test_a_failure_costs_a_penalty_and_time_costs_if_that_is_wished() -> None:
    rules = rules_of(MdpParameters(penalty_usd=5, hour_usd=60))
    assert rules.reward_usd(ran("bold", 2.0)) == 3  # a minute is a dollar
    assert rules.reward_usd(ran("bold", 2.0, late=True)) == 8


def test_what_never_happened_costs_what_the_solver_does_elsewhere_or_nothing() -> None:
    known = [ran("bold", 2.0), ran("bold", 4.0)]
    evening = rules_of(GREEDY).state(EVENING).number
    mean = learned(tally(*known)).cost_usd
    assert mean[0, evening] == pytest.approx(3.0)
    assert mean[1, evening] == 0  # it was never tried at all
    zero = learned(tally(*known, parameters=MdpParameters(unseen=Unseen.ZERO))).cost_usd
    assert zero[0, evening] == 0


def test_experiences_of_other_solvers_teach_nothing() -> None:
    assert learned(tally(ran("somebody", 2.0))).tried.sum() == 0


# -- value iteration ------------------------------------------------------------------------------


def test_values_solve_the_equation_of_algorithm_2() -> None:
    chance = np.random.default_rng(0)
    probability = chance.dirichlet(np.ones(5), (3, 5))
    cost_usd = chance.random((3, 5))
    values = action_values(Model(probability, cost_usd, np.zeros((3, 5))), 0.9, 1e-12)
    best = values.min(axis=0)
    assert values == pytest.approx(cost_usd + 0.9 * probability @ best)


def test_a_dear_step_is_taken_if_it_leads_to_where_everything_is_cheap() -> None:
    """State 0 costs 1 each time; the second action costs 3 once and leads to state 1, where
    nothing costs anything."""
    probability = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])
    cost_usd = np.array([[1.0, 0.0], [3.0, 0.0]])
    model = Model(probability, cost_usd, np.zeros((2, 2)))
    assert action_values(model, 0.9, 1e-9)[:, 0].argmin() == 1  # 1 / (1 - 0.9) = 10 > 3
    assert action_values(model, 0.5, 1e-9)[:, 0].argmin() == 0  # 2 < 3


# -- choosing -------------------------------------------------------------------------------------


def chosen(now: Moment, *known: Experience, parameters: MdpParameters = GREEDY) -> Choice:
    return choose(tally(*known, parameters=parameters), now, parameters, 0)


def test_every_solver_is_tried_before_any_is_preferred() -> None:
    first = chosen(MORNING)
    second = chosen(MORNING, ran("bold", 0.01))
    assert (first.solver, second.solver) == ("bold", "wary")
    assert second.because == "it was never tried before"


def test_the_cheaper_one_is_chosen_and_it_is_said_why() -> None:
    choice = chosen(MORNING, ran("bold", 3.0), ran("wary", 1.0), ran("wary", 1.0))
    assert (choice.solver, choice.because) == ("wary", "its expected cost is the least")
    assert [each.tried for each in choice.solvers] == [1, 2]
    assert choice.experiences == 3


def test_a_missed_deadline_outweighs_a_low_price() -> None:
    known = [ran("bold", 0.1, late=True), ran("wary", 0.5)]
    assert chosen(MORNING, *known).solver == "wary"
    assert chosen(MORNING, *known, parameters=MdpParameters(epsilon=0, penalty_usd=0)).solver == (
        "bold"
    )


def test_chance_tries_any_solver_now_and_then() -> None:
    always = MdpParameters(epsilon=1.0)
    known = [ran("bold", 3.0), ran("wary", 1.0)]
    tried = set()
    for _ in range(20):
        tried.add(chosen(MORNING, *known, parameters=always).solver)
        known.append(ran("wary", 1.0))
    assert tried == set(SOLVERS)


def test_it_learns_which_solver_is_better_when() -> None:
    """In the morning bold costs 1 and wary 2; in the evening it is the other way round. Costs
    are noisy. After 400 runs the right one is chosen at both times, though none is the better
    one on average."""
    chance = np.random.default_rng(0)
    parameters = MdpParameters(epsilon=0.1)
    known = tally(parameters=parameters)
    for number in range(400):
        now = (MORNING, EVENING)[number % 2]
        solver = choose(known, now, parameters, 0).solver
        right = "bold" if now is MORNING else "wary"
        cost_usd = (1.0 if solver == right else 2.0) * chance.lognormal(0, 0.5)
        late = solver != right and chance.random() < 0.3
        known.add(ran(solver, cost_usd, now, late))
    assert choose(known, MORNING, GREEDY, 0).solver == "bold"
    assert choose(known, EVENING, GREEDY, 0).solver == "wary"


# -- the planner ----------------------------------------------------------------------------------

KINDS = [VmType("slow", 1, 0, 1.0, 1.0), VmType("fast", 1, 0, 4.0, 8.0)]
CHAIN = Problem(
    tuple(f"a.{index}" for index in range(6)),
    ("a",) * 6,
    tuple((n, n + 1) for n in range(5)),
    Fleet(tuple(Vm(f"vm-{number}", kind) for number, kind in enumerate(KINDS)), "some"),
    np.array([[400.0, 100.0]] * 6),
)
CHEAP, QUICK = "generations=30 hour_usd=0.01", "generations=30 hour_usd=1000"


def test_the_plan_is_that_of_the_solver_with_the_least_expected_cost() -> None:
    made = planner("mdp", {"solvers": f"{CHEAP}; {QUICK}", "epsilon": "0"})
    for costs, makespan_s in ((1.0, 2.0), 2400), ((2.0, 1.0), 600):
        known = [ran(solver, usd) for solver, usd in zip((CHEAP, QUICK), costs, strict=True)]
        plan = made.plan(CHAIN, 0, policy=policy_of(MORNING, known))
        assert (plan.algorithm, plan.makespan_s) == ("mdp", makespan_s)
        assert [each.makespan_s for each in made.front(CHAIN, 0, policy=policy_of(MORNING, known))]


def test_solvers_are_written_as_settings_of_ga() -> None:
    solvers = solvers_of("confidence=1; confidence=0.5  generations=9 ")
    assert list(solvers) == ["confidence=1", "confidence=0.5 generations=9"]
    assert solvers["confidence=0.5 generations=9"].generations == 9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found the solver ''"),
        ("confidence=1;", "found the solver ''"),
        ("mu=1; mu=1", "found the solver 'mu=1'"),
        ("heft", "found the solver 'heft'"),
        ("speed=1", r"solver 'speed=1' of mdp, has no parameter 'speed'"),
        ("confidence=7", "expected a number from 0 to 1"),
    ],
)
def test_solvers_that_make_no_sense_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        solvers_of(text)


def test_the_policy_of_another_algorithm_is_refused() -> None:
    with pytest.raises(UsageError, match="'q-table', expected an 'mdp'"):
        planner("mdp").plan(CHAIN, 0, policy={"kind": "q-table"})
