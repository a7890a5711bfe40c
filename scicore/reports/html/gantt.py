"""Plan above, run below, on one clock. Many attempts are drawn as what each moment was mostly
spent on, so that the picture of a hundred thousand is as small as that of a thousand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from scicore.reports.figures import time_text
from scicore.reports.gantt import Bar, Chart, Row, rows
from scicore.reports.html.svg import WIDTH, box, join, picture, tag, text, time_axis, title

EXACT = 1500  # bars that are drawn one by one, with their names
MOST_ROWS = 64  # more slots: a row per VM; more VMs: several share one
MOST_CELLS = 24_000
LOST = "failed or lost"
_LEFT, _RIGHT, _GAP, _PANEL = 118.0, 8.0, 3.0, 26.0
_TALLEST, _LOWEST = 20.0, 5.0


class Named(NamedTuple):
    """A bar with what it is called."""

    bar: Bar
    name: str


def draw(
    plan: Sequence[Named],
    actual: Sequence[Named],
    vms: Sequence[tuple[str, int]],
    palette: Mapping[str, str],
    makespans_s: tuple[float, float],  # as planned, as it was
) -> Markup:
    end_s = max(*makespans_s, *(each.bar.finish_s for each in (*plan, *actual)), 0.001)
    right = WIDTH - _RIGHT
    parts: list[Markup] = []
    y = 0.0
    for heading, bars, makespan_s in (
        ("planned", plan, makespans_s[0]),
        ("as it was", actual, makespans_s[1]),
    ):
        parts.append(text(0, y + 15, f"{heading}: {time_text(makespan_s)}", "t strong"))
        top = y + _PANEL
        drawn, depth = _panel(bars, vms, palette, end_s, top, right)
        parts += time_axis(_LEFT, right, top, top + depth, end_s)
        parts += drawn
        x = _LEFT + (right - _LEFT) * makespan_s / end_s
        parts.append(tag("line", x1=x, x2=x, y1=top - 4, y2=top + depth, class_="now"))
        y = top + depth + 30
    return picture(y, "Gantt chart: the plan above, the run below", parts)


def _panel(
    bars: Sequence[Named],
    vms: Sequence[tuple[str, int]],
    palette: Mapping[str, str],
    end_s: float,
    top: float,
    right: float,
) -> tuple[list[Markup], float]:
    chart = Chart("", "", tuple(vms), tuple(each.bar for each in bars))
    lines = _lines(chart)
    names = {id(each.bar): each.name for each in bars}
    height = max(_LOWEST, min(_TALLEST, 420 / max(1, len(lines))))
    scale = (right - _LEFT) / end_s
    exact = len(bars) <= EXACT
    columns = max(100, min(1000, MOST_CELLS // max(1, len(lines))))
    paths: defaultdict[str, list[str]] = defaultdict(list)
    parts: list[Markup] = []
    y, labelled = top, top - 20
    for place, line in enumerate(lines):
        if place and line.slot == 0:
            y += _GAP
        parts.append(
            tag("rect", x=_LEFT, y=y, width=right - _LEFT, height=height, class_="lane")
        )  # fmt: skip
        if line.slot == 0 and y - labelled >= 11:
            parts.append(text(_LEFT - 8, y + min(height, 14) - 3, _short(line.vm), "t end small"))
            labelled = y
        if exact:
            parts += _exact(line, names, palette, y, height, scale)
        else:
            _binned(line, paths, y, height, scale, end_s, columns)
        y += height
    for activity, path in paths.items():
        fill = {"class_": "lost"} if activity == LOST else {"fill": palette[activity]}
        parts.append(tag("path", title(activity), d="".join(path), **fill))
    return parts, y - top


def _lines(chart: Chart) -> list[Row]:
    slots = sum(slots for _, slots in chart.vms)
    if slots <= MOST_ROWS:
        return rows(chart)
    together = -(-len(chart.vms) // MOST_ROWS)
    by_vm: defaultdict[str, list[Bar]] = defaultdict(list)
    for bar in chart.bars:
        by_vm[bar.vm].append(bar)
    found = []
    for first in range(0, len(chart.vms), together):
        own = [vm for vm, _ in chart.vms[first : first + together]]
        name = own[0] if len(own) == 1 else f"{own[0]} +{len(own) - 1}"
        found.append(Row(name, 0, [bar for vm in own for bar in by_vm[vm]]))
    return found


def _exact(
    line: Row, names: Mapping[int, str], palette: Mapping[str, str], y: float, height: float,
    scale: float,
) -> list[Markup]:  # fmt: skip
    parts = []
    for bar in line.bars:
        words = (
            f"{names[id(bar)]} on {bar.vm}: {time_text(bar.start_s)} to "
            f"{time_text(bar.finish_s)}, took {time_text(bar.finish_s - bar.start_s)}"
        )
        fill = {"fill": palette[bar.activity]} if bar.finished else {"class_": "lost"}
        parts.append(
            tag(
                "rect",
                title(words if bar.finished else f"{words}; it did not finish"),
                x=_LEFT + bar.start_s * scale,
                y=y + 1,
                width=max(0.8, (bar.finish_s - bar.start_s) * scale - 0.5),
                height=height - 2,
                rx=1.5 if height > 8 else 0.5,
                **fill,
            )
        )
    return parts


def _binned(
    line: Row, paths: Mapping[str, list[str]], y: float, height: float, scale: float, end_s: float,
    columns: int,
) -> None:  # fmt: skip
    """Neighbouring moments of the same activity are one box."""
    step_s = end_s / columns
    share: list[dict[str, float]] = [{} for _ in range(columns)]
    for bar in line.bars:
        what = bar.activity if bar.finished else LOST
        first = min(columns - 1, int(bar.start_s / step_s))
        last = min(columns - 1, max(first, int(bar.finish_s / step_s)))
        for column in range(first, last + 1):
            begin = column * step_s
            overlap = min(begin + step_s, bar.finish_s) - max(begin, bar.start_s)
            if overlap > 0:
                share[column][what] = share[column].get(what, 0.0) + overlap
    cells = [
        max(cell, key=lambda what: cell[what]) if sum(cell.values()) >= step_s / 2 else ""
        for cell in share
    ]
    begin = 0
    for column in range(1, columns + 1):
        if column == columns or cells[column] != cells[begin]:
            if cells[begin]:
                x, width = _LEFT + begin * step_s * scale, (column - begin) * step_s * scale
                box(paths[cells[begin]], x, y + 0.5, width, height - 1)
            begin = column


def _short(vm: str) -> str:
    return vm if len(vm) <= 17 else f"{vm[:8]}…{vm[-8:]}"


def legend(palette: Mapping[str, str], lost: bool) -> Markup:
    entries = [
        tag("span", join([tag("i", style=f"background:{colour}"), Markup.escape(activity)]))
        for activity, colour in palette.items()
    ]
    if lost:
        entries.append(tag("span", join([tag("i", class_="lost"), Markup.escape(LOST)])))
    return tag("p", join(entries), class_="legend")
