"""ReASSIGN by hand: actions, rewards, the Q table, and every reading of the texts."""

from __future__ import annotations

import numpy as np
import pytest

from scicore.errors import UsageError
from scicore.kernel.instance import Floats, Instance
from scicore.kernel.jit import compiled
from scicore.kernel.reassign_episode import Memory, Rules, episode
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.problem import Problem
from scicore.planners import planner
from scicore.planners.base import Progress, validated
from scicore.planners.q_table import recalled
from scicore.planners.reassign import Reassign, ReassignParameters, learn, rules_of

ONE = VmType("one", slots=1, memory_mb=0, speed=1.0, price_usd_per_hour=0.0)


def problem(
    runtime_s: list[list[float]],
    edges: tuple[tuple[int, int], ...] = (),
    vm_type: VmType = ONE,
) -> Problem:
    count, vms = len(runtime_s), len(runtime_s[0])
    return Problem(
        tuple(f"a.{index}" for index in range(count)),
        ("a",) * count,
        edges,
        Fleet(tuple(Vm(f"vm-{number}", vm_type) for number in range(vms)), "some"),
        np.array(runtime_s, dtype=np.float64),
    )


def memory(q: list[list[float]]) -> Memory:
    table = np.array(q)
    per_vm = [np.zeros(table.shape[1]) for _ in range(4)]
    return Memory(table, per_vm[0], per_vm[1], per_vm[2], per_vm[3], np.zeros(1))


def rules(**changes: float) -> Rules:
    calm = rules_of(ReassignParameters(alpha=0.5, gamma=0.5, epsilon=0.0))
    return calm._replace(**changes)  # type: ignore[arg-type]


def run(
    instance: Instance, rules: Rules, memory: Memory, chance: Floats | None = None
) -> tuple[int, list[int], list[int]]:
    """Makespan in ms, order of decisions, VM of each activation."""
    count = len(instance.order)
    order, vm_of = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    numbers = np.zeros((count, 2)) if chance is None else chance
    makespan_ms = episode(instance, rules, memory, numbers, order, vm_of)
    return int(makespan_ms), order.tolist(), vm_of.tolist()


# -- one episode by hand --------------------------------------------------------------------------

PAIR = validated(problem([[2.0, 1.0], [4.0, 2.0]]))


def test_q_is_updated_as_algorithm_2_says() -> None:
    """a.0 to VM 1: r = 0.5, next best 0.5 with gamma^1, delta -0.05. a.1 to VM 0: r = 0.75, no
    next action, delta 0.25."""
    known = memory([[0.2, 0.8], [0.5, 0.6]])
    assert run(PAIR, rules(), known) == (4000, [0, 1], [1, 0])
    assert known.q.tolist() == [[0.2, pytest.approx(0.775)], [pytest.approx(0.625), 0.6]]
    assert known.gained[0] == 2


def test_rewards_begin_anew_in_each_episode_and_statistics_go_on() -> None:
    """Again r = 0.5 at first; after two episodes both VMs have executed two activations."""
    known = memory([[0.2, 0.8], [0.5, 0.6]])
    run(PAIR, rules(), known)
    run(PAIR, rules(), known)
    assert known.q[0, 1] == pytest.approx(0.775 + 0.5 * (0.5 + 0.5 * 0.625 - 0.775))
    assert known.q[1, 0] == pytest.approx(0.625 + 0.5 * (0.75 - 0.625))
    assert known.executed.tolist() == [2, 2]
    assert known.execution_s.tolist() == [8, 2]


def test_a_constant_discount_is_the_same_at_the_first_step_only() -> None:
    three = validated(problem([[1.0] * 3] * 3))
    q = [[0.9, 0.1, 0.1], [0.1, 0.9, 0.1], [0.1, 0.1, 0.9]]
    growing, constant = memory(q), memory(q)
    run(three, rules(), growing)
    run(three, rules(growing_discount=0), constant)
    assert growing.q[0].tolist() == constant.q[0].tolist()
    # Step 2: r = 0.75, the next best is a.2 on VM 2.
    assert growing.q[1, 1] == pytest.approx(0.9 + 0.5 * (0.75 + 0.25 * 0.9 - 0.9))
    assert constant.q[1, 1] == pytest.approx(0.9 + 0.5 * (0.75 + 0.5 * 0.9 - 0.9))


