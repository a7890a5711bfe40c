"""PEFT: like HEFT, but each VM is judged by what it means for the rest of the workflow."""

from __future__ import annotations

import numpy as np

from scicore.kernel.earliest_finish import inserted
from scicore.kernel.instance import NEVER, Floats, Instance, Ints
from scicore.kernel.jit import suited
from scicore.kernel.optimistic import optimistic_costs
from scicore.kernel.ranking import mean_ms_per_byte, order_by_priority
from scicore.model.parameters import Parameters
from scicore.planners.base import (
    order_by_start,
)
from scicore.planners.heuristic import Heuristic


class Peft(Heuristic[Parameters]):
    """Predict Earliest Finish Time.

    Paper
        H. Arabnejad, J. G. Barbosa: List Scheduling Algorithm for Heterogeneous Systems by an
        Optimistic Cost Table. IEEE Transactions on Parallel and Distributed Systems 25(3), 2014.

    Idea
        For each activation and VM, the optimistic cost is how long the rest of the workflow takes
        at least if the activation runs there, all VMs being free. Of the activations whose
        parents are placed, the one with the largest mean cost goes next, to the VM where its
        finish plus the optimistic cost is smallest; it may slip into a gap.

    Symbols
        OCT       optimistic cost table, eq. 3
        rank_oct  mean of an activation's row of the OCT, eq. 4
        O_EFT     earliest finish time + OCT, eq. 5

    Differences
        - A processor of the paper is a VM here, with several slots; the OCT knows nothing of
          slots, so on fleets of many-slot VMs it is less sharp than in the paper.
        - rank_oct is the mean over the VMs that the activation fits.
        - Ties: the topological order decides between activations, the order of the fleet between
          VMs.
    """

    name = "peft"

    def schedule(self, instance: Instance) -> tuple[Ints, Ints]:
        return schedule(instance)


def costs_ms(instance: Instance) -> Floats:
    """The OCT."""
    vms = len(instance.boot_ms)
    table = suited(optimistic_costs, (len(instance.order) + len(instance.children)) * vms)
    return table(instance, mean_ms_per_byte(instance))


def ranks_ms(instance: Instance, oct_ms: Floats) -> Floats:
    """rank_oct of each activation."""
    fits = instance.runtime_ms != NEVER
    ranks: Floats = np.where(fits, oct_ms, 0.0).sum(axis=1) / fits.sum(axis=1)
    return ranks


def schedule(instance: Instance) -> tuple[Ints, Ints]:
    """PEFT's plan order, and the VM of each activation."""
    count, vms = instance.runtime_ms.shape
    vm_of, start_ms, finish_ms = (np.zeros(count, dtype=np.int64) for _ in range(3))
    if not count:
        return vm_of, vm_of.copy()
    oct_ms = costs_ms(instance)
    next_first = suited(order_by_priority, count)(instance, ranks_ms(instance, oct_ms))
    place = suited(inserted, count * vms)
    own_row = np.arange(count, dtype=np.int64)
    place(instance, next_first, oct_ms, own_row, vm_of, start_ms, finish_ms)
    return order_by_start(instance, start_ms, finish_ms), vm_of
