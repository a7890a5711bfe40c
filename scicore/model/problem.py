"""What a planner is asked: these activations, with these edges, on this fleet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scicore.model.cloud import Fleet, VmType
from scicore.model.money import FREE, Tariff

if TYPE_CHECKING:
    import networkx as nx

BYTES_PER_MB = 1_000_000


class Transfer(StrEnum):
    """How data gets from a parent to its child."""

    NONE = "none"  # at once, for comparisons with papers that leave it out
    EDGE = "edge"  # from VM to VM; nothing on the same VM
    SHARED = "shared"  # up to a shared storage and down again, even on the same VM


@dataclass(frozen=True, slots=True)
class Problem:
    activations: tuple[str, ...]  # names
    activities: tuple[str, ...]  # tag of each activation's activity
    edges: tuple[tuple[int, int], ...]  # parent index → child index
    fleet: Fleet
    runtime_s: NDArray[np.float64]  # [activation, VM]
    edge_bytes: tuple[int, ...] = ()  # what flows along each edge; empty = nothing
    cpus: tuple[int, ...] = ()  # slots that each activation holds; empty = one each
    memory_mb: tuple[int, ...] = ()  # that each activation needs; empty or 0 = unknown
    transfer: Transfer = Transfer.EDGE
    boot: bool = True  # a VM's first activation waits for its boot
    tariff: Tariff = FREE  # what data cost between regions

    def graph(self) -> nx.DiGraph[int]:
        import networkx as nx  # slow to import

        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from(range(len(self.activations)))
        graph.add_edges_from(self.edges)
        return graph


# -- time is whole milliseconds, for planners, simulator and core alike ---------------------------


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def bytes_per_ms(vm_type: VmType) -> float:
    return vm_type.bandwidth_mb_s * BYTES_PER_MB / 1000


def transfer_ms(size_bytes: int, sender: VmType, receiver: VmType, shared: bool) -> int:
    """How long the bytes are on their way. Between VMs of one type, too: with EDGE, whoever calls
    knows whether it is the same VM, where nothing has to move."""
    if size_bytes == 0:
        return 0
    if shared:
        up_ms = math.ceil(size_bytes / bytes_per_ms(sender))
        return up_ms + math.ceil(size_bytes / bytes_per_ms(receiver))
    return math.ceil(size_bytes / min(bytes_per_ms(sender), bytes_per_ms(receiver)))
