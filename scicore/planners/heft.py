"""HEFT: the most urgent activation first, each where it finishes first."""

from __future__ import annotations

import numpy as np

from scicore.kernel.earliest_finish import inserted
from scicore.kernel.instance import Floats, Instance, Ints
from scicore.kernel.jit import suited
from scicore.kernel.ranking import mean_ms_per_byte, mean_runtimes_ms, upward_ranks
from scicore.model.parameters import Parameters
from scicore.planners.base import (
    no_bias,
    order_by_start,
)
from scicore.planners.heuristic import Heuristic


class Heft(Heuristic[Parameters]):
    """Heterogeneous Earliest Finish Time.

    Paper
        H. Topcuoglu, S. Hariri, M.-Y. Wu: Performance-Effective and Low-Complexity Task
        Scheduling for Heterogeneous Computing. IEEE Transactions on Parallel and Distributed
        Systems 13(3), 2002, section 5.1.

    Idea
        An activation is as urgent as the work that hangs on it is long: its upward rank is the
        length of the longest path from it to the end. In the order of falling ranks, which is
        a topological one, each activation goes to the VM on which it finishes earliest; it may
        slip into a gap between two activations that were placed before it.

    Symbols
        w_i       mean runtime of activation i over the VMs that it fits (w-bar in the paper)
        c_ij      mean time of the data on the way from i to j, over all pairs of VMs (c-bar)
        rank_u    upward rank, eq. 8
        EST, EFT  earliest start and finish of an activation on a VM, eqs. 5 and 6

    Differences
        - A processor of the paper is a VM here, with several slots. w_i is the mean over VMs,
          whatever their slots; a gap may be on any slot of the VM. An activation that asks for
          several slots, or for the memory of several, waits until all of them have a gap.
        - Ties: the paper breaks them at random; here the topological order decides between
          activations and the order of the fleet between VMs, so the seed has no effect.
        - The paper's latency L is zero.
    """

    name = "heft"

    def schedule(self, instance: Instance) -> tuple[Ints, Ints]:
        return schedule(instance)


def ranks_ms(instance: Instance, rounds: int = 1) -> Floats:
    """rank_u of each activation, eq. 8: its w_i and the largest c_ij + rank_u of its children."""
    rank = suited(upward_ranks, rounds * (len(instance.order) + len(instance.children)))
    return rank(instance, mean_runtimes_ms(instance), mean_ms_per_byte(instance))


def schedule(instance: Instance, rounds: int = 1) -> tuple[Ints, Ints]:
    """HEFT's plan order, and the VM of each activation. `rounds`: so many such calls are made."""
    count, vms = instance.runtime_ms.shape
    if not count:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    rank_u = ranks_ms(instance, rounds)
    # The sort is stable: equal ranks (parents that take no time) stay in topological order.
    urgent_first = instance.order[np.argsort(-rank_u[instance.order], kind="stable")]
    vm_of, start_ms, finish_ms = (np.zeros(count, dtype=np.int64) for _ in range(3))
    place = suited(inserted, rounds * count * vms)
    place(instance, urgent_first, *no_bias(instance), vm_of, start_ms, finish_ms)
    return order_by_start(instance, start_ms, finish_ms), vm_of
