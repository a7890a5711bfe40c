"""BRS: best resource selection, the baseline that looks at performance alone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scicore.kernel.best_resource import FINISH, SPEED, START, best_resources
from scicore.kernel.instance import Instance, Ints
from scicore.model.parameters import Parameters, setting
from scicore.planners.heuristic import Heuristic, handed_out


class Best(StrEnum):
    SPEED = "speed"  # where it runs the shortest: high processing capabilities
    FINISH = "finish"  # earliest finish time
    START = "start"  # earliest start time


RULES = {Best.SPEED: SPEED, Best.FINISH: FINISH, Best.START: START}


@dataclass(frozen=True, slots=True)
class BrsParameters(Parameters):
    best: Best = setting(Best.SPEED, "what makes a VM with room the best: speed, finish or start")


class Brs(Heuristic[BrsParameters]):
    """Best resource selection.

    Paper
        E. Barrett, E. Howley, J. Duggan: A Learning Architecture for Scheduling Workflow
        Applications in the Cloud, 2011, sections II and V, after S. Pandey, L. Wu, S. Guru,
        R. Buyya: A Particle Swarm Optimization-Based Heuristic for Scheduling Workflow
        Applications in Cloud Computing Environments, 2010.

    Idea
        Whoever is ready takes the VM that performs best, among those that have room: neither
        what the VM costs nor what its data cost on their way is looked at.

    Symbols
        best  earliest finish, earliest start or highest processing capability: the paper counts
              all three as best resource selection

    Differences
        - The experiments' text says "the most expensive resource"; in the paper the price grows
          with the speed, so that is the fastest one, `best=speed`, our default.
        - A VM without room is not waited for: if everybody waited for the one fastest VM, no
          data would ever move, which contradicts the published results.
        - Ties: activations in the order in which they become ready, VMs in that of the fleet.
    """

    name = "brs"
    settable = BrsParameters

    def schedule(self, instance: Instance) -> tuple[Ints, Ints]:
        return handed_out(best_resources, instance, RULES[self.parameters.best])
