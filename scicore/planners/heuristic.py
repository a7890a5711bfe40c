"""Planners that follow a fixed rule: they learn nothing and leave nothing to chance."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from scicore.kernel.instance import Instance, Ints
from scicore.kernel.jit import suited
from scicore.model.parameters import Parameters
from scicore.model.plan import Plan, Policy
from scicore.model.problem import Problem
from scicore.planners.base import Budget, Planner, Report, to_plan, validated

P = TypeVar("P", bound=Parameters)


class Heuristic(Planner[P]):
    @abstractmethod
    def schedule(self, instance: Instance) -> tuple[Ints, Ints]:
        """The plan order, and the VM of each activation."""

    def plan(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Plan:
        instance = validated(problem)
        return to_plan(self, seed, problem, instance, *self.schedule(instance))


def handed_out(
    way: Callable[[Instance, int, Ints, Ints], None], instance: Instance, rule: int
) -> tuple[Ints, Ints]:
    """The order and the VMs that a function of the kernel fills in, which knows several rules."""
    count, vms = instance.runtime_ms.shape
    order, vm_of = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    suited(way, count * vms)(instance, rule, order, vm_of)
    return order, vm_of
