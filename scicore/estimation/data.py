"""How many bytes flow along the edges of a workflow, and into its activations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

NOTHING: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Files:
    """What an activation declares, as in traces; sizes in bytes by name."""

    reads: Mapping[str, int]
    writes: Mapping[str, int]


def edge_bytes(
    activities: Sequence[str],
    edges: Sequence[tuple[int, int]],
    declared: Mapping[int, Files],
    measured: Mapping[tuple[str, str], float],
) -> list[int]:
    """Of each edge. A file that the parent writes and the child reads goes along it, in the size
    that the parent gives it: names repeat in traces, and sizes of one file differ.

    Where nothing is declared, what runs have `measured` between the two activities counts.
    """
    sizes = []
    for parent, child in edges:
        if parent in declared and child in declared:
            writes, reads = declared[parent].writes, declared[child].reads
            sizes.append(sum(size for name, size in writes.items() if name in reads))
        else:
            sizes.append(round(measured.get((activities[parent], activities[child]), 0.0)))
    return sizes


def input_bytes(
    count: int,
    edges: Sequence[tuple[int, int]],
    sizes: Sequence[int],
    external: Mapping[int, int],
) -> list[int | None]:
    """Of each activation: what is known to come from outside (`external`) and along its edges."""
    total: list[int | None] = [external.get(index) for index in range(count)]
    for (_, child), size in zip(edges, sizes, strict=True):
        if size:
            total[child] = (total[child] or 0) + size
    return total
