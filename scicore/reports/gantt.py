"""Who runs what when: a schedule as a Gantt chart, SVG or PNG. The same one, the same bytes."""

from __future__ import annotations

import colorsys
import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scicore.reports.picture import GREY, INK, PAPER, RULE, drawing, require_format, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Picked to be told apart side by side, also on paper; more activities get colours in between.
PALETTE = (
    *("#2563eb", "#f59e0b", "#10b981", "#e11d48", "#8b5cf6", "#06b6d4", "#84cc16", "#d946ef"),
    *("#f97316", "#64748b", "#0f766e", "#a16207"),
)
FAILED = "#111827"
RASTER_FROM = 4000  # bars: beyond, an SVG holds them as pixels, or no viewer opens it

# Inches.
_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 12.0, 1.35, 0.35, 0.85, 0.62
_TALLEST, _LOWEST = 0.34, 0.085  # a slot's row
_VM_GAP = 0.35  # of a row's height, between VMs
_LEGEND_ROW = 0.24


class Bar(NamedTuple):
    """One attempt."""

    vm: str
    activity: str
    start_s: float
    finish_s: float
    slots: int = 1
    finished: bool = True  # False: it failed, or its VM was lost


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    subtitle: str
    vms: tuple[tuple[str, int], ...]  # id and slots, from top to bottom
    bars: tuple[Bar, ...]

    @property
    def end_s(self) -> float:
        return max((bar.finish_s for bar in self.bars), default=0.0)

    @property
    def activities(self) -> tuple[str, ...]:
        """In the order in which they begin."""
        begun = sorted(self.bars, key=lambda bar: bar.start_s)
        return tuple(dict.fromkeys(bar.activity for bar in begun))


class Row(NamedTuple):
    """A slot of a VM and the bars on it. A bar that takes several slots is on each of them."""

    vm: str
    slot: int
    bars: list[Bar]


def rows(chart: Chart) -> list[Row]:
    by_vm: defaultdict[str, list[Bar]] = defaultdict(list)
    for bar in chart.bars:
        by_vm[bar.vm].append(bar)
    found = []
    for vm, slots in chart.vms:
        taken = _on_slots(by_vm[vm], slots)
        found += [Row(vm, slot, bars) for slot, bars in enumerate(taken)]
    return found


def _on_slots(bars: Iterable[Bar], slots: int) -> list[list[Bar]]:
    """Which slots a bar takes is not recorded and does not matter: the lowest free ones."""
    on: list[list[Bar]] = [[] for _ in range(slots)]
    free = list(range(slots))
    busy: list[tuple[float, int]] = []
    for bar in sorted(bars, key=lambda bar: (bar.start_s, bar.finish_s)):
        while busy and (busy[0][0] <= bar.start_s or len(free) < min(bar.slots, slots)):
            heapq.heappush(free, heapq.heappop(busy)[1])
        for _ in range(min(bar.slots, slots)):
            slot = heapq.heappop(free)
            heapq.heappush(busy, (bar.finish_s, slot))
            on[slot].append(bar)
    return on


def colours(activities: Sequence[str]) -> dict[str, str]:
    return {activity: _colour(number) for number, activity in enumerate(activities)}


def _colour(number: int) -> str:
    if number < len(PALETTE):
        return PALETTE[number]
    hue = number * 0.618034 % 1.0  # the golden ratio leaves no two neighbours alike
    light = 0.42 + 0.16 * (number % 3) / 2
    red, green, blue = colorsys.hls_to_rgb(hue, light, 0.6)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def draw_gantt(chart: Chart, file: Path) -> None:
    """Write the picture; the file's ending tells the format."""
    require_format(file, "--gantt plan.svg")
    from matplotlib.figure import Figure

    lines = rows(chart)
    row = max(_LOWEST, min(_TALLEST, 7.0 / max(1, len(lines))))
    spots, depth = _spots(lines, row)
    broken = any(not bar.finished for bar in chart.bars)
    entries = [*chart.activities, *(["failed or lost"] if broken else [])]
    places = _legend(entries)
    legend = _LEGEND_ROW * (1 + max((line for _, line in places), default=0)) + 0.12
    height = _TOP + depth + _BOTTOM + legend
    with drawing():
        figure = Figure(figsize=(_WIDTH, height), facecolor=PAPER)
        box = (
            _LEFT / _WIDTH,
            (_BOTTOM + legend) / height,
            (_WIDTH - _LEFT - _RIGHT) / _WIDTH,
            depth / height,
        )
        axes = figure.add_axes(box)
        end_s = chart.end_s or 1.0
        axes.set(xlim=(0, end_s), ylim=(depth, 0))
        _dress(figure, axes, chart, height)
        _draw_vms(axes, lines, spots, row, end_s)
        _draw_bars(axes, chart, lines, spots, row, end_s)
        _draw_legend(figure, entries, places, colours(chart.activities), height)
        save(figure, file)


