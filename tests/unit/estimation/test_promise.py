"""The more runs are recorded, the closer a plan's predicted makespan comes to what happens.

Runs are simulated, so that the truth is known: declared runtimes are wrong by a factor of their
own for each activity and each activation, and every attempt is noisy. bench/learning.py shows the
same with real runs.
"""

from __future__ import annotations

import numpy as np

from scicore.estimation import Expected, estimate_runtimes
from scicore.model.activation import Observation
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.problem import Problem
from scicore.planners.heft import Heft
from scicore.simulator.cloud import simulate
from scicore.simulator.models import Uncertainty

TYPES = (VmType("small", 1, 0, 1.0, 0.1), VmType("large", 4, 0, 1.5, 0.4))
FLEET = Fleet(tuple(Vm(f"vm-{n}", TYPES[n % 2]) for n in range(4)), "2xsmall,2xlarge")
WIDTH = 20


def predictions(seed: int, runs: int) -> tuple[list[float], list[float]]:
    """Errors of the predicted makespan before each run, relative to what the plan really takes."""
    rng = np.random.default_rng(seed)
    activities = ("project",) * WIDTH + ("add",) + ("background",) * WIDTH
    middle = WIDTH
    edges = (
        *((n, middle) for n in range(WIDTH)),
        *((middle, middle + 1 + n) for n in range(WIDTH)),
    )
    declared_s = np.array([10.0] * WIDTH + [4.0] + [7.0] * WIDTH)
    wrong = {tag: rng.lognormal(0, 0.5) for tag in sorted(set(activities))}
    true_s = (
        declared_s * [wrong[tag] for tag in activities] * rng.lognormal(0, 0.2, len(activities))
    )
    speeds = np.array([1.0 if vm.type.name == "small" else 1.3 for vm in FLEET.vms])
    names = tuple(f"{tag}.{n}" for n, tag in enumerate(activities))
    truth = Problem(names, activities, edges, FLEET, true_s[:, None] / speeds)
    asked = [
        Expected(tag, key=name, declared_s=float(seconds))
        for tag, name, seconds in zip(activities, names, declared_s, strict=True)
    ]
    seen: list[Observation] = []
    errors, spreads = [], []
    for _ in range(runs):
        estimates = estimate_runtimes(asked, FLEET, seen)
        believed = Problem(names, activities, edges, FLEET, estimates.runtime_s)
        plan = Heft().plan(believed, seed=0)
        exact = simulate(truth, plan, Uncertainty(), rng)
        errors.append(abs(plan.makespan_s / exact.makespan_s - 1))
        spreads.append(float(np.mean(np.abs(np.log(estimates.runtime_s / truth.runtime_s)))))
        noisy = simulate(truth, plan, Uncertainty(noise=0.25), rng).attempts
        assert noisy is not None
        seen += [
            Observation(
                activities[index],
                FLEET.vms[vm].type.name,
                (finish_ms - start_ms) / 1000,
                key=names[index],
            )
            for index, vm, start_ms, finish_ms in zip(
                *(column.tolist() for column in noisy[:4]), strict=True
            )
        ]
    return errors, spreads


def test_after_ten_runs_a_plan_predicts_better_than_after_the_first() -> None:
    found = [predictions(seed, runs=11) for seed in range(8)]
    errors = np.mean([errors for errors, _ in found], axis=0)
    spreads = np.mean([spreads for _, spreads in found], axis=0)
    before, after_first, after_ten = errors[0], errors[1], errors[10]
    assert after_ten < after_first < before
    assert after_ten < 0.08
    assert spreads[10] < spreads[1] < spreads[0]
