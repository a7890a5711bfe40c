"""PEFT's optimistic cost table: how soon the end can be reached from each activation and VM."""

from __future__ import annotations

import numpy as np

from scicore.kernel.instance import NEVER, Floats, Instance


def optimistic_costs(instance: Instance, per_byte: float) -> Floats:
    """OCT[activation, VM] in ms, the activation itself not counted; eq. 3 of the PEFT paper.

    A child either stays on the VM or goes to where it is best off: no other VM can be better. So
    an edge costs as many steps as there are VMs, not their square.
    """
    count, vms = instance.runtime_ms.shape
    costs = np.zeros((count, vms))
    child_ms = np.empty(vms)
    for place in range(count - 1, -1, -1):
        activation = instance.order[place]
        for at in range(instance.child_at[activation], instance.child_at[activation + 1]):
            child = instance.children[at]
            move_ms = instance.child_bytes[at] * per_byte
            nearest = 0
            for vm in range(vms):
                length = instance.runtime_ms[child, vm]
                child_ms[vm] = costs[child, vm] + length if length != NEVER else np.inf
                if child_ms[vm] < child_ms[nearest]:
                    nearest = vm
            stay_ms = move_ms if instance.shared else 0.0
            for vm in range(vms):
                soonest = min(child_ms[vm] + stay_ms, child_ms[nearest] + move_ms)
                costs[activation, vm] = max(costs[activation, vm], soonest)
    return costs
