"""Where the boxes of a workflow's picture go: layers by longest path, few crossings, straight
lines. Shared by the picture in the terminal and the one in a file; both give the sizes.

Sugiyama, Tagawa, Toda 1981: Methods for visual understanding of hierarchical system structures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

SWEEPS = 12
_STRAIGHT = 8.0  # how much more a passing line weighs than a node: bends are for nodes


@dataclass(frozen=True, slots=True)
class Node:
    id: str
    title: str
    kind: str  # an operator's name, or `dataset`
    count: str = ""  # of activations or tuples, as it shall be written: × 6, 12 tuples


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    label: str = ""  # the relation that flows along it


@dataclass(frozen=True, slots=True)
class Graph:
    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    subtitle: str = ""


@dataclass(slots=True)
class Spot:
    """A node's place, or one that a long edge passes through between two layers of nodes."""

    node: Node | None
    layer: int
    width: float
    x: float = 0.0  # of its middle
    above: list[Spot] = field(default_factory=list)
    below: list[Spot] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Route:
    """The spots that an edge connects, downwards."""

    edge: Edge
    spots: tuple[Spot, ...]
    backwards: bool  # it closes a cycle and points upwards


@dataclass(frozen=True, slots=True)
class Layout:
    layers: tuple[tuple[Spot, ...], ...]  # from top to bottom, each from left to right
    routes: tuple[Route, ...]  # without edges from a node to itself
    width: float