def test_the_running_mean_takes_the_partial_reward_alone() -> None:
    known = memory([[0.2, 0.8], [0.5, 0.6]])
    run(PAIR, rules(running_mean=1), known)
    assert known.q.tolist() == [[0.2, pytest.approx(0.9)], [0.75, 0.6]]


# -- rewards --------------------------------------------------------------------------------------

ONE_SLOW = validated(problem([[1.0, 1.0, 10.0]] * 3))
EACH_ITS_OWN = [[0.9, 0.1, 0.1], [0.1, 0.9, 0.1], [0.1, 0.1, 0.9]]


@pytest.mark.parametrize(
    ("three_valued", "gained"),
    [(0, 1 + 1 - 1), (1, 0 + 0 - 1)],
    ids=["paper eq. 6", "dissertation eq. IV"],
)
def test_a_vm_that_is_much_slower_than_the_fleet_is_punished(
    three_valued: int, gained: int
) -> None:
    """Mean indices 0.5, 0.5 and 5 s: their deviation is 2.12, and 5 > 2 + 2.12."""
    known = memory(EACH_ITS_OWN)
    run(ONE_SLOW, rules(three_valued=three_valued), known)
    assert known.gained[0] == gained


def test_the_dissertation_rewards_a_vm_that_is_much_faster() -> None:
    """Mean indices 5, 5 and 0.5 s: the deviation is 2.12, and 0.5 < 3.5 - 2.12."""
    known = memory(EACH_ITS_OWN)
    run(validated(problem([[10.0, 10.0, 1.0]] * 3)), rules(three_valued=1), known)
    assert known.gained[0] == 1


def test_where_most_vms_are_slow_nobody_is_punished() -> None:
    """Why the published reward says so little on the published fleets: 8 of 9 VMs are slow, their
    mean is nearly the fleet's, and the deviation is larger than what lies between."""
    fleet = validated(problem([[8.0] * 8 + [1.0]] * 9))
    known = memory((np.eye(9) + 0.1).tolist())
    run(fleet, rules(), known)
    assert known.gained[0] == 9


def test_once_settled_the_reward_is_for_the_vm_whatever_the_activation() -> None:
    """After a thousand activations per VM, a long one on a fast VM is rewarded and a short one on
    a slow VM punished: which activation belongs where cannot be learned from that."""
    for vm, runtime_s, gained in ((0, 100.0, 1), (2, 0.001, -1)):
        known = memory([[float(number == vm) for number in range(3)]])
        known.executed[:] = 1000
        known.execution_s[:] = 1000, 1000, 10_000
        run(validated(problem([[runtime_s] * 3])), rules(), known)
        assert known.gained[0] == gained


def test_queue_time_counts_against_a_vm() -> None:
    """Two activations, one VM: the second has queued for 3 s."""
    known = memory([[0.5], [0.5]])
    run(validated(problem([[3.0], [1.0]])), rules(), known)
    assert known.queue_s.tolist() == [3]
    # execution: (3 + 1) / 2 and 3 / 2, each with weight a half; total: the queue counts twice
    assert known.index_squares[0] == pytest.approx(1.5**2 + (0.5 * 1 + 0.5 * 3) ** 2)
    total = memory([[0.5], [0.5]])
    run(validated(problem([[3.0], [1.0]])), rules(total_time=1), total)
    assert total.index_squares[0] == pytest.approx(1.5**2 + (0.5 * 4 + 0.5 * 3) ** 2)


