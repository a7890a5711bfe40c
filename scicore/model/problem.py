"""What a planner is asked: these activations, with these edges, on this fleet."""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from scicore.model.cloud import Fleet


@dataclass(frozen=True, slots=True)
class Problem:
    activations: tuple[str, ...]  # names
    activities: tuple[str, ...]  # tag of each activation's activity
    edges: tuple[tuple[int, int], ...]  # parent index → child index
    fleet: Fleet
    runtime_s: NDArray[np.float64]  # [activation, VM]

    def graph(self) -> nx.DiGraph[int]:
        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from(range(len(self.activations)))
        graph.add_edges_from(self.edges)
        return graph
