"""A schedule as a Gantt chart of letters, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scicore.reports.gantt import Chart, Row, colours, rows

MOST_ROWS = 40  # with more slots than that, a VM is one line that shows its busiest activity
IDLE, LOST = "·", "x"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwyz"


def draw_gantt_text(chart: Chart, columns: int, *, colour: bool = False) -> str:
    """Every line has at most `columns` characters; `colour` adds those of the picture."""
    lines = rows(chart)
    if len(lines) > MOST_ROWS:
        lines = [Row(vm, 0, [bar for bar in chart.bars if bar.vm == vm]) for vm, _ in chart.vms]
    names = [line.vm if line.slot == 0 else "" for line in lines]
    margin = max((len(name) for name in names), default=0) + 1
    width = max(10, columns - margin)
    letters = _letters(chart.activities)
    palette = colours(chart.activities)
    shown = []
    for name, line in zip(names, lines, strict=True):
        cells = _cells(line, chart.end_s, width)
        drawn = "".join(_cell(cell, letters, palette, colour) for cell in cells)
        shown.append(f"{name:<{margin}}{drawn}")
    shown.append(" " * margin + _scale(chart.end_s, width))
    legend = [
        f"{_cell(activity, letters, palette, colour)} {activity}" for activity in chart.activities
    ]
    shown += _wrapped(legend, chart.activities, columns)
    return "\n".join(shown)


def _letters(activities: Sequence[str]) -> dict[str, str]:
    """An activity's own first letters where they are free: mProject is P or m."""
    taken: dict[str, str] = {}
    for activity in activities:
        wanted = [*filter(str.isupper, activity), *activity.upper(), *activity, *_LETTERS]
        free = (each for each in wanted if each in _LETTERS and each not in taken.values())
        taken[activity] = next(free, "#")
    return taken


def _cells(line: Row, end_s: float, width: int) -> list[str]:
    """For each column of characters the activity that takes most of its time; empty: idle."""
    if end_s <= 0:
        return [""] * width
    share: list[dict[str, float]] = [{} for _ in range(width)]
    step_s = end_s / width
    for bar in line.bars:
        what = bar.activity if bar.finished else LOST
        first = min(width - 1, int(bar.start_s / step_s))
        last = min(width - 1, max(first, int(bar.finish_s / step_s)))
        for column in range(first, last + 1):
            begin, end = column * step_s, (column + 1) * step_s
            overlap = min(end, bar.finish_s) - max(begin, bar.start_s)
            if overlap > 0:
                share[column][what] = share[column].get(what, 0.0) + overlap
    return [
        max(cell, key=lambda what: cell[what]) if sum(cell.values()) >= step_s / 2 else ""
        for cell in share
    ]


def _cell(what: str, letters: Mapping[str, str], palette: Mapping[str, str], colour: bool) -> str:
    if not what:
        return IDLE
    letter = letters.get(what, LOST)
    if not colour or what not in palette:
        return letter
    red, green, blue = (int(palette[what][place : place + 2], 16) for place in (1, 3, 5))
    return f"\x1b[48;2;{red};{green};{blue}m\x1b[38;2;255;255;255m{letter}\x1b[0m"


def _scale(end_s: float, width: int) -> str:
    end = f"{end_s:.1f} s"
    return "0" + end.rjust(width - 1)


def _wrapped(legend: Sequence[str], plain: Sequence[str], columns: int) -> list[str]:
    """As many entries on a line as fit; escapes take no room, so plain names are measured."""
    lines: list[list[str]] = [[]]
    used = 0
    for entry, name in zip(legend, plain, strict=True):
        room = len(name) + 4
        if lines[-1] and used + room > columns:
            lines.append([])
            used = 0
        lines[-1].append(entry)
        used += room
    return ["  ".join(line) for line in lines if line]
