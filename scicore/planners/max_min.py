"""Max-Min: of a batch, the activation whose earliest completion is the latest goes first."""

from __future__ import annotations

from scicore.kernel.instance import Instance, Ints
from scicore.kernel.mapping import LONGEST
from scicore.planners.heuristic import Heuristic, handed_out
from scicore.planners.min_min import BatchParameters, way_of


class MaxMin(Heuristic[BatchParameters]):
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

    def schedule(self, instance: Instance) -> tuple[Ints, Ints]:
        return handed_out(way_of(self.parameters), instance, LONGEST)
