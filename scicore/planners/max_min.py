"""Max-Min: of a batch, the activation whose earliest completion is the latest goes first."""

from __future__ import annotations

from scicore.kernel.mapping import LONGEST
from scicore.model.plan import Plan, Policy
from scicore.model.problem import Problem
from scicore.planners.base import Budget, Planner, Report, to_plan, validated
from scicore.planners.min_min import BatchParameters, mapped


class MaxMin(Planner[BatchParameters]):
    """Max-Min.

    Paper
        O. Ibarra, C. Kim: Heuristic algorithms for scheduling independent tasks on nonidentical
        processors. Journal of the ACM 24(2), 1977. For workflows: J. Blythe et al., Task
        scheduling strategies for workflow-based applications in grids, CCGrid 2005.

    Idea
        As Min-Min, but of the batch the activation with the largest of the smallest completion
        times goes first: long activations get the fast VMs, short ones fill what is left.

    Symbols
        As in min_min.py.

    Differences
        As in min_min.py.
    """

    name = "max-min"
    settable = BatchParameters

    def plan(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Plan:
        instance = validated(problem)
        order, vm_of = mapped(instance, LONGEST, self.parameters.only_idle)
        return to_plan(self, seed, problem, instance, order, vm_of)
