"""What a schedule costs: the one place where planners and simulator get it from.

A VM is launched when the run starts and released after its last activation: its boot and the time
in which it waits for work in between are paid, per second with a minimum (`billed_s`). A VM that is
given nothing is never launched. Data are paid by the GB where they go from region to region.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scicore.kernel.instance import Floats, Instance, Ints
from scicore.kernel.strict import decode, lengths_ms
from scicore.model.cloud import billed_s
from scicore.model.money import BYTES_PER_GB
from scicore.model.problem import Problem


class Prices(NamedTuple):
    usd_per_h: Floats  # [VM]
    usd_per_gb: Floats  # [VM that sends, VM that receives]


def prices_of(problem: Problem) -> Prices:
    types = [vm.type for vm in problem.fleet.vms]
    usd_per_gb = np.zeros((len(types), len(types)))
    if problem.tariff.usd_per_gb:
        for sender, one in enumerate(types):
            usd_per_gb[sender] = [problem.tariff.between(one, other) for other in types]
    return Prices(np.array([each.price_usd_per_hour for each in types]), usd_per_gb)


def evaluate(
    instance: Instance, prices: Prices, order: Ints, vm_of: Ints, start_ms: Ints, finish_ms: Ints
) -> tuple[int, float]:
    """Makespan in ms and cost in USD of a plan as estimated; fills in starts and finishes."""
    makespan_ms = decode(instance, order, vm_of, lengths_ms(instance, vm_of), start_ms, finish_ms)
    return makespan_ms, bill_usd(instance, prices, vm_of, finish_ms)


def bill_usd(instance: Instance, prices: Prices, vm_of: Ints, finish_ms: Ints) -> float:
    """VM and finish of each activation in, the whole cost out."""
    return rent_usd(prices, vm_of, finish_ms) + moves_usd(
        instance, prices, np.arange(len(vm_of)), vm_of, vm_of
    )


def rent_usd(prices: Prices, vm: Ints, finish_ms: Ints) -> float:
    """VM and end of each attempt in, what all VMs cost until their last one out."""
    released_ms = np.zeros(len(prices.usd_per_h), dtype=np.int64)
    for index in range(len(vm)):
        released_ms[vm[index]] = max(released_ms[vm[index]], finish_ms[index])
    usd = 0.0
    for index in range(len(released_ms)):
        usd += billed_s(released_ms[index] / 1000) * prices.usd_per_h[index] / 3600
    return usd


def moves_usd(instance: Instance, prices: Prices, activation: Ints, vm: Ints, vm_of: Ints) -> float:
    """Attempts fetch what their parents left on their VMs `vm_of`."""
    usd = 0.0
    if instance.moves_data:
        for index in range(len(activation)):
            one = activation[index]
            for at in range(instance.parent_at[one], instance.parent_at[one + 1]):
                usd_per_gb = prices.usd_per_gb[vm_of[instance.parents[at]], vm[index]]
                usd += instance.parent_bytes[at] / BYTES_PER_GB * usd_per_gb
    return usd


def held_usd(prices: Prices, vm: Ints, makespan_ms: int) -> float:
    """What the rent would be if no used VM were released before the run has ended."""
    return rent_usd(prices, vm, np.full(len(vm), makespan_ms, dtype=np.int64))
