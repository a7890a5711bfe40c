"""The sizers of the thesis, against its equations computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scicore.model.sizing import Allocation, Experience, Need
from scicore.sizing import Sizing
from scicore.sizing.base import Sizer
from scicore.sizing.gradient_bandit import GradientBandit, Levers
from scicore.sizing.q_agent import Learning, Walker
from scicore.sizing.q_learning import QLearning

ASKED, MOST = Allocation(4, 1000), Allocation(8, 100_000)
NEED = Need(ASKED, MOST)


def new(text: str) -> Sizer:
    return Sizing(text).sizer(np.random.default_rng(0))


def seen(
    run: int,
    cpus: int,
    memory_mb: int,
    *,
    runtime_s: float = 10,
    cpu_s: float = 20,
    peak_mb: float = 120,
    killed: bool = False,
) -> Experience:
    given = Allocation(cpus, memory_mb)
    return Experience(run, given, ASKED, runtime_s, cpu_s, peak_mb, killed)


# --- feedback -----------------------------------------------------------------------------------


def test_feedback_trains_with_all_there_is_then_gives_mean_cpus_and_mean_plus_sd() -> None:
    one = new("feedback")
    for run in range(10):
        assert one.size(NEED).allocation == MOST
        one.learn(seen(run, 8, 100_000, cpu_s=26, peak_mb=100 + 20 * (run % 2)))
    assert one.size(NEED).allocation == Allocation(3, 120)  # 2.6 CPUs; 110 ± 10 MB
    one.learn(seen(99, 3, 120, peak_mb=5000))  # after training it learns no more
    assert one.size(NEED).allocation == Allocation(3, 120)


def test_feedback_retries_with_the_most_ever_used_and_then_twice_that() -> None:
    one = new("feedback,training_runs=2")
    for run, peak_mb in enumerate((100, 300)):
        one.learn(seen(run, 8, 100_000, peak_mb=peak_mb))
    first = one.size(NEED).allocation
    assert first.memory_mb == 300  # 200 + 100
    small = Allocation(2, 250)
    second = one.size(Need(ASKED, MOST, failed=small)).allocation
    assert second.memory_mb == 300
    assert one.size(Need(ASKED, MOST, failed=second)).allocation.memory_mb == 600


# --- bandits ------------------------------------------------------------------------------------


def test_preferences_move_as_in_equations_2_2_and_2_3() -> None:
    levers = Levers(4)
    levers.reward(1, -10, step=0.1)
    assert levers.preferences == pytest.approx([0, 0, 0, 0])  # the first reward is the mean
    levers.reward(2, -4, step=0.1)  # the mean is now -7
    gain = 0.1 * 3
    assert levers.preferences == pytest.approx([-gain / 4, gain * 3 / 4, -gain / 4, -gain / 4])
    weights = [math.exp(each) for each in levers.preferences]
    assert levers.probabilities() == pytest.approx([each / sum(weights) for each in weights])


def bandit() -> GradientBandit:
    one = new("gradient-bandit")
    assert isinstance(one, GradientBandit)
    one.size(NEED)
    return one


def test_the_cpu_bandits_step_is_one_over_the_mean_time() -> None:
    one = bandit()
    one.learn(seen(1, 2, 500, runtime_s=10, cpu_s=20))  # -10 × (1 + 0)
    one.learn(seen(2, 4, 500, runtime_s=30, cpu_s=30))  # -30 × (1 + 3) = -120, mean -65
    assert one._cpus is not None
    gain = (-120 + 65) / 20  # mean time 20
    assert one._cpus.preferences[3] == pytest.approx(gain * (1 - 1 / 8))
    assert one._cpus.preferences[0] == pytest.approx(-gain / 8)


def test_the_memory_bandit_pays_for_unused_chunks_and_twice_for_a_death() -> None:
    one = bandit()
    assert one._memory is not None
    assert len(one._memory.preferences) == 15  # 1.5 n, of 100 MB each
    one.learn(seen(1, 2, 500, peak_mb=200))  # -3
    one.learn(seen(2, 2, 200, peak_mb=200, killed=True))  # -4, mean -3.5
    gain = (-4 + 3.5) / 10
    assert one._memory.preferences[1] == pytest.approx(gain * (1 - 1 / 15))
    assert one._memory.preferences[4] == pytest.approx(-gain / 15)


def test_the_cpu_bandit_learns_nothing_from_a_death() -> None:
    one = bandit()
    one.learn(seen(1, 2, 500))
    one.learn(seen(2, 7, 100, runtime_s=0.1, killed=True))
    assert one._cpus is not None
    assert one._cpus.preferences == pytest.approx([0] * 8)


def test_bandits_find_the_levers_of_a_program_that_never_changes() -> None:
    one = new("gradient-bandit")
    for run in range(400):
        given = one.size(NEED).allocation
        runtime_s = 10 / min(given.cpus, 2)  # it has two threads
        killed = given.memory_mb < 250
        one.learn(
            seen(run, given.cpus, given.memory_mb, runtime_s=runtime_s, cpu_s=10, peak_mb=250,
                 killed=killed)
        )  # fmt: skip
    last = [one.size(NEED).allocation for _ in range(20)]
    assert np.mean([each.cpus for each in last]) < 3.5
    assert 250 <= np.mean([each.memory_mb for each in last]) < 600


# --- Q-learning ---------------------------------------------------------------------------------


def test_q_values_move_as_in_equation_2_5() -> None:
    walker = Walker((2, 2), Learning())
    rng = np.random.default_rng(0)
    stay = (None, (0, 0), (0, 0))
    walker.learn(stay, -2, (0, 0), rng)
    assert walker.values[stay] == pytest.approx(0.1 * -2)
    up = (None, (1, 0), (-1, 0))
    for action in walker.actions((0, 0)):
        walker.values[None, (0, 0), action] = -1.0
    walker.learn(up, -3, (0, 0), rng)
    assert walker.values[up] == pytest.approx(0.1 * (-3 - 1))


def test_there_are_five_actions_but_not_over_the_edge() -> None:
    walker = Walker((3, 3), Learning())
    assert len(walker.actions((1, 1))) == 5
    assert len(walker.actions((0, 0))) == 3
    assert len(walker.actions((1, 0))) == 4


def test_every_untried_action_comes_first() -> None:
    walker = Walker((3, 3), Learning())
    rng = np.random.default_rng(0)
    tried = set()
    for _ in range(5):
        action, why = walker.choose(None, (1, 1), 0.0, rng)
        assert why == "an action never tried there"
        walker.learn((None, (1, 1), action), -1, (1, 1), rng)
        tried.add(action)
    assert len(tried) == 5
    assert walker.choose(None, (1, 1), 0.0, rng)[1] == "the best action known there"


def agent(text: str = "q-learning") -> QLearning:
    one = new(text)
    assert isinstance(one, QLearning)
    one.size(NEED)
    return one


def test_the_first_state_is_the_default_and_steps_are_small() -> None:
    one = new("q-learning")
    last = ASKED
    for run in range(200):
        now = one.size(NEED).allocation
        assert abs(now.cpus - last.cpus) in (0, 2)
        assert abs(now.memory_mb - last.memory_mb) in (0, 500)
        assert now.cpus == last.cpus or now.memory_mb == last.memory_mb
        one.learn(seen(run, now.cpus, now.memory_mb))
        last = now


@pytest.mark.parametrize(
    ("penalty", "unused"),
    [("printed", 1 - 0.75), ("text", 1 - 0.4)],
)
def test_the_reward_is_equation_4_2(penalty: str, unused: float) -> None:
    one = agent(f"q-learning,penalty={penalty}")
    one._mean_s = 5.0
    attempt = seen(1, 4, 500, runtime_s=10, cpu_s=25, peak_mb=200)
    assert one._reward(attempt, (0, 1)) == pytest.approx(-1.5 * 2 * 0.5 * unused)
    busy = seen(1, 4, 500, runtime_s=5, cpu_s=20, peak_mb=200)
    assert one._reward(busy, (0, 1)) == pytest.approx(-0.1 * 1 * 0.5 * unused)


def test_a_death_is_worse_than_any_end_with_the_same_allocation() -> None:
    one = agent()
    one._mean_s = 10.0
    idle = seen(1, 4, 500, runtime_s=10, cpu_s=1, peak_mb=20)
    dead = seen(1, 4, 500, runtime_s=1, cpu_s=1, peak_mb=500, killed=True)
    assert one._reward(dead, (0, 1)) < one._reward(idle, (0, 1))


@pytest.mark.parametrize(("runs", "epsilon"), [(0, 0.5), (49, 0.5), (50, 0.25), (100, 0.1)])
def test_it_explores_less_after_50_and_100_runs(runs: int, epsilon: float) -> None:
    one = agent()
    for run in range(runs):
        one.learn(seen(run, 4, 1000))
    assert one._epsilon() == epsilon


def test_with_1_over_t_it_explores_ever_less() -> None:
    one = agent("q-learning,epsilon=inverse")
    for run in range(40):
        one.learn(seen(run, 4, 1000))
    assert one._epsilon() == 1 / 40


def test_traces_and_replay_learn_faster_from_the_same_steps() -> None:
    rng = np.random.default_rng(0)
    plain, traced = Walker((4,), Learning()), Walker((4,), Learning(trace=0.9, replay=3))
    for walker in (plain, traced):
        for _ in range(5):
            for place in (0, 1, 2):
                pair = (None, (place,), (1,))
                walker.learn(pair, -5.0 if place == 2 else 0.0, (place + 1,), rng)
    start = (None, (0,), (1,))
    assert traced.values[start] < plain.values[start]


def test_separate_agents_learn_about_cpus_and_memory_apart() -> None:
    one = agent("q-learning,agents=separate")
    assert [axes for _, axes in one._walkers] == [(0,), (1,)]
    assert [len(walker.actions((1,))) for walker, _ in one._walkers] == [3, 3]


def test_input_sizes_have_values_of_their_own() -> None:
    one = agent("q-learning,sizes=8")
    assert one._context(10**3) != one._context(10**9)
    assert agent()._context(10**3) == agent()._context(10**9)
