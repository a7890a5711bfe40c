"""What a planner is asked: these activations, with these edges, on this fleet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scicore.errors import UsageError
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


def joined(problems: Mapping[str, Problem]) -> Problem:
    """Several workflows, by their tags, as one problem: they share the fleet and nothing else.

    Activations and activities are told apart by the tag before their names. The fleet and what
    holds for it must be the same for all.
    """
    if not problems:
        raise UsageError("found no workflow, expected at least one")
    tags, parts = list(problems), list(problems.values())
    first = parts[0]
    for tag, part in problems.items():
        for what in ("fleet", "transfer", "boot", "tariff"):
            if getattr(part, what) != getattr(first, what):
                raise UsageError(
                    f"{tag} has another {what} than {tags[0]}: they cannot be scheduled together"
                )
    offsets = np.cumsum([0, *(len(part.activations) for part in parts)]).tolist()
    edges = [
        (parent + offset, child + offset)
        for part, offset in zip(parts, offsets, strict=False)
        for parent, child in part.edges
    ]
    return replace(
        first,
        activations=_tagged({tag: part.activations for tag, part in problems.items()}),
        activities=_tagged({tag: part.activities for tag, part in problems.items()}),
        edges=tuple(edges),
        runtime_s=np.concatenate([part.runtime_s for part in parts]),
        edge_bytes=_either(parts, "edge_bytes", "edges", 0),
        cpus=_either(parts, "cpus", "activations", 1),
        memory_mb=_either(parts, "memory_mb", "activations", 0),
    )


def parted(problem: Problem, tags: Sequence[str]) -> dict[str, Problem]:
    """The other way round: what was joined under these tags, each under its own names again."""
    owners = [
        max((tag for tag in tags if name.startswith(f"{tag}/")), key=len)
        for name in problem.activations
    ]
    return {tag: _part(problem, tag, owners) for tag in tags}


def _part(problem: Problem, tag: str, owners: Sequence[str]) -> Problem:
    own = [index for index, owner in enumerate(owners) if owner == tag]
    place = {index: number for number, index in enumerate(own)}
    edges = [number for number, (parent, _) in enumerate(problem.edges) if parent in place]
    ends = [problem.edges[number] for number in edges]

    def kept(values: tuple[int, ...], indices: list[int]) -> tuple[int, ...]:
        return tuple(values[index] for index in indices) if values else ()

    return replace(
        problem,
        activations=tuple(problem.activations[index].removeprefix(f"{tag}/") for index in own),
        activities=tuple(problem.activities[index].removeprefix(f"{tag}/") for index in own),
        edges=tuple((place[parent], place[child]) for parent, child in ends),
        runtime_s=np.ascontiguousarray(problem.runtime_s[own]),
        edge_bytes=kept(problem.edge_bytes, edges),
        cpus=kept(problem.cpus, own),
        memory_mb=kept(problem.memory_mb, own),
    )


def _tagged(names: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(f"{tag}/{name}" for tag, own in names.items() for name in own)


def _either(parts: Sequence[Problem], what: str, of: str, default: int) -> tuple[int, ...]:
    """Values of all parts; of a part that says nothing, the default for each."""
    if not any(getattr(part, what) for part in parts):
        return ()
    return tuple(
        value
        for part in parts
        for value in getattr(part, what) or (default,) * len(getattr(part, of))
    )


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
