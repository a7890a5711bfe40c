"""How many slots were busy when, and with what: layers of activities over the clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from markupsafe import Markup

from scicore.reports.gantt import Bar
from scicore.reports.html.svg import WIDTH, number, picture, tag, text, time_axis, title

COLUMNS = 250
_LEFT, _RIGHT, _HEIGHT, _TOP = 46.0, 8.0, 150.0, 10.0


def draw(bars: Iterable[Bar], slots: int, palette: Mapping[str, str], end_s: float) -> Markup:
    end_s = end_s or 0.001
    step_s = end_s / COLUMNS
    busy = {activity: [0.0] * (COLUMNS + 2) for activity in palette}
    for bar in bars:
        _spread(busy[bar.activity], bar, step_s)
    right, bottom = WIDTH - _RIGHT, _TOP + _HEIGHT
    tallest = max(slots, *(sum(each[c] for each in busy.values()) for c in range(COLUMNS)), 1)
    up, along = _HEIGHT / tallest, (right - _LEFT) / COLUMNS
    parts = time_axis(_LEFT, right, _TOP, bottom, end_s)
    floor = [0.0] * COLUMNS
    for activity, layer in busy.items():
        if not any(layer):
            continue
        ceiling = [below + layer[column] for column, below in enumerate(floor)]
        above = [_points(c, ceiling[c], up, along, bottom) for c in range(COLUMNS)]
        under = [_points(c, floor[c], up, along, bottom)[::-1] for c in reversed(range(COLUMNS))]
        outline = " ".join(point for pair in (*above, *under) for point in pair)
        parts.append(tag("polygon", title(activity), points=outline, fill=palette[activity]))
        floor = ceiling
    y = bottom - slots * up
    parts.append(tag("line", x1=_LEFT, x2=right, y1=y, y2=y, class_="now"))
    parts.append(text(_LEFT - 6, y + 4, str(slots), "t end small"))
    parts.append(text(_LEFT - 6, bottom, "0", "t end small"))
    return picture(bottom + 22, "Busy slots over time, by activity", parts)


def _points(column: int, level: float, up: float, along: float, bottom: float) -> tuple[str, str]:
    y = number(bottom - level * up)
    x = _LEFT + column * along
    return f"{number(x)},{y}", f"{number(x + along)},{y}"


def _spread(layer: list[float], bar: Bar, step_s: float) -> None:
    """Its mean part of each column. Long bars are summed up at their ends alone."""
    first = min(COLUMNS - 1, int(bar.start_s / step_s))
    last = min(COLUMNS - 1, int(bar.finish_s / step_s))
    for column in range(first, last + 1):
        begin = column * step_s
        overlap = min(begin + step_s, bar.finish_s) - max(begin, bar.start_s)
        layer[column] += max(0.0, overlap) / step_s * bar.slots
