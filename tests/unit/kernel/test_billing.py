"""What a schedule costs, to the cent."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from scicore.kernel.billing import bill_usd, held_usd, prices_of
from scicore.kernel.instance import instance_of
from scicore.kernel.jit import compiled
from scicore.model.activation import Dispatch
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.money import Tariff
from scicore.model.problem import Problem, Transfer
from scicore.planners import planner
from scicore.simulator.cloud import simulate
from scicore.simulator.models import Uncertainty

HERE = VmType("here", 1, 0, 1.0, price_usd_per_hour=3.6, boot_s=30.0, region="us")
THERE = VmType("there", 1, 0, 1.0, price_usd_per_hour=36.0, boot_s=30.0, region="eu")
GB = 1_000_000_000


def chain(*runtime_s: float, vms: tuple[VmType, ...] = (HERE, THERE)) -> Problem:
    """One activation after the other, each handing two GB on."""
    count = len(runtime_s)
    return Problem(
        tuple(f"a.{index}" for index in range(count)),
        ("a",) * count,
        tuple((index, index + 1) for index in range(count - 1)),
        Fleet(tuple(Vm(f"vm-{number}", each) for number, each in enumerate(vms)), "drawn"),
        np.array([[each] * len(vms) for each in runtime_s]),
        edge_bytes=(2 * GB,) * (count - 1),
        tariff=Tariff({("us", "eu"): 0.25, ("eu", "us"): 1.0}),
    )


def usd(problem: Problem, vm_of: list[int], finish_s: list[float]) -> float:
    instance, prices = instance_of(problem), prices_of(problem)
    finish_ms = np.array([round(each * 1000) for each in finish_s], dtype=np.int64)
    placed = np.array(vm_of, dtype=np.int64)
    plain = bill_usd(instance, prices, placed, finish_ms)
    assert compiled(bill_usd)(instance, prices, placed, finish_ms) == pytest.approx(plain)
    return plain


@pytest.mark.parametrize(
    ("vm_of", "finish_s", "expected_usd"),
    [
        ([0], [200.0], 0.2),  # a tenth of a cent per second, boot and all
        ([0], [200.001], 0.201),  # a second that has begun is paid
        ([0], [3.0], 0.06),  # the minimum is a minute
        ([0, 0], [100.0, 300.0], 0.3),  # waiting between two activations is paid
        ([1], [100.0], 1.0),  # the other VM, never used, is never launched
        ([0, 1], [100.0, 200.0], 0.1 + 2.0 + 0.5),  # two GB from us to eu
        ([1, 0], [100.0, 200.0], 1.0 + 0.2 + 2.0),  # the way back is dearer
    ],
)
def test_the_bill(vm_of: list[int], finish_s: list[float], expected_usd: float) -> None:
    problem = chain(*[1.0] * len(vm_of))
    assert usd(problem, vm_of, finish_s) == pytest.approx(expected_usd)


def test_data_that_are_said_not_to_move_cost_nothing() -> None:
    still = dataclasses.replace(chain(1.0, 1.0), transfer=Transfer.NONE)
    assert usd(still, [0, 1], [100.0, 200.0]) == pytest.approx(2.1)


def test_vms_that_are_held_to_the_end_cost_more_than_those_released_early() -> None:
    prices = prices_of(chain(1.0, 1.0))
    assert held_usd(prices, np.array([0, 1]), 200_000) == pytest.approx(0.2 + 2.0)
    assert held_usd(prices, np.array([0, 0]), 200_000) == pytest.approx(0.2)


def test_plan_and_simulation_agree_about_boot_minimum_idle_time_and_data() -> None:
    """The middle one runs only on the VM abroad, so that data go there and come back."""
    runtime_s = np.array([[9.0, 99.0], [500.0, 9.0], [9.0, 99.0]])
    problem = dataclasses.replace(chain(1.0, 1.0, 1.0), runtime_s=runtime_s)
    plan = planner("heft").plan(problem, 0)
    assert [each.vm for each in plan.assignments] == ["vm-0", "vm-1", "vm-0"]
    # 30 s boot, 3 times 9 s, 2 times 16 s on the way; the VM abroad is released 25 s earlier.
    assert plan.makespan_s == 30 + 27 + 32
    assert plan.cost_usd == pytest.approx(0.001 * 89 + 0.01 * 64 + 0.5 + 2.0)
    for dispatch in (Dispatch.STRICT, Dispatch.ADAPTIVE):
        outcome = simulate(problem, plan, Uncertainty(), np.random.default_rng(0), dispatch)
        assert outcome.cost_usd == pytest.approx(plan.cost_usd)
