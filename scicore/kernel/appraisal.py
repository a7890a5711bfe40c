"""Many schedules at once, each as time and money; and what every VM offers to one activation."""

from __future__ import annotations

import numpy as np

from scicore.kernel.billing import Prices, evaluate
from scicore.kernel.instance import NEVER, Floats, Instance, Ints
from scicore.kernel.ranking import order_by_priority
from scicore.kernel.strict import Lanes, opening_ms, ready_ms


def appraise(
    instance: Instance,
    prices: Prices,
    orders: Ints,  # [schedule, place]: topological
    vms: Ints,  # [schedule, activation]
    makespan_ms: Ints,
    cost_usd: Floats,
) -> None:
    """Fill in makespan and cost of each schedule."""
    start_ms = np.zeros(orders.shape[1], dtype=np.int64)
    finish_ms = np.zeros(orders.shape[1], dtype=np.int64)
    for row in range(len(orders)):
        makespan_ms[row], cost_usd[row] = evaluate(
            instance, prices, orders[row], vms[row], start_ms, finish_ms
        )


def orders_by_priority(instance: Instance, priorities: Floats, orders: Ints) -> None:
    """A topological order for each row of priorities."""
    for row in range(len(priorities)):
        orders[row] = order_by_priority(instance, priorities[row])


def offers(
    instance: Instance, lanes: Lanes, activation: int, vm_of: Ints, finish_ms: Ints, start_ms: Ints
) -> None:
    """Fill in when the activation could start on each VM; NEVER where it does not fit."""
    for vm in range(len(start_ms)):
        start_ms[vm] = NEVER
        if instance.runtime_ms[activation, vm] != NEVER:
            ready = ready_ms(instance, activation, vm, vm_of, finish_ms)
            start_ms[vm] = opening_ms(instance, lanes, activation, vm, ready)
