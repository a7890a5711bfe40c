"""A workflow's picture as SVG or PNG. The same workflow always gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scicore.reports.dag_layout import Graph, Layout, Node, Route, Spot, lay_out
from scicore.reports.picture import GREY, INK, PAPER, drawing, require_format, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

# Inches. A letter's width depends on its size in points; bold ones are a little wider.
_BOX_HEIGHT, _NOTE_HEIGHT, _LAYER_GAP, _GAP = 0.72, 0.56, 0.80, 0.42
_STEM, _TIP = 0.24, 0.18  # straight parts of a line, where it leaves a box and enters one
_MARGIN, _HEADING, _SUBHEADING = 0.36, 0.46, 0.20
_TITLE_PT, _SMALL_PT, _HEADING_PT = 11.0, 8.5, 14.0
_LETTER = 0.0087  # inches per letter and point


class _Colours(NamedTuple):
    fill: str
    line: str


_EDGE = "#94a3b8"
_NOTE = _Colours("#fffbeb", "#d6a935")
_BOXES = {
    "MAP": _Colours("#eff6ff", "#3b82f6"),
    "SPLIT_MAP": _Colours("#f5f3ff", "#8b5cf6"),
    "FILTER": _Colours("#fff7ed", "#f08c3a"),
    "REDUCE": _Colours("#ecfdf5", "#10a874"),
    "SR_QUERY": _Colours("#fdf2f8", "#db5a9c"),
    "MR_QUERY": _Colours("#fdf2f8", "#db5a9c"),
}
_OTHER = _Colours("#f8fafc", "#64748b")


def draw_picture(graph: Graph, file: Path) -> None:
    """Write the picture; the file's ending tells the format."""
    require_format(file, "--dag workflow.svg")
    from matplotlib.figure import Figure

    layout = lay_out(graph, _width, _GAP)
    heights = [_height(layer) for layer in layout.layers]
    heading = len(graph.title) * _HEADING_PT * 1.15
    width = max(layout.width, max(heading, len(graph.subtitle) * _SMALL_PT) * _LETTER) + 2 * _MARGIN
    header = _HEADING + (_SUBHEADING if graph.subtitle else 0)
    height = sum(heights) + _LAYER_GAP * max(0, len(heights) - 1) + header + 2 * _MARGIN
    with drawing():
        figure = Figure(figsize=(width, height), facecolor=PAPER)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0, width), ylim=(0, height))
        axes.set_axis_off()
        top = height - _MARGIN
        axes.text(_MARGIN, top, graph.title, size=_HEADING_PT, color=INK, va="top", weight="bold")
        axes.text(_MARGIN, top - 0.30, graph.subtitle, size=_SMALL_PT, color=GREY, va="top")
        left = (width - layout.width) / 2
        _draw(axes, graph, layout, heights, left, top - header)
        save(figure, file)


def _width(node: Node | None) -> float:
    if node is None:
        return 0.1
    title = len(node.title) * _TITLE_PT * 1.13
    small = len(_subtitle(node)) * _SMALL_PT * 1.05
    return max(1.15, max(title, small) * _LETTER + 0.42)


def _subtitle(node: Node) -> str:
    if node.kind == "dataset":
        return node.count
    return f"{node.kind}   {node.count}".rstrip()


def _height(layer: tuple[Spot, ...]) -> float:
    return max((_box_height(spot) for spot in layer if spot.node), default=_NOTE_HEIGHT)


def _box_height(spot: Spot) -> float:
    is_note = spot.node is not None and spot.node.kind == "dataset"
    return _NOTE_HEIGHT if is_note else _BOX_HEIGHT


def _draw(
    axes: Axes, graph: Graph, layout: Layout, heights: list[float], left: float, top: float
) -> None:
    middles: list[float] = []  # of each layer
    for height in heights:
        middles.append(top - height / 2)
        top -= height + _LAYER_GAP
    for route in layout.routes:
        _draw_route(axes, route, middles, left)
    labels = {edge.source: edge.label for edge in graph.edges if edge.label}
    loops = {edge.source for edge in graph.edges if edge.source == edge.target}
    for spot in (spot for layer in layout.layers for spot in layer):
        if spot.node is not None:
            x, y = left + spot.x, middles[spot.layer]
            _draw_node(axes, spot, x, y)
            if spot.node.id in loops:
                _draw_loop(axes, spot, x, y)
            if spot.below and labels.get(spot.node.id):
                _draw_label(axes, labels[spot.node.id], x, y - _box_height(spot) / 2)