def test_the_deviation_may_be_that_of_all_activations() -> None:
    """VMs 0 and 1 execute 1 and 9 s each, VM 2 twice 10 s, so their mean indices are 2.5, 2.5 and
    5 s, 3.33 s over all. The VMs' deviation is 1.18 s, so VM 2 is punished at its second, too; that
    of the activations is 2.01 s, so it is not."""
    runtime_s = [[1.0] * 3, [1.0] * 3, [10.0] * 3, [9.0] * 3, [9.0] * 3, [10.0] * 3]
    task = validated(problem(runtime_s, edges=((0, 3), (1, 4), (2, 5))))
    of_vms, of_activations = memory(EACH_ITS_OWN * 2), memory(EACH_ITS_OWN * 2)
    run(task, rules(), of_vms)
    run(task, rules(single_indices=1), of_activations)
    assert of_vms.execution_s.tolist() == of_activations.execution_s.tolist() == [10, 10, 20]
    assert of_vms.gained[0] == 4 - 2
    assert of_activations.gained[0] == 5 - 1


# -- actions --------------------------------------------------------------------------------------


def test_exploring_takes_any_idle_vm() -> None:
    known = memory([[0.9, 0.1, 0.1]])
    one = validated(problem([[1.0] * 3]))
    for number, vm in ((0.0, 0), (0.34, 1), (0.99, 2)):
        chance = np.array([[0.05, number]])
        assert run(one, rules(learn=0, explore=0.1), known, chance)[2] == [vm]
    assert run(one, rules(learn=0, explore=0.1), known, np.array([[0.1, 0.99]]))[2] == [0]


def test_a_busy_vm_is_no_action_however_good() -> None:
    known = memory([[0.1, 0.9], [0.2, 0.9]])
    assert run(PAIR, rules(learn=0), known)[2] == [1, 0]


def test_a_vm_is_idle_while_a_slot_is_free() -> None:
    two = VmType("two", slots=2, memory_mb=0, speed=1.0, price_usd_per_hour=0.0)
    task = validated(problem([[2.0, 1.0], [4.0, 2.0]], vm_type=two))
    assert run(task, rules(learn=0), memory([[0.1, 0.9], [0.2, 0.9]]))[2] == [1, 1]


def test_with_pairs_the_best_of_all_goes_first() -> None:
    known = memory([[0.2, 0.3], [0.4, 0.8]])
    assert run(PAIR, rules(learn=0, pairs=1), known)[1:] == ([1, 0], [0, 1])
    assert run(PAIR, rules(learn=0), known)[1:] == ([0, 1], [1, 0])


def test_one_per_cycle_runs_one_after_the_other() -> None:
    known = memory([[0.1, 0.9], [0.2, 0.9]])
    assert run(PAIR, rules(one_per_cycle=1), known) == (3000, [0, 1], [1, 1])
    assert known.queue_s.tolist() == [0, 1]


def test_what_needs_more_than_is_free_does_not_hold_up_the_next() -> None:
    two = VmType("two", slots=2, memory_mb=0, speed=1.0, price_usd_per_hour=0.0)
    task = problem([[4.0], [1.0], [1.0]], vm_type=two)
    crowded = Problem(
        task.activations, task.activities, (), task.fleet, task.runtime_s, cpus=(1, 2, 1)
    )
    makespan_ms, order, _ = run(validated(crowded), rules(), memory([[0.5]] * 3))
    assert (makespan_ms, order) == (5000, [0, 2, 1])


# -- the planner ----------------------------------------------------------------------------------

DIAMONDS = problem(
    [[4.0, 2.0, 3.0], [5.0, 1.0, 2.0], [2.0, 2.0, 2.0], [6.0, 3.0, 9.0]] * 5,
    edges=tuple(
        (base + parent, base + child)
        for base in range(0, 20, 4)
        for parent, child in ((0, 1), (0, 2), (1, 3), (2, 3))
    ),
)