def _spots(lines: Sequence[Row], row: float) -> tuple[list[float], float]:
    """Where each row's top is, and how deep all of them are together."""
    spots, y = [], 0.0
    for number, line in enumerate(lines):
        if number and line.slot == 0:
            y += row * _VM_GAP
        spots.append(y)
        y += row
    return spots, y


def _dress(figure: Figure, axes: Axes, chart: Chart, height: float) -> None:
    left = _LEFT / _WIDTH
    figure.text(
        left, 1 - 0.20 / height, chart.title, size=13, color=INK, weight="bold", va="top"
    )  # fmt: skip
    figure.text(left, 1 - 0.48 / height, chart.subtitle, size=8.5, color=GREY, va="top")
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(RULE)
    axes.tick_params(axis="x", colors=GREY, labelsize=8.5, length=3)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=RULE, lw=0.7, zorder=1)
    axes.set_axisbelow(True)
    axes.set_xlabel("seconds since the start of the run", size=8.5, color=GREY)


def _draw_vms(
    axes: Axes, lines: Sequence[Row], spots: Sequence[float], row: float, end_s: float
) -> None:
    """A band behind each VM's slots, with its name before it."""
    tops: dict[str, float] = {}
    bottoms: dict[str, float] = {}
    for line, y in zip(lines, spots, strict=True):
        tops.setdefault(line.vm, y)
        bottoms[line.vm] = y + row
    size = max(5.0, min(8.5, 60 * row))
    middles, names, last = [], [], -1.0
    for vm, top in tops.items():
        axes.fill_between([0, end_s], top, bottoms[vm], color="#f1f5f9", lw=0, zorder=0)
        middle = (top + bottoms[vm]) / 2
        if last < 0 or middle - last >= 0.115:  # names that would overlap are left out
            middles.append(middle)
            names.append(vm)
            last = middle
    axes.set_yticks(middles, names, size=size, color=INK)


def _draw_bars(
    axes: Axes,
    chart: Chart,
    lines: Sequence[Row],
    spots: Sequence[float],
    row: float,
    end_s: float,
) -> None:
    from matplotlib.collections import PolyCollection

    palette = colours(chart.activities)
    boxes: defaultdict[str, list[list[tuple[float, float]]]] = defaultdict(list)
    shortest = end_s / 2500  # what takes no time is seen, too
    for line, y in zip(lines, spots, strict=True):
        top, bottom = y + 0.06 * row, y + 0.94 * row
        for bar in line.bars:
            left, right = bar.start_s, max(bar.finish_s, bar.start_s + shortest)
            fill = palette[bar.activity] if bar.finished else FAILED
            boxes[fill].append([(left, top), (right, top), (right, bottom), (left, bottom)])
    many = len(chart.bars) >= RASTER_FROM
    edge = 0.0 if many else min(0.6, 120 / max(1, len(chart.bars)))
    for fill, shapes in boxes.items():
        axes.add_collection(
            PolyCollection(
                shapes,
                facecolors=fill,
                edgecolors=PAPER,
                linewidths=edge,
                zorder=3,
                rasterized=many,
            )
        )


def _legend(entries: Sequence[str]) -> list[tuple[float, int]]:
    """Where each entry stands, in inches from the left, and on which line."""
    places, x, line = [], _LEFT, 0
    for entry in entries:
        width = 0.42 + 0.082 * len(entry)
        if x > _LEFT and x + width > _WIDTH - _RIGHT:
            x, line = _LEFT, line + 1
        places.append((x, line))
        x += width
    return places


def _draw_legend(
    figure: Figure,
    entries: Sequence[str],
    places: Sequence[tuple[float, int]],
    palette: dict[str, str],
    height: float,
) -> None:
    from matplotlib.patches import Rectangle

    lines = 1 + max((line for _, line in places), default=0)
    for entry, (x, line) in zip(entries, places, strict=True):
        y = 0.14 + _LEGEND_ROW * (lines - 1 - line)
        corner, size = (x / _WIDTH, y / height), (0.14 / _WIDTH, 0.14 / height)
        figure.add_artist(Rectangle(corner, *size, color=palette.get(entry, FAILED), lw=0))
        middle = (y + 0.07) / height
        figure.text((x + 0.2) / _WIDTH, middle, entry, size=8.5, color=INK, va="center")
