"""First come, first served: the planner that plans nothing, as a line for others to beat."""

from __future__ import annotations

import heapq

import numpy as np

from scicore.kernel.instance import NEVER, Instance, Ints
from scicore.kernel.strict import new_lanes, occupy, opening_ms, ready_ms
from scicore.model.parameters import Parameters
from scicore.planners.heuristic import Heuristic


class Fcfs(Heuristic[Parameters]):
    """First come, first served.

    Paper
        None of its own; it is the default of many workflow systems and the baseline of the
        ReASSIGN papers.

    Idea
        Activations queue up in the order in which they become ready. The head of the queue goes
        to the VM that has room for it earliest, as if slots queued up as well.
        Nothing is known of runtimes beforehand, so a long activation may meet a slow VM.

    Symbols
        came_ms  when the last parent of an activation finishes; 0 without parents
        free_ms  when a VM has, or since when it has had, room for the activation

    Differences
        Ties, which the name leaves open: activations that become ready together go in
        topological order, VMs that have room at the same time in the order of the fleet.
        Data is on its way only after the VM has been chosen, so it is not looked at.
    """

    name = "fcfs"

    def schedule(self, instance: Instance) -> tuple[Ints, Ints]:
        return _served(instance)


def _served(instance: Instance) -> tuple[Ints, Ints]:
    """Serve the queue. A child is ready no earlier than its parent was, so the head of the queue
    is never overtaken by an activation that enters later."""
    count, vms = instance.runtime_ms.shape
    vm_of, finish_ms = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    order: list[int] = []
    lanes = new_lanes(instance)
    waiting_for = np.diff(instance.parent_at)
    place = np.empty(count, dtype=np.int64)
    place[instance.order] = np.arange(count)
    came_ms = np.zeros(count, dtype=np.int64)
    queue = [
        (0, int(place[index]), int(index)) for index in instance.order if not waiting_for[index]
    ]
    while queue:
        _, _, activation = heapq.heappop(queue)
        fitting = (vm for vm in range(vms) if instance.runtime_ms[activation, vm] != NEVER)
        vm = min(fitting, key=lambda vm: opening_ms(instance, lanes, activation, vm, 0))
        ready = ready_ms(instance, activation, vm, vm_of, finish_ms)
        start = opening_ms(instance, lanes, activation, vm, ready)
        finish = start + instance.runtime_ms[activation, vm]
        occupy(instance, lanes, activation, vm, start, finish)
        vm_of[activation], finish_ms[activation] = vm, finish
        order.append(activation)
        for child in instance.children[
            instance.child_at[activation] : instance.child_at[activation + 1]
        ]:
            came_ms[child] = max(came_ms[child], finish)
            waiting_for[child] -= 1
            if not waiting_for[child]:
                heapq.heappush(queue, (int(came_ms[child]), int(place[child]), int(child)))
    return np.array(order, dtype=np.int64), vm_of