def learned(**changes: object) -> tuple[Reassign, tuple[int, ...], dict[str, float]]:
    parameters = ReassignParameters(**changes)  # type: ignore[arg-type]
    chance = np.random.default_rng(5)
    outcome = learn(validated(DIAMONDS), parameters, recalled(None, DIAMONDS, chance), chance)
    ends = {name: getattr(outcome, name).makespan_ms / 1000 for name in ("last", "best", "greedy")}
    return Reassign(parameters), outcome.makespans_ms, ends


def test_the_plan_is_the_greedy_policy_the_best_or_the_last_episode() -> None:
    _, makespans_ms, ends = learned(episodes=30, epsilon=0.5)
    assert len(makespans_ms) == 30
    assert ends["last"] == makespans_ms[-1] / 1000
    assert ends["best"] == min(makespans_ms) / 1000
    for source, makespan_s in ends.items():
        settings = {"episodes": "30", "epsilon": "0.5", "plan_from": source}
        assert planner("reassign", settings).plan(DIAMONDS, 5).makespan_s == makespan_s


def test_the_best_episode_is_kept_beside_the_plan() -> None:
    kept = planner("reassign").plan(DIAMONDS, 5).policy
    best = planner("reassign", {"plan_from": "best"}).plan(DIAMONDS, 5)
    assert kept is not None
    assert kept["best_episode"] == {
        "makespan_s": best.makespan_s,
        "assignments": [[item.activation, item.vm] for item in best.assignments],
    }


def test_an_episode_takes_as_long_as_its_plan() -> None:
    """The strict rule and the simulated world agree where no data moves."""
    plan = planner("reassign", {"plan_from": "last"}).plan(DIAMONDS, 5)
    assert plan.makespan_s == learned()[2]["last"]


def test_epsilon_has_two_meanings() -> None:
    never = planner("reassign", {"epsilon": "0"}).plan(DIAMONDS, 1)
    always_best = planner("reassign", {"epsilon": "1", "epsilon_means": "best"}).plan(DIAMONDS, 1)
    explorer = planner("reassign", {"epsilon": "1"}).plan(DIAMONDS, 1)
    assert never.policy == always_best.policy != explorer.policy


def test_seeds_differ_and_each_gives_the_same_again() -> None:
    first, second = (planner("reassign").plan(DIAMONDS, seed) for seed in (1, 2))
    assert first == planner("reassign").plan(DIAMONDS, 1)
    assert first.policy != second.policy


def test_progress_tells_the_best_so_far() -> None:
    told: list[Progress] = []
    planner("reassign", {"episodes": "20"}).plan(DIAMONDS, 1, progress=told.append)
    assert [each.episodes for each in told] == list(range(1, 21))
    best_s = [each.makespan_s for each in told]
    assert best_s == sorted(best_s, reverse=True)
    assert all(each.lower_bound_s <= each.makespan_s for each in told)


def test_parameters_out_of_range_are_refused() -> None:
    for name, value in (("alpha", "1.5"), ("episodes", "0"), ("update", "sarsa")):
        with pytest.raises(UsageError, match=f"{name}={value}"):
            planner("reassign", {name: value})


def test_compiled_and_plain_episodes_are_alike() -> None:
    instance = validated(DIAMONDS)
    chance = np.random.default_rng(1).random((20, 2))
    for changes in ({}, {"pairs": 1, "three_valued": 1}, {"one_per_cycle": 1, "running_mean": 1}):
        setting = rules(explore=0.3, **changes)
        plain, fast = (memory(np.random.default_rng(2).random((20, 3)).tolist()) for _ in "pf")
        order, vm_of = np.zeros(20, dtype=np.int64), np.zeros(20, dtype=np.int64)
        makespan_ms = compiled(episode)(instance, setting, fast, chance, order, vm_of)
        ours = run(instance, setting, plain, chance)
        assert ours == (makespan_ms, order.tolist(), vm_of.tolist())
        assert np.allclose(plain.q, fast.q, rtol=1e-12)
