"""DQN agents beside their paper (Wang et al. 2019): eqs. 5 to 9, algorithm 1, Tables 1 and 2."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bench.mixes import FLEET, PUBLISHED, SIZES, generated
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.problem import Problem, Transfer
from scicore.planners.base import validated
from scicore.planners.dqn import Dqn, DqnParameters, Learner, agreed, targets
from scicore.planners.markov_game import AGENTS, FEATURES, Game, GrowthIn, makespan_reward
from scicore.planners.q_network import new_networks
from scicore.planners.replay import Replay, Sample

Floats = NDArray[np.float64]

FAST = VmType("fast", 1, 0, 1.0, 1.0)
SLOW = VmType("slow", 1, 0, 1.0, 0.1)
FORK = (
    Problem(  # a, then b and c, then d; the slow VM takes four times as long for 0.4 of the money
        activations=("a", "b", "c", "d"),
        activities=("a", "b", "b", "d"),
        edges=((0, 1), (0, 2), (1, 3), (2, 3)),
        fleet=Fleet((Vm("fast-1", FAST), Vm("slow-1", SLOW)), "1xfast,1xslow"),
        runtime_s=np.array([[10.0, 40.0], [20.0, 80.0], [20.0, 80.0], [10.0, 40.0]]),
        transfer=Transfer.NONE,
    )
)


def game(growth_in: GrowthIn = GrowthIn.CHOSEN) -> Game:
    return Game(FORK, validated(FORK), 1, growth_in)


# -- rewards --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("et_ms", "grown_ms", "reward"),
    [(10, 0, 1.0), (10, 5, 0.125), (10, 10, 0.0), (10, 15, -0.125), (10, 90, -1.0), (0, 1, -1.0)],
)
def test_the_makespan_agent_is_rewarded_by_eq_8(et_ms: int, grown_ms: int, reward: float) -> None:
    assert makespan_reward(et_ms, grown_ms) == reward


def test_both_agents_are_rewarded_for_every_activation_that_is_placed() -> None:
    """By hand: the fast VM costs 10 units for a, the slow one 4; so the slow one is `best`."""
    play = game()
    assert play.step(0) == (0.0, 0.0)  # the makespan grows by ET; the dearest VM
    assert play.step(0) == (0.0, 0.0)  # b at 10 s, on to 30 s
    assert play.step(1) == pytest.approx((((80 - 60) / 80) ** 3, 1.0))  # c on the slow VM, to 90 s
    assert play.step(0) == (0.0, 0.0)
    assert play.over
    assert play.makespan_ms == 100_000


def test_measured_in_the_mean_runtime_a_slow_vm_is_no_excuse() -> None:
    fast, slow = game(GrowthIn.MEAN), game(GrowthIn.MEAN)
    assert fast.step(0)[0] == pytest.approx((1 - 10 / 25) ** 3)
    assert slow.step(1)[0] == pytest.approx((1 - 40 / 25) ** 3)
    assert game().step(0)[0] == game().step(1)[0] == 0.0  # as printed, both are alike


def test_activations_come_as_they_are_ready() -> None:
    play = game()
    order = []
    while not play.over:
        order.append(FORK.activations[play.activation])
        play.step(0)
    assert order == ["a", "b", "c", "d"]


# -- the equilibrium ------------------------------------------------------------------------------


def is_correlated_equilibrium(joint: Floats, payoffs: Floats) -> bool:
    """eq. 5: joint[a_1, a_2] is a distribution, payoffs[i, a_1, a_2] what agent i gets."""
    rows = np.einsum("ab,cb->ac", joint, payoffs[0])  # told a, playing c
    columns = np.einsum("ab,ac->bc", joint, payoffs[1])
    return all(bool((np.diag(gains)[:, None] >= gains - 1e-9).all()) for gains in (rows, columns))


@given(st.lists(st.tuples(*[st.floats(-3, 3)] * 2), min_size=2, max_size=6))
@settings(max_examples=60, deadline=None)
def test_what_is_agreed_on_is_the_utilitarian_correlated_equilibrium(
    values: list[tuple[float, float]],
) -> None:
    """Agents that name different VMs schedule nothing, which is worth the worst VM to each."""
    q = np.array(values).T
    count = q.shape[1]
    payoffs = np.repeat(q.min(axis=1), count * count).reshape(2, count, count)
    payoffs[:, np.arange(count), np.arange(count)] = q
    chosen = agreed(q, np.ones(count, dtype=np.bool_))
    joint = np.zeros((count, count))
    joint[chosen, chosen] = 1
    assert is_correlated_equilibrium(joint, payoffs)
    # No joint action has a larger sum, so no distribution over them has.
    assert payoffs.sum(axis=0).max() == pytest.approx(payoffs.sum(axis=0)[chosen, chosen])


def test_a_vm_that_the_activation_does_not_fit_is_never_agreed_on() -> None:
    assert agreed(np.array([[9.0, 1.0], [9.0, 1.0]]), np.array([False, True])) == 1


# -- learning -------------------------------------------------------------------------------------


def test_targets_are_eq_7_and_the_reward_alone_at_the_end() -> None:
    networks = new_networks(AGENTS, FEATURES, np.random.default_rng(0))
    following = np.random.default_rng(1).random((2, 3, FEATURES))
    possible = np.array([[True, True, False], [False, False, False]])
    rewards = np.array([[0.5, 0.25], [1.0, -1.0]])
    sample = Sample(np.zeros((2, FEATURES)), rewards, following, possible)
    y = targets(sample, networks, 0.9)
    best = networks.values(following[0, :2]).max(axis=1)
    assert y[:, 0] == pytest.approx(rewards[:, 0] + 0.9 * best)
    assert y[:, 1].tolist() == [0.25, -1.0]


def test_a_step_of_learning_goes_down_the_gradient_of_eq_6() -> None:
    chance = np.random.default_rng(0)
    networks = new_networks(AGENTS, FEATURES, chance)
    features, wanted = chance.random((64, FEATURES)), chance.normal(size=(AGENTS, 64))
    before = networks.copy()
    losses = [networks.fit(features, wanted, 0.01) for _ in range(200)]
    assert (losses[-1] < 0.7 * losses[0]).all()
    assert losses[0] == pytest.approx(((before.values(features) - wanted) ** 2).mean(axis=1))


def test_a_target_network_stays_as_it_was_while_the_other_learns() -> None:
    chance = np.random.default_rng(0)
    networks = new_networks(AGENTS, FEATURES, chance)
    target = networks.copy()
    features = chance.random((8, FEATURES))
    before = target.values(features)
    networks.fit(features, np.ones((AGENTS, 8)), 0.1)
    assert (target.values(features) == before).all()
    assert (networks.values(features) != before).all()


def test_a_full_replay_memory_forgets_the_oldest() -> None:
    replay = Replay(2, AGENTS, 1, FEATURES)
    for number in range(3):
        replay.store(np.full(FEATURES, number), (number, -number), None, None)
    sample = replay.sample(50, np.random.default_rng(0))
    assert len(replay) == 2
    assert set(sample.taken[:, 0]) == {1, 2}
    assert not sample.possible.any()


def test_alone_the_cost_agent_learns_to_save_and_the_makespan_agent_to_hurry() -> None:
    """By the greedy schedules after learning, not by episodes that were lucky."""
    parameters = DqnParameters(episodes=300, growth_in=GrowthIn.MEAN)
    learner = Learner(FORK, parameters, 0, None, None, None)
    hurried, saved = (set(learner.follow(weight)[1].tolist()) for weight in (0.0, 1.0))
    assert hurried == {0}
    assert saved == {1}
    front = Dqn(parameters).front(FORK, 0)
    assert (front.plans[0].makespan_s, front.plans[-1].makespan_s) == (60, 240)


def test_networks_are_kept_with_the_plan_and_decide_the_next_one_for_another_mix() -> None:
    """Without exploring and learning, stored networks leave nothing to the seed."""
    small, large = generated(138).problem, generated(252).problem
    learned = Dqn(DqnParameters(episodes=10, growth_in=GrowthIn.MEAN)).plan(small, 0)
    stored = json.loads(json.dumps(learned.policy))
    still = Dqn(DqnParameters(episodes=1, epsilon=0.0, rate=0.0))
    assert still.plan(small, 5, policy=stored).assignments == learned.assignments
    first, second = (still.plan(large, seed, policy=stored) for seed in (0, 1))
    assert first.assignments == second.assignments
    assert first.assignments != still.plan(large, 0).assignments


@pytest.mark.parametrize("policy", [{}, {"networks": 3}, {"networks": {"hidden": [[1]]}}])
def test_networks_of_another_shape_are_passed_over(policy: dict[str, object]) -> None:
    once = Dqn(DqnParameters(episodes=1))
    assert once.plan(FORK, 0, policy=policy).assignments == once.plan(FORK, 0).assignments


# -- the experiment -------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_five_templates_are_mixed_to_the_papers_sizes(size: int) -> None:
    task = generated(size).problem
    validated(task)
    assert len(task.activations) == size
    assert len({tag.partition("-")[0] for tag in task.activities}) == 5


def test_runtimes_follow_the_papers_scores() -> None:
    """An AES task of t3.medium takes 4217 / 11489 of the time on a1.4xlarge."""
    task = generated(138).problem
    names = [vm.type.name for vm in FLEET.vms]
    first = task.activities.index("cybershake-28/ExtractSGT")
    ratio = task.runtime_s[first, names.index("a1.4xlarge")] / task.runtime_s[first, 0]
    assert ratio == pytest.approx(4217 / 11489)
    assert FLEET.vms[-1].type.price_usd_per_hour == 0.408
    assert PUBLISHED["workloads"][0] == "AES"