def _draw_node(axes: Axes, spot: Spot, x: float, y: float) -> None:
    assert spot.node is not None
    node, height = spot.node, _box_height(spot)
    colours = _NOTE if node.kind == "dataset" else _BOXES.get(node.kind, _OTHER)
    for patch in _shape(spot, x, y, colours):
        axes.add_patch(patch)
    axes.text(
        x, y + height * 0.15, node.title, size=_TITLE_PT, color=INK, weight="bold",
        ha="center", va="center", zorder=5,
    )  # fmt: skip
    axes.text(
        x, y - height * 0.22, _subtitle(node), size=_SMALL_PT, color=colours.line,
        ha="center", va="center", zorder=5,
    )  # fmt: skip


def _shape(spot: Spot, x: float, y: float, colours: _Colours) -> Iterator[Patch]:
    """A rounded box with a shadow for an activity, a note with a folded corner for a dataset."""
    from matplotlib.patches import FancyBboxPatch, Polygon

    assert spot.node is not None
    width, height = spot.width, _box_height(spot)
    left, bottom = x - width / 2, y - height / 2
    style = "round,pad=0,rounding_size=0.11"
    if spot.node.kind != "dataset":
        shadow = (left + 0.025, bottom - 0.035)
        yield FancyBboxPatch(
            shadow, width, height, boxstyle=style, facecolor="#0f172a", alpha=0.10, lw=0, zorder=3
        )
        yield FancyBboxPatch(
            (left, bottom), width, height, boxstyle=style,
            facecolor=colours.fill, edgecolor=colours.line, lw=1.4, zorder=4,
        )  # fmt: skip
        return
    right, top, fold = left + width, bottom + height, 0.15
    outline = [(left, bottom), (right, bottom), (right, top - fold), (right - fold, top)]
    corner = [(right - fold, top), (right - fold, top - fold), (right, top - fold)]
    look = {"edgecolor": colours.line, "lw": 1.0, "joinstyle": "round", "zorder": 4}
    yield Polygon([*outline, (left, top)], closed=True, facecolor=colours.fill, **look)
    yield Polygon(corner, closed=True, facecolor="#fdeeba", **look)


def _draw_route(axes: Axes, route: Route, middles: list[float], left: float) -> None:
    """A line that leaves and enters boxes vertically and passes straight through layers."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Curve

    ends: list[tuple[float, float, float]] = []  # per spot: x, where it is entered and left
    for spot in route.spots:
        y, half = middles[spot.layer], _box_height(spot) / 2
        ends.append((left + spot.x, y + half, y - half))
    first, last = ends[0], ends[-1]
    vertices, codes = [(first[0], first[2])], [Curve.MOVETO]
    for one, other in pairwise(ends):
        begin, end = one[2] - _STEM, other[1] + _TIP
        bend = (begin - end) * 0.6
        vertices += [(one[0], begin), (one[0], begin - bend), (other[0], end + bend)]
        vertices += [(other[0], end), (other[0], other[1] + 0.03 if other is last else other[2])]
        codes += [Curve.LINETO, *[Curve.CURVE4] * 3, Curve.LINETO]
    curve = Curve(vertices, codes)
    axes.add_patch(
        FancyArrowPatch(
            path=curve,
            arrowstyle="<|-" if route.backwards else "-|>",
            mutation_scale=11,
            facecolor=_EDGE,
            edgecolor=_EDGE,
            lw=1.5,
            linestyle=(0, (4, 2)) if route.backwards else "solid",
            capstyle="round",
            joinstyle="round",
            shrinkA=0,
            shrinkB=0,
            zorder=2,
        )
    )


def _draw_loop(axes: Axes, spot: Spot, x: float, y: float) -> None:
    from matplotlib.patches import FancyArrowPatch

    side = x + spot.width / 2
    axes.add_patch(
        FancyArrowPatch(
            (side, y + 0.16),
            (side, y - 0.16),
            connectionstyle="arc3,rad=-1.3",
            arrowstyle="-|>",
            mutation_scale=9,
            facecolor=_EDGE,
            edgecolor=_EDGE,
            lw=1.3,
            shrinkA=0,
            shrinkB=0,
            zorder=2,
        )
    )


def _draw_label(axes: Axes, label: str, x: float, bottom: float) -> None:
    axes.text(
        x + 0.07, bottom - 0.14, label, size=_SMALL_PT, color=GREY, style="italic",
        ha="left", va="center", zorder=3,
        bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 0.8},
    )  # fmt: skip