def lay_out(graph: Graph, width_of: Callable[[Node | None], float], gap: float) -> Layout:
    """Place all nodes; `width_of(None)` is what a passing line takes."""
    edges = [edge for edge in graph.edges if edge.source != edge.target]
    backwards = _backwards(graph.nodes, edges)
    depth = _depths(graph.nodes, edges, backwards)
    spots = {node.id: Spot(node, depth[node.id], width_of(node)) for node in graph.nodes}
    layers: list[list[Spot]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for spot in spots.values():
        layers[spot.layer].append(spot)
    routes = []
    for edge in edges:
        ends = (spots[edge.source], spots[edge.target])
        upper, lower = ends[::-1] if edge in backwards else ends
        route = [upper]
        for layer in range(upper.layer + 1, lower.layer):
            route.append(Spot(None, layer, width_of(None)))
            layers[layer].append(route[-1])
        route.append(lower)
        for one, next_one in pairwise(route):
            one.below.append(next_one)
            next_one.above.append(one)
        routes.append(Route(edge, tuple(route), edge in backwards))
    layers = _ordered(layers)
    _place(layers, gap)
    width = max((spot.x + spot.width / 2 for layer in layers for spot in layer), default=0.0)
    return Layout(tuple(map(tuple, layers)), tuple(routes), width)


def _backwards(nodes: Sequence[Node], edges: Sequence[Edge]) -> set[Edge]:
    """Edges without which there are no cycles: they lead back to where a walk came from."""
    after: dict[str, list[Edge]] = {node.id: [] for node in nodes}
    for edge in edges:
        after[edge.source].append(edge)
    found: set[Edge] = set()
    entered: set[str] = set()
    for node in nodes:
        if node.id in entered:
            continue
        entered.add(node.id)
        under_way = {node.id}
        walk = [(node.id, iter(after[node.id]))]
        while walk:
            step = next(walk[-1][1], None)
            if step is None:
                under_way.discard(walk.pop()[0])
            elif step.target in under_way:
                found.add(step)
            elif step.target not in entered:
                entered.add(step.target)
                under_way.add(step.target)
                walk.append((step.target, iter(after[step.target])))
    return found


def _depths(nodes: Sequence[Node], edges: Sequence[Edge], backwards: set[Edge]) -> dict[str, int]:
    """Longest paths; a dataset then sinks to the layer above its first reader."""
    pairs = [
        (edge.target, edge.source) if edge in backwards else (edge.source, edge.target)
        for edge in edges
    ]
    after: dict[str, list[str]] = {node.id: [] for node in nodes}
    waiting = dict.fromkeys(after, 0)
    for source, target in pairs:
        after[source].append(target)
        waiting[target] += 1
    depth = dict.fromkeys(after, 0)
    free = [name for name, count in waiting.items() if not count]
    for name in free:  # grows while we walk it
        for target in after[name]:
            depth[target] = max(depth[target], depth[name] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                free.append(target)
    for node in nodes:
        if node.kind == "dataset" and after[node.id]:
            depth[node.id] = min(depth[target] for target in after[node.id]) - 1
    return depth


def _ordered(layers: list[list[Spot]]) -> list[list[Spot]]:
    """Layers reordered by the middle of their neighbours as long as that takes crossings away."""
    best = [list(layer) for layer in layers]
    fewest = _crossings(best)
    for sweep in range(SWEEPS):
        downwards = sweep % 2 == 0
        layers = [list(layer) for layer in layers]
        for layer in layers if downwards else reversed(layers):
            rank = _ranks(layers)
            middle = {
                id(spot): _mean(rank[id(other)] for other in _side(spot, downwards))
                for spot in layer
            }
            own = {id(spot): float(at) for at, spot in enumerate(layer)}
            layer.sort(key=lambda spot: _or(middle[id(spot)], own[id(spot)]))
        crossings = _crossings(layers)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    return best


def _side(spot: Spot, downwards: bool) -> list[Spot]:
    return spot.above if downwards else spot.below


def _ranks(layers: Iterable[Sequence[Spot]]) -> Mapping[int, float]:
    return {id(spot): float(at) for layer in layers for at, spot in enumerate(layer)}


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _crossings(layers: Sequence[Sequence[Spot]]) -> int:
    rank = _ranks(layers)
    total = 0
    for layer in layers:
        lines = [(rank[id(spot)], rank[id(lower)]) for spot in layer for lower in spot.below]
        total += sum(
            (one[0] - other[0]) * (one[1] - other[1]) < 0
            for at, one in enumerate(lines)
            for other in lines[:at]
        )
    return total


def _place(layers: Sequence[Sequence[Spot]], gap: float) -> None:
    """Every spot as near to the middle of its neighbours as its own neighbours in line allow."""
    for layer in layers:
        _settle(layer, [0.0] * len(layer), gap)
    for sweep in range(SWEEPS * 2 + 1):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else tuple(reversed(layers)):
            wishes = []
            for spot in layer:
                near = _side(spot, downwards)
                if spot.node is None:
                    near = [other for other in near if other.node is None] or near
                wishes.append(_or(_mean(other.x for other in near), spot.x))
            _settle(layer, wishes, gap)
    _straighten(layers, gap)
    leftmost = min((spot.x - spot.width / 2 for layer in layers for spot in layer), default=0.0)
    for layer in layers:
        for spot in layer:
            spot.x -= leftmost


def _straighten(layers: Sequence[Sequence[Spot]], gap: float) -> None:
    """Lines that bend by less than a gap do not bend, where half a gap stays free beside them."""
    for layer in layers:
        for at, spot in enumerate(layer):
            if len(spot.above) != 1 or abs(spot.above[0].x - spot.x) > gap:
                continue
            wish = spot.above[0].x
            neighbours = [layer[other] for other in (at - 1, at + 1) if 0 <= other < len(layer)]
            if all(
                abs(wish - other.x) >= (spot.width + other.width + gap) / 2
                and (wish < other.x) == (spot.x < other.x)
                for other in neighbours
            ):
                spot.x = wish


def _settle(layer: Sequence[Spot], wishes: Sequence[float], gap: float) -> None:
    """The places with the least squared distance to the wishes that keep order and gaps.

    Isotonic regression: spots that get too close are pooled, and a pool moves as one.
    """
    offsets: list[float] = []
    for at, spot in enumerate(layer):
        before = layer[at - 1] if at else None
        step = (before.width + spot.width) / 2 + gap if before else 0.0
        offsets.append((offsets[-1] if offsets else 0.0) + step)
    pools: list[tuple[float, float, int]] = []  # weighted sum of wishes, weight, spots
    for spot, wish, offset in zip(layer, wishes, offsets, strict=True):
        weight = 1.0 if spot.node else _STRAIGHT
        pools.append((weight * (wish - offset), weight, 1))
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            one, other = pools.pop(), pools.pop()
            pools.append((one[0] + other[0], one[1] + other[1], one[2] + other[2]))
    at = 0
    for total, weight, number in pools:
        for spot, offset in zip(layer[at : at + number], offsets[at : at + number], strict=True):
            spot.x = total / weight + offset
        at += number
