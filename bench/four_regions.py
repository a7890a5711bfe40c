"""The world of bench/ga_mdp.py: four regions, workflows that arrive, VMs that do not always deliver
what they promise. Published are the regions, Table I, the sizes; all else is ours, and said here.

- Price follows speed, and a region has its own level of prices.
- At busy hours and under load, VMs lose what makes them fast: speed v becomes v^(1 - contention).
  Planners know nothing of it. With `steady`, this does not happen.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from scicore.kernel.billing import Prices, moves_usd, prices_of
from scicore.kernel.instance import Instance, Ints
from scicore.kernel.jit import compiled
from scicore.kernel.strict import decode
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.money import Tariff
from scicore.model.plan import Plan
from scicore.model.problem import Problem
from scicore.planners.base import validated

REGIONS = ("us", "europe", "singapore", "japan")  # C_1 to C_4
TABLE_I = (  # cents per unit of data, from the row's region to the column's
    (0, 0.15, 0.19, 0.20),
    (0.15, 0, 0.19, 0.20),
    (0.15, 0.15, 0, 0.20),
    (0.15, 0.15, 0.19, 0),
)
UNIT_MB = (
    10  # the unit is not given; by this one 0.15 cents are 0.15 USD per GB, Amazon's price then
)
LEVEL = {"us": 1.0, "europe": 1.1, "singapore": 1.1, "japan": 1.2}  # of prices
SPEEDS = (1.0, 2.0, 4.0)
USD_PER_HOUR = 0.1  # of speed 1.0 at level 1.0
WORK_S = 300.0  # of an activation at speed 1.0, the median
SPREAD = 0.5  # sigma of its logarithm
NOISE = 0.2  # sigma of the logarithm of real over estimated runtime
PEAK = range(18, 24)  # hours


def tariff(unit_mb: float = UNIT_MB) -> Tariff:
    usd_per_gb = {
        (REGIONS[row], REGIONS[column]): cents / 100 * 1000 / unit_mb
        for row, line in enumerate(TABLE_I)
        for column, cents in enumerate(line)
        if row != column
    }
    return Tariff(usd_per_gb)


def fleet(vms: int) -> Fleet:
    """Regions and speeds in turn, so that every mix has all of them."""
    made = []
    for number in range(vms):
        region, speed = REGIONS[number % 4], SPEEDS[(number + number // 4) % 3]
        price = USD_PER_HOUR * LEVEL[region] * speed
        made.append(
            Vm(
                f"vm-{number}",
                VmType(f"{region}-{speed:g}", 1, 0, speed, price, 0.0, 100.0, region),
            )
        )
    return Fleet(tuple(made), f"{vms} VMs in four regions")


def workflow(activations: int, vms: int, data_mb: float, seed: int) -> Problem:
    """Layers of random width; each activation reads the files of one to three of the layer before.
    `data_mb` is what all activations together write; a file is sent to each reader by itself."""
    chance = np.random.default_rng(seed)
    layers: list[list[int]] = [[]]
    for index in range(activations):
        if len(layers[-1]) >= 2 and chance.random() < 0.25:
            layers.append([])
        layers[-1].append(index)
    edges: list[tuple[int, int]] = []
    for before, layer in pairwise(layers):
        for child in layer:
            wanted = min(len(before), int(chance.integers(1, 4)))
            edges += [(int(parent), child) for parent in chance.choice(before, wanted, False)]
    file_bytes = chance.dirichlet(np.full(activations, 4.0)) * data_mb * 1e6
    work_s = WORK_S * chance.lognormal(0, SPREAD, activations)
    there = fleet(vms)
    return Problem(
        activations=tuple(f"t.{index}" for index in range(activations)),
        activities=("t",) * activations,
        edges=tuple(edges),
        fleet=there,
        runtime_s=work_s[:, None] / np.array([vm.type.speed for vm in there.vms]),
        edge_bytes=tuple(int(file_bytes[parent]) for parent, _ in edges),
        tariff=tariff(),
    )


@dataclass(frozen=True)
class Schedule:
    """A plan as the kernel needs it."""

    order: Ints
    vm_of: Ints
    makespan_s: float  # as estimated


@dataclass(frozen=True)
class Task:
    """A workflow with everything that planners made of it, by their names."""

    instance: Instance
    prices: Prices
    speeds: NDArray[np.float64]
    schedules: dict[str, Schedule]


def schedule_of(problem: Problem, plan: Plan) -> Schedule:
    row = {name: number for number, name in enumerate(problem.activations)}
    column = {vm.id: number for number, vm in enumerate(problem.fleet.vms)}
    order = np.array([row[item.activation] for item in plan.assignments], dtype=np.int64)
    vm_of = np.zeros(len(order), dtype=np.int64)
    vm_of[order] = [column[item.vm] for item in plan.assignments]
    return Schedule(order, vm_of, plan.makespan_s)


def task_of(problem: Problem, plans: dict[str, Plan]) -> Task:
    speeds = np.array([vm.type.speed for vm in problem.fleet.vms])
    schedules = {name: schedule_of(problem, plan) for name, plan in plans.items()}
    return Task(validated(problem), prices_of(problem), speeds, schedules)


@dataclass(frozen=True)
class Outcome:
    makespan_s: float
    processing_usd: float  # an activation pays for its own time, as in the paper
    data_usd: float
    ends_s: NDArray[np.float64]  # of the activations, ascending

    @property
    def cost_usd(self) -> float:
        return self.processing_usd + self.data_usd


def contention(hour: int, load: float, steady: bool) -> float:
    """From 0, all VMs are as fast as promised, to 1, all are equally slow."""
    if steady:
        return 0.0
    return (0.8 if hour in PEAK else 0.0) + 0.2 * min(load / 2, 1.0)


def execute(task: Task, solver: str, busy: float, chance: np.random.Generator) -> Outcome:
    """The schedule meets the world."""
    plan, instance, prices = task.schedules[solver], task.instance, task.prices
    count = len(plan.order)
    planned_ms = instance.runtime_ms[np.arange(count), plan.vm_of]
    lost = task.speeds[plan.vm_of] ** busy
    noise = chance.lognormal(-NOISE * NOISE / 2, NOISE, count)
    length_ms = np.rint(planned_ms * lost * noise).astype(np.int64)
    start_ms, finish_ms = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    run, fetch = compiled(decode), compiled(moves_usd)
    makespan_ms = run(instance, plan.order, plan.vm_of, length_ms, start_ms, finish_ms)
    return Outcome(
        makespan_ms / 1000,
        float((length_ms * prices.usd_per_h[plan.vm_of]).sum() / 3_600_000),
        fetch(instance, prices, np.arange(count), plan.vm_of, plan.vm_of),
        np.sort(finish_ms / 1000),
    )
