"""Many simulations of one plan, by the compiled kernel where factors on runtimes say it all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from scicore.kernel.instance import arrays_of, instance_of
from scicore.kernel.jit import suited
from scicore.kernel.strict import decode, lengths_ms
from scicore.model.activation import Dispatch, RunState
from scicore.model.plan import Plan
from scicore.model.problem import Problem, milliseconds
from scicore.simulator.cloud import UNLIMITED, simulate
from scicore.simulator.models import Uncertainty, draw
from scicore.simulator.outcome import Attempts, Outcome, outcome_of
from scicore.simulator.traced import require_match

BY_CORE = 5_000  # activations that the core runs in about a second


def simulations(
    problem: Problem,
    plan: Plan,
    uncertainty: Uncertainty,
    rng: Generator,
    repeats: int,
    dispatch: Dispatch = Dispatch.STRICT,
    max_attempts: int = UNLIMITED,
) -> Iterator[Outcome]:
    """One outcome after the other, each with luck of its own. Only the first has its attempts.

    Where the kernel computes the same as the core would do, it takes over what is much work.
    """
    much = repeats * len(problem.activations) > BY_CORE
    if much and dispatch is Dispatch.STRICT and uncertainty.plain:
        yield from decoded(problem, plan, uncertainty, rng, repeats)
        return
    for number in range(repeats):
        yield simulate(problem, plan, uncertainty, rng, dispatch, max_attempts, keep=number == 0)


def decoded(
    problem: Problem, plan: Plan, uncertainty: Uncertainty, rng: Generator, repeats: int
) -> Iterator[Outcome]:
    """The kernel's strict rule gives what the execution core would, only faster."""
    require_match(problem, plan)
    instance = instance_of(problem)
    order, vm_of = arrays_of(problem, plan)
    count = len(order)
    planned_ms = lengths_ms(instance, vm_of)
    run = suited(decode, count * repeats)
    horizon_ms = milliseconds(plan.makespan_s)
    for number in range(repeats):
        fate = draw(uncertainty, count, problem.fleet, horizon_ms, rng)
        slow = np.array([fate.factor if periods else 1.0 for periods in fate.slow])
        length_ms = np.rint(np.rint(planned_ms * fate.noise) * slow[vm_of]).astype(np.int64)
        start_ms, finish_ms = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        run(instance, order, vm_of, length_ms, start_ms, finish_ms)
        attempts = Attempts(
            activation=np.arange(count),
            vm=vm_of,
            start_ms=start_ms,
            finish_ms=finish_ms,
            slots=instance.cpus,
            finished=np.ones(count, dtype=np.bool_),
        )
        yield outcome_of(RunState.FINISHED, problem, instance, attempts, keep=number == 0)
