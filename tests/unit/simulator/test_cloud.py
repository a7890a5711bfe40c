"""The virtual-time driver: where all is certain it gives what the kernel gives, else worse."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.errors import UsageError
from scicore.model.activation import Dispatch, RunState
from scicore.model.cloud import Fleet, Vm, VmType, as_processors
from scicore.model.plan import Plan
from scicore.model.problem import Problem, milliseconds
from scicore.planners.heft import Heft
from scicore.simulator.cloud import simulate
from scicore.simulator.models import Slowdown, Uncertainty
from scicore.simulator.outcome import Outcome
from scicore.simulator.repeats import decoded, simulations
from tests.unit.simulator.drawn import planned

CERTAIN = Uncertainty()
Case = tuple[Problem, Plan]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def times_ms(problem: Problem, outcome: Outcome) -> dict[str, tuple[str, int, int]]:
    """VM, start and finish of each activation; each must have run once."""
    assert outcome.attempts is not None
    found = {
        problem.activations[activation]: (problem.fleet.vms[vm].id, start, finish)
        for activation, vm, start, finish in zip(
            *(column.tolist() for column in outcome.attempts[:4]), strict=True
        )
    }
    assert len(found) == len(outcome.attempts.vm)
    return found


def planned_ms(plan: Plan) -> dict[str, tuple[str, int, int]]:
    return {
        each.activation: (each.vm, milliseconds(each.start_s), milliseconds(each.finish_s))
        for each in plan.assignments
    }


def chain_problem(vms: int = 3, width: int = 6, boot_s: float = 0.0) -> Case:
    """`width` chains of two activations of 10 s and 5 s, on VMs with two slots."""
    kind = VmType("two", 2, 0, 1.0, 0.36, boot_s=boot_s)
    fleet = Fleet(tuple(Vm(f"two-{number}", kind) for number in range(1, vms + 1)), f"{vms}xtwo")
    problem = Problem(
        activations=tuple(f"{tag}.{n}" for tag in "ab" for n in range(1, width + 1)),
        activities=("a",) * width + ("b",) * width,
        edges=tuple((n, width + n) for n in range(width)),
        fleet=fleet,
        runtime_s=np.repeat([[10.0], [5.0]], width, axis=0) * np.ones((1, vms)),
    )
    return problem, Heft().plan(problem, seed=0)


# --- two drivers of one semantics ---------------------------------------------------------------


@given(planned())
@settings(max_examples=150, deadline=None)
def test_the_execution_core_does_in_virtual_time_what_the_kernel_computes(case: Case) -> None:
    problem, plan = case
    outcome = simulate(problem, plan, CERTAIN, rng())
    assert outcome.state is RunState.FINISHED
    assert times_ms(problem, outcome) == planned_ms(plan)
    assert outcome.makespan_s == plan.makespan_s
    assert outcome.cost_usd == pytest.approx(plan.cost_usd)


@given(planned(), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_under_noise_and_slow_vms_core_and_kernel_still_agree(case: Case, seed: int) -> None:
    problem, plan = case
    uncertainty = Uncertainty(noise=0.4, slowdown=Slowdown(0.5, 2.5))
    by_core = simulate(problem, plan, uncertainty, rng(seed))
    (by_kernel,) = decoded(problem, plan, uncertainty, rng(seed), repeats=1)
    assert times_ms(problem, by_core) == times_ms(problem, by_kernel)
    assert by_core.cost_usd == pytest.approx(by_kernel.cost_usd)
    assert by_core.utilisation == pytest.approx(by_kernel.utilisation)
    assert by_core.busy_s == pytest.approx(by_kernel.busy_s)


@given(planned(), st.sampled_from([Dispatch.ADAPTIVE, Dispatch.DYNAMIC]))
@settings(max_examples=60, deadline=None)
def test_however_work_moves_everything_runs_once_and_after_its_parents(
    case: Case, dispatch: Dispatch
) -> None:
    problem, plan = case
    outcome = simulate(problem, plan, CERTAIN, rng(), dispatch)
    assert outcome.state is RunState.FINISHED
    ran = times_ms(problem, outcome)
    assert set(ran) == set(problem.activations)
    for parent, child in problem.edges:
        finish_ms = ran[problem.activations[parent]][2]
        assert finish_ms <= ran[problem.activations[child]][1]


def test_as_processors_vms_are_what_the_papers_simulated() -> None:
    fleet = as_processors(Fleet((Vm("v", VmType("big", 8, 100, 1.25, 0.4)),), "1xbig"))
    (vm,) = fleet.vms
    assert (vm.type.slots, vm.type.speed, fleet.text) == (1, 8.0, "1xbig")


# --- what may go wrong --------------------------------------------------------------------------


def test_the_same_seed_has_the_same_luck_and_another_one_has_not() -> None:
    problem, plan = chain_problem()
    unlucky = Uncertainty(0.3, Slowdown(0.3, 2.0, 4.0), failures=0.2, vm_loss=0.2)
    one, again, other = (simulate(problem, plan, unlucky, rng(seed)) for seed in (1, 1, 2))
    assert (one.makespan_s, one.cost_usd) == (again.makespan_s, again.cost_usd)
    assert one.makespan_s != other.makespan_s


def test_a_failed_attempt_is_tried_again_until_it_works() -> None:
    problem, plan = chain_problem()
    outcome = simulate(problem, plan, Uncertainty(failures=0.4), rng(3))
    assert outcome.state is RunState.FINISHED
    assert outcome.attempts is not None
    finished = Counter(outcome.attempts.activation[outcome.attempts.finished].tolist())
    assert finished == Counter(range(12))
    assert len(outcome.attempts.vm) > 12
    assert outcome.makespan_s > plan.makespan_s


def test_with_one_attempt_a_failure_is_the_end_of_the_run() -> None:
    problem, plan = chain_problem()
    outcome = simulate(problem, plan, Uncertainty(failures=0.9), rng(), max_attempts=1)
    assert outcome.state is RunState.FAILED


def test_what_a_lost_vm_ran_is_run_again_elsewhere() -> None:
    problem, plan = chain_problem(vms=8, width=16)
    outcome = simulate(problem, plan, Uncertainty(vm_loss=0.4), rng(5))
    assert outcome.state is RunState.FINISHED
    attempts = outcome.attempts
    assert attempts is not None
    lost = ~attempts.finished
    assert lost.any()
    assert set(attempts.activation[attempts.finished].tolist()) == set(range(32))
    for vm in set(attempts.vm[lost].tolist()):
        end_ms = attempts.finish_ms[lost & (attempts.vm == vm)].max()
        assert attempts.start_ms[attempts.vm == vm].max() <= end_ms


def test_with_every_vm_lost_the_run_is_interrupted() -> None:
    problem, plan = chain_problem(vms=1, width=40)
    assert simulate(problem, plan, Uncertainty(vm_loss=1.0), rng()).state is RunState.INTERRUPTED


def test_a_vm_that_boots_is_waited_for_and_paid() -> None:
    problem, plan = chain_problem(boot_s=60.0)
    outcome = simulate(problem, plan, CERTAIN, rng())
    assert outcome.makespan_s == plan.makespan_s == 75.0
    assert outcome.cost_usd == pytest.approx(3 * 75 * 0.36 / 3600)


def test_a_vm_that_is_slow_for_a_while_delays_what_it_runs_then() -> None:
    problem, plan = chain_problem()
    slow = Uncertainty(slowdown=Slowdown(share=0.5, factor=3.0, period_s=5.0))
    outcomes = [simulate(problem, plan, slow, rng(seed)).makespan_s for seed in range(20)]
    assert min(outcomes) >= plan.makespan_s
    assert plan.makespan_s < np.mean(outcomes) < 3 * plan.makespan_s


def test_adaptive_dispatch_gains_where_vms_are_slow() -> None:
    problem, plan = chain_problem(vms=6, width=60)
    slow = Uncertainty(slowdown=Slowdown(0.3, 4.0))
    means = {
        dispatch: np.mean(
            [simulate(problem, plan, slow, rng(seed), dispatch).makespan_s for seed in range(6)]
        )
        for dispatch in (Dispatch.STRICT, Dispatch.ADAPTIVE)
    }
    assert means[Dispatch.ADAPTIVE] < means[Dispatch.STRICT]


# --- many simulations ---------------------------------------------------------------------------


def test_repeats_have_the_spread_that_the_noise_says() -> None:
    """One activation: its makespan is the noise itself."""
    kind = VmType("one", 1, 0, 1.0, 0.1)
    fleet = Fleet((Vm("one-1", kind),), "1xone")
    problem = Problem(("a.1",), ("a",), (), fleet, np.array([[100.0]]))
    plan = Heft().plan(problem, seed=0)
    outcomes = list(simulations(problem, plan, Uncertainty(noise=0.2), rng(), repeats=4000))
    logs = np.log([outcome.makespan_s / 100 for outcome in outcomes])
    assert np.std(logs) == pytest.approx(0.2, rel=0.05)
    assert np.mean([outcome.makespan_s for outcome in outcomes]) == pytest.approx(100, rel=0.02)


def test_only_the_first_of_many_simulations_keeps_its_attempts() -> None:
    problem, plan = chain_problem()
    for uncertainty in (Uncertainty(noise=0.1), Uncertainty(failures=0.1)):
        first, second = simulations(problem, plan, uncertainty, rng(), repeats=2)
        assert first.attempts is not None
        assert second.attempts is None


# --- what makes no sense ------------------------------------------------------------------------


def test_a_plan_for_other_activations_or_vms_is_refused() -> None:
    problem, _ = chain_problem(width=6)
    with pytest.raises(UsageError, match=r"other activations .* e\.g\. a\.7, b\.7"):
        simulate(problem, chain_problem(width=7)[1], CERTAIN, rng())
    with pytest.raises(UsageError, match=r"fleet 2xtwo, found 3xtwo"):
        simulate(problem, chain_problem(vms=2)[1], CERTAIN, rng())


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Uncertainty(noise=-1),
        lambda: Uncertainty(noise=math.nan),
        lambda: Uncertainty(failures=1.0),
        lambda: Uncertainty(vm_loss=1.5),
        lambda: Slowdown(2.0, 2.0),
        lambda: Slowdown(0.5, 0.5),
        lambda: Slowdown(0.5, 2.0, 0.0),
    ],
)
def test_impossible_chances_are_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(UsageError, match="expected"):
        wrong()
