"""Min-Min: of a batch, the activation that can complete first goes first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scicore.kernel.instance import Instance, Ints
from scicore.kernel.mapping import SHORTEST, in_batches, when_idle
from scicore.model.parameters import Parameters, setting
from scicore.planners.heuristic import Heuristic, handed_out


@dataclass(frozen=True, slots=True)
class BatchParameters(Parameters):
    """Of Min-Min and Max-Min."""

    only_idle: bool = setting(
        False, "hand out to VMs that are idle, at the time they are, as WorkflowSim does"
    )


class MinMin(Heuristic[BatchParameters]):
    """Min-Min.

    Paper
        O. Ibarra, C. Kim: Heuristic algorithms for scheduling independent tasks on nonidentical
        processors. Journal of the ACM 24(2), 1977. For workflows: J. Blythe et al., Task
        scheduling strategies for workflow-based applications in grids, CCGrid 2005.

    Idea
        For each activation of a batch, find the VM where it completes first. The activation with
        the smallest of these times goes there; then all look again. Short activations first:
        VMs are never idle early, but long activations may be left for the end.

    Symbols
        batch  activations whose parents have all been mapped in earlier batches
        ECT    expected completion time of an activation on a VM, after all it was given before

    Differences
        - Data that must move, boot times and several slots per VM are part of the ECT.
        - `only_idle` is WorkflowSim's reading: a batch is whatever is ready at the time, and only
          VMs that are idle at the time count. It reproduces WorkflowSim's makespans up to that
          simulator's overheads (tests/papers/test_workflowsim.py).
        - Ties: who came first; of VMs, the first of the fleet.
    """

    name = "min-min"
    settable = BatchParameters

    def schedule(self, instance: Instance) -> tuple[Ints, Ints]:
        return handed_out(way_of(self.parameters), instance, SHORTEST)


def way_of(parameters: BatchParameters) -> Callable[[Instance, int, Ints, Ints], None]:
    return when_idle if parameters.only_idle else in_batches
