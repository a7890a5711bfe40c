"""First come, first served: the planner that plans nothing, as a line for others to beat."""

from __future__ import annotations

import heapq

from scicore.model.plan import Plan
from scicore.model.problem import Problem
from scicore.planners.base import Placement, Precedence, to_plan, validated


class Fcfs:
    """First come, first served.

    Paper
        None of its own; it is the default of many workflow systems and the baseline of the
        ReASSIGN papers.

    Idea
        Activations queue up in the order in which they become ready. The head of the queue goes
        to the slot that is free earliest, as if slots queued up as well.
        Nothing is known of runtimes beforehand, so a long activation may meet a slow VM.

    Symbols
        ready_s  when the last parent of an activation finishes; 0 without parents
        free_s   when a slot's last activation finishes; 0 at the beginning

    Differences
        Ties, which the name leaves open: activations that become ready together go in
        topological order, slots that become free together in the order of the fleet.
    """

    name = "fcfs"

    def plan(self, problem: Problem, seed: int) -> Plan:
        precedence = validated(problem)
        placements = _placements(problem, precedence)
        return to_plan(self.name, seed, problem, precedence, placements)


def _placements(problem: Problem, precedence: Precedence) -> list[Placement]:
    """Serve the queue. A child is ready no earlier than its parent was, so the head of the queue
    is never overtaken by an activation that enters later."""
    runtime_s: list[list[float]] = problem.runtime_s.tolist()
    placements = [Placement(0, 0.0, 0.0)] * len(problem.activations)
    waiting_for = [len(parents) for parents in precedence.parents]
    ready_s = [0.0] * len(problem.activations)
    queue = [
        (0.0, precedence.position[index], index)
        for index in precedence.order
        if not waiting_for[index]
    ]
    free = [
        (0.0, number) for number, vm in enumerate(problem.fleet.vms) for _ in range(vm.type.slots)
    ]  # ascending, as `queue` is: both are heaps from the start
    while queue:
        came_s, _, index = heapq.heappop(queue)
        free_s, vm = free[0]
        start_s = max(came_s, free_s)
        finish_s = start_s + runtime_s[index][vm]
        heapq.heapreplace(free, (finish_s, vm))
        placements[index] = Placement(vm, start_s, finish_s)
        for child in precedence.children[index]:
            ready_s[child] = max(ready_s[child], finish_s)
            waiting_for[child] -= 1
            if not waiting_for[child]:
                heapq.heappush(queue, (ready_s[child], precedence.position[child], child))
    return placements
