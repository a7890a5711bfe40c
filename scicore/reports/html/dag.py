"""The workflow's picture, with how it went: who feeds whom, how many, how many failed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from scicore.model.workflow import Workflow
from scicore.reports.dag_layout import Edge, Graph, Node, Route, Spot, lay_out
from scicore.reports.html.svg import join, number, picture, tag, text, title

_BOX, _NOTE, _LAYER, _GAP, _MARGIN = 46.0, 36.0, 46.0, 26.0, 4.0
_LETTER, _SMALL = 8.6, 6.6  # widths of letters


def graph_of(
    workflow: Workflow, counts: Mapping[str, str], edges: Mapping[tuple[str, str], int]
) -> Graph:
    """`counts` is what to write below each activity; `edges` are explicit ones, as in traces."""
    explicit = {each.input.name for each in workflow.activities if each.parents_field}
    shown = [each.relation.name for each in workflow.datasets if each.relation.name not in explicit]
    nodes = [Node(f"dataset {name}", name, "dataset", counts.get(name, "")) for name in shown]
    nodes += [
        Node(each.tag, each.tag, each.operator.value, counts.get(each.tag, ""))
        for each in workflow.activities
    ]
    flows = []
    for activity in workflow.activities:
        for source in activity.sources:
            if source.producer is not None:
                flows.append(Edge(source.producer, activity.tag, source.relation.name))
            elif source.relation.name in shown:
                flows.append(Edge(f"dataset {source.relation.name}", activity.tag))
    known = {(edge.source, edge.target) for edge in flows}
    flows += [Edge(*pair) for pair in edges if pair not in known and pair[0] != pair[1]]
    return Graph(workflow.tag, tuple(nodes), tuple(flows))


def draw(graph: Graph, palette: Mapping[str, str], failed: Collection[str]) -> Markup:
    layout = lay_out(graph, _width, _GAP)
    middles, y = [], _MARGIN
    for layer in layout.layers:
        height = max((_height(spot) for spot in layer if spot.node), default=_NOTE)
        middles.append(y + height / 2)
        y += height + _LAYER
    parts = [_route(route, middles) for route in layout.routes]
    for spot in (spot for layer in layout.layers for spot in layer):
        if spot.node is not None:
            parts.append(_node(spot, middles[spot.layer], palette, failed))
    width = layout.width + 2 * _MARGIN
    drawn = picture(max(1.0, y - _LAYER + _MARGIN), f"The workflow {graph.title}", parts, width)
    style = f"max-width:{number(min(1100, width * 1.15))}px"
    return tag("div", drawn, class_="dag", style=style)


def _width(node: Node | None) -> float:
    if node is None:
        return 8.0
    return max(86.0, len(node.title) * _LETTER + 24, len(_subtitle(node)) * _SMALL + 24)


def _subtitle(node: Node) -> str:
    return node.count if node.kind == "dataset" else f"{node.kind}  {node.count}".rstrip()


def _height(spot: Spot) -> float:
    return _NOTE if spot.node is not None and spot.node.kind == "dataset" else _BOX


def _node(spot: Spot, middle: float, palette: Mapping[str, str], failed: Collection[str]) -> Markup:
    assert spot.node is not None
    node, height = spot.node, _height(spot)
    left, top = _MARGIN + spot.x - spot.width / 2, middle - height / 2
    kind = "note" if node.kind == "dataset" else "box"
    parts = [title(f"{node.title}: {_subtitle(node)}")]
    shape: dict[str, Any] = {"x": left, "y": top, "width": spot.width, "height": height}
    parts.append(tag("rect", rx=3 if kind == "note" else 8, class_=kind, **shape))
    if node.id in palette:
        stripe: dict[str, Any] = {"x": left, "y": top + 7, "width": 4, "height": height - 14}
        parts.append(tag("rect", fill=palette[node.id], rx=2, **stripe))
    centre = {"text_anchor": "middle"}
    x = left + spot.width / 2
    parts.append(text(x, middle - 3, node.title, "t strong", **centre))
    kind = "t small bad" if node.id in failed else "t small"
    parts.append(text(x, middle + 13, _subtitle(node), kind, **centre))
    return tag("g", join(parts))


def _route(route: Route, middles: list[float]) -> Markup:
    ends = [
        (
            _MARGIN + spot.x,
            middles[spot.layer] - _height(spot) / 2,
            middles[spot.layer] + _height(spot) / 2,
        )
        for spot in route.spots
    ]
    path = [f"M{number(ends[0][0])} {number(ends[0][2])}"]
    for one, other in pairwise(ends):
        bend = (other[1] - one[2]) * 0.5
        path.append(
            f"C{number(one[0])} {number(one[2] + bend)} {number(other[0])} "
            f"{number(other[1] - bend)} {number(other[0])} {number(other[1])}"
        )
        if other is not ends[-1]:
            path.append(f"V{number(other[2])}")
    x, y = ends[-1][0], ends[-1][1]
    tip = (
        f"M{number(x - 4)} {number(y - 7)}L{number(x)} {number(y)}L{number(x + 4)} {number(y - 7)}"
    )
    words = [title(route.edge.label)] if route.edge.label else []
    return tag(
        "g", join([*words, tag("path", d="".join(path), class_="flow"),
                   tag("path", d=tip, class_="tip")])
    )  # fmt: skip
