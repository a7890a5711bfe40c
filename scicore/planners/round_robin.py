"""Round robin: the VMs take turns."""

from __future__ import annotations

import numpy as np

from scicore.kernel.jit import suited
from scicore.kernel.mapping import on_arrival
from scicore.model.parameters import Parameters
from scicore.model.plan import Plan, Policy
from scicore.model.problem import Problem
from scicore.planners.base import Budget, Planner, Report, to_plan, validated


class RoundRobin(Planner[Parameters]):
    """Round robin.

    Paper
        None of its own; WorkflowSim and most batch systems have it.

    Idea
        Activations queue up in the order in which they become ready. The first goes to the first
        VM, the second to the second one, and after the last VM comes the first again. Neither
        runtimes nor how busy a VM is are looked at.

    Symbols
        None.

    Differences
        - VMs take turns, not slots: a VM with eight slots gets no more than one with a single
          slot. That is what the name says and what makes it lose on mixed fleets.
        - A VM that an activation does not fit misses its turn.
        - Ties: activations that become ready together go in topological order.
    """

    name = "round-robin"

    def plan(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Plan:
        instance = validated(problem)
        count, vms = instance.runtime_ms.shape
        order, vm_of = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        suited(on_arrival, count * vms)(instance, 1, order, vm_of)
        return to_plan(self, seed, problem, instance, order, vm_of)
