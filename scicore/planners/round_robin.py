"""Round robin: the VMs take turns."""

from __future__ import annotations

from scicore.kernel.instance import Instance, Ints
from scicore.kernel.mapping import on_arrival
from scicore.model.parameters import Parameters
from scicore.planners.heuristic import Heuristic, handed_out


class RoundRobin(Heuristic[Parameters]):
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

    def schedule(self, instance: Instance) -> tuple[Ints, Ints]:
        return handed_out(on_arrival, instance, 1)
