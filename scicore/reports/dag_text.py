"""A workflow's picture in plain characters: boxes in layers, lines between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scicore.reports.dag_layout import Graph, Layout, Node, Spot, lay_out

_GAP = 4
_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_LINES = {
    **{_UP | _DOWN: "│", _UP: "│", _DOWN: "│", _LEFT | _RIGHT: "─", _LEFT: "─", _RIGHT: "─"},
    **{_UP | _RIGHT: "└", _UP | _LEFT: "┘", _DOWN | _RIGHT: "┌", _DOWN | _LEFT: "┐"},
    **{_UP | _DOWN | _RIGHT: "├", _UP | _DOWN | _LEFT: "┤"},
    **{_LEFT | _RIGHT | _DOWN: "┬", _LEFT | _RIGHT | _UP: "┴"},
    _UP | _DOWN | _LEFT | _RIGHT: "┼",
}


def draw_text(graph: Graph, columns: int) -> str:
    """The picture, or where it is wider than `columns`, who feeds whom in words."""
    labels = {edge.source: edge.label for edge in graph.edges if edge.label}
    layout = lay_out(graph, lambda node: _slot(node, labels), _GAP)
    canvas = _Canvas()
    row = 0
    for layer in layout.layers:
        row = _draw_layer(canvas, layer, row)
        if any(spot.below for spot in layer):
            row = _draw_channel(canvas, layer, labels, row)
    text = canvas.text()
    if max(map(len, text.splitlines()), default=0) > columns:
        return _in_words(graph)
    return "\n".join((text, *_notes(graph, layout)))


def _slot(node: Node | None, labels: dict[str, str]) -> float:
    """Columns for a box and the name of what leaves it, which stands right of the line."""
    if node is None:
        return 1
    label = labels.get(node.id, "")
    return max(_box_width(node), 2 * (len(label) + 2) + 1 if label else 0)


def _box_width(node: Node) -> int:
    """Odd, so that there is a middle column."""
    return (max(len(node.title), len(_subtitle(node))) + 4) | 1


def _subtitle(node: Node) -> str:
    if node.kind == "dataset":
        return node.count
    return f"{node.kind} {node.count}".rstrip()


def _column(spot: Spot) -> int:
    return round(spot.x)


@dataclass(slots=True)
class _Canvas:
    letters: dict[tuple[int, int], str] = field(default_factory=dict)
    lines: defaultdict[tuple[int, int], dict[int, int]] = field(
        default_factory=lambda: defaultdict(dict)
    )  # per cell: net → directions

    def write(self, row: int, column: int, text: str) -> None:
        for at, letter in enumerate(text, start=column):
            self.letters[row, at] = letter

    def vertical(self, net: int, column: int, first: int, last: int) -> None:
        for row in range(first, last + 1):
            self.join(net, row, column, (_UP if row > first else 0) | (_DOWN if row < last else 0))

    def horizontal(self, net: int, row: int, first: int, last: int) -> None:
        for column in range(first, last + 1):
            left = _LEFT if column > first else 0
            self.join(net, row, column, left | (_RIGHT if column < last else 0))

    def join(self, net: int, row: int, column: int, directions: int) -> None:
        cell = self.lines[row, column]
        cell[net] = cell.get(net, 0) | directions

    def text(self) -> str:
        cells = {place: _line(list(nets.values())) for place, nets in self.lines.items()}
        cells |= self.letters
        rows: defaultdict[int, dict[int, str]] = defaultdict(dict)
        for (row, column), letter in cells.items():
            rows[row][column] = letter
        left = min((column for _, column in cells), default=0)
        return "\n".join(
            "".join(
                rows[row].get(column, " ") for column in range(left, max(rows[row], default=0) + 1)
            ).rstrip()
            for row in range(max(rows, default=-1) + 1)
        )


def _line(nets: Sequence[int]) -> str:
    """Nets that merely cross are not joined: the one that goes down passes in front."""
    if _UP | _DOWN in nets and _LEFT | _RIGHT in nets and len(set(nets)) == 2:
        return "│"
    directions = 0
    for each in nets:
        directions |= each
    return _LINES[directions]


def _draw_layer(canvas: _Canvas, layer: Sequence[Spot], row: int) -> int:
    for spot in layer:
        column = _column(spot)
        if spot.node is None:
            canvas.vertical(id(spot), column, row, row + 3)
            continue
        width = _box_width(spot.node)
        left = column - width // 2
        corners = "╭╮╰╯" if spot.node.kind == "dataset" else "┌┐└┘"
        canvas.write(row, left, corners[0] + "─" * (width - 2) + corners[1])
        for at, text in enumerate((spot.node.title, _subtitle(spot.node)), start=1):
            canvas.write(row + at, left, f"│{text:^{width - 2}}│")
        canvas.write(row + 3, left, corners[2] + "─" * (width - 2) + corners[3])
        if spot.below:
            canvas.write(row + 3, column, "┬")
    return row + 4


def _draw_channel(canvas: _Canvas, layer: Sequence[Spot], labels: dict[str, str], row: int) -> int:
    """The lines from one layer to the next: every source that bends has a row of its own."""
    ends = {id(spot): {_column(each) for each in spot.below} for spot in layer if spot.below}
    bent = [spot for spot in layer if ends.get(id(spot), set()) - {_column(spot)}]
    turns = {id(spot): row + at for at, spot in enumerate(_stacked(bent, ends), start=1)}
    last = row + 1 + len(bent)
    for spot in (spot for spot in layer if spot.below):
        column, net = _column(spot), id(spot)
        if spot.node is not None and labels.get(spot.node.id):
            canvas.write(row, column + 2, labels[spot.node.id])
        canvas.vertical(net, column, row, turns.get(net, last))
        canvas.join(net, row, column, _UP)
        if net in turns:
            canvas.horizontal(net, turns[net], min(column, *ends[net]), max(column, *ends[net]))
            for end in ends[net]:
                canvas.vertical(net, end, turns[net], last)
        for each in spot.below:
            canvas.join(net, last, _column(each), _DOWN)
            if each.node is not None:
                canvas.write(last, _column(each), "▼")
    return last + 1


def _stacked(bent: Sequence[Spot], ends: Mapping[int, set[int]]) -> list[Spot]:
    """Top to bottom such that no line down lies upon another: a source turns away before a line
    that ends below it comes in.
    """
    left, stacked = list(bent), []
    while left:
        turned_away = [spot for spot in left if _column(spot) not in ends[id(spot)]]
        free = next(
            (
                spot
                for spot in left
                if not any(
                    _column(other) in ends[id(spot)] for other in turned_away if other is not spot
                )
            ),
            left[0],
        )
        left.remove(free)
        stacked.append(free)
    return stacked


def _notes(graph: Graph, layout: Layout) -> list[str]:
    """What lines that only go down cannot show."""
    upwards = [route.edge for route in layout.routes if route.backwards]
    loops = [edge.source for edge in graph.edges if edge.source == edge.target]
    return [
        *(f"also upwards: {edge.source} → {edge.target}" for edge in upwards),
        *(f"feeds itself, too: {name}" for name in loops),
    ]


def _in_words(graph: Graph) -> str:
    lines = []
    for node in graph.nodes:
        fed = [edge for edge in graph.edges if edge.source == node.id]
        label = next((f" ─ {edge.label}" for edge in fed if edge.label), "")
        readers = ", ".join(edge.target for edge in fed)
        about = f"{node.title} ({_subtitle(node)})"
        lines.append(f"{about}{label} ─▶ {readers}" if fed else about)
    return "\n".join(lines)
