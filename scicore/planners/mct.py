"""MCT: each activation, as it comes, where it completes first."""

from __future__ import annotations

from scicore.kernel.instance import Instance, Ints
from scicore.kernel.mapping import on_arrival
from scicore.model.parameters import Parameters
from scicore.planners.heuristic import Heuristic, handed_out


class Mct(Heuristic[Parameters]):
    """Minimum Completion Time.

    Paper
        R. Armstrong, D. Hensgen, T. Kidd: The relative performance of various mapping algorithms
        is independent of sizable variances in run-time predictions. 7th Heterogeneous Computing
        Workshop, 1998. Also M. Maheswaran et al., Journal of Parallel and Distributed Computing
        59, 1999, where it is an on-line mode heuristic.

    Idea
        An activation is handed out as soon as it is ready, to the VM where it will complete
        first, be that VM idle or not. It is HEFT without ranks and without gaps.

    Symbols
        ready time  when the VM has a free slot, after all that it was given before
        ECT         expected completion time: start + runtime, with data that must move first

    Differences
        - The papers map independent tasks; here a task arrives when its last parent finishes.
        - Ties: activations that become ready together go in topological order, VMs in the order
          of the fleet.
    """

    name = "mct"

    def schedule(self, instance: Instance) -> tuple[Ints, Ints]:
        return handed_out(on_arrival, instance, 0)
