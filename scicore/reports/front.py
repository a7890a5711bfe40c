"""Plans by time and money, as SVG, PNG or text: what another dollar buys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from scicore.reports.figures import tick_text, ticks, time_text
from scicore.reports.picture import GREY, INK, PAPER, RULE, drawing, require_format, save

_BLUE, _GREEN, _RED = "#2563eb", "#10b981", "#dc2626"
_LABELLED = 8  # plans whose fleet is written beside them


class FrontPoint(NamedTuple):
    makespan_s: float
    cost_usd: float
    late_s: float  # at most so long, with the confidence asked for
    dear_usd: float
    label: str


@dataclass(frozen=True, slots=True)
class FrontChart:
    title: str
    subtitle: str
    points: Sequence[FrontPoint]  # fastest first
    chosen: int
    confidence: float
    deadline_s: float | None
    max_cost_usd: float | None


def draw_front(chart: FrontChart, file: Path) -> None:
    """Write the picture; the file's ending tells the format."""
    require_format(file, "--picture front.png")
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    times = [point.makespan_s for point in chart.points]
    costs = [point.cost_usd for point in chart.points]
    end_s = max((point.late_s for point in chart.points), default=0.0)
    with drawing():
        figure = Figure(figsize=(9.0, 5.2), facecolor=PAPER)
        axes = figure.add_axes((0.1, 0.12, 0.87, 0.7))
        figure.text(0.1, 0.95, chart.title, size=13, color=INK, weight="bold", va="top")
        figure.text(0.1, 0.89, chart.subtitle, size=8.5, color=GREY, va="top")
        spread = f"up to where {chart.confidence:.0%} of simulated runs end"
        for number, point in enumerate(chart.points):
            reach = [point.makespan_s, point.late_s], [point.cost_usd, point.dear_usd]
            axes.plot(*reach, color=RULE, lw=3, zorder=1, label=spread if number == 0 else None)
        axes.step(times, costs, where="post", color=_BLUE, lw=1.2, zorder=2)
        axes.plot(times, costs, "o", color=_BLUE, ms=5, zorder=3, label="plans that none beats")
        picked = chart.points[chart.chosen]
        axes.plot(
            [picked.makespan_s],
            [picked.cost_usd],
            "o",
            color=_GREEN,
            ms=10,
            zorder=4,
            label="chosen",
        )
        if chart.deadline_s is not None:
            axes.axvline(chart.deadline_s, color=_RED, lw=1.2, ls=(0, (4, 3)), label="deadline")
        if chart.max_cost_usd is not None:
            axes.axhline(chart.max_cost_usd, color=_RED, lw=1.2, ls=(0, (1, 2)), label="budget")
        for point in chart.points[:: max(1, -(-len(chart.points) // _LABELLED))]:
            place = (point.makespan_s, point.cost_usd)
            axes.annotate(
                point.label, place, (5, 6), textcoords="offset points", size=7, color=GREY
            )
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            axes.spines[side].set_color(RULE)
        axes.tick_params(colors=GREY, labelsize=8.5)
        axes.grid(color=RULE, lw=0.7)
        axes.set_axisbelow(True)
        axes.margins(x=0.06, y=0.12)
        axes.set_xticks([each for each in ticks(end_s) if each >= 0.9 * min(times)])
        axes.xaxis.set_major_formatter(FuncFormatter(lambda s, _: tick_text(max(s, 0.0), end_s)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda usd, _: f"${usd:.4g}"))
        axes.set_xlabel("makespan", size=8.5, color=GREY)
        axes.set_ylabel("cost", size=8.5, color=GREY)
        axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)
        save(figure, file)


def draw_front_text(chart: FrontChart, columns: int = 60, lines: int = 12) -> str:
    """Time to the right, money upwards; `o` a plan, `#` the chosen one."""
    times = [point.makespan_s for point in chart.points]
    costs = [point.cost_usd for point in chart.points]
    grid = [[" "] * columns for _ in range(lines)]
    for number in (*range(len(chart.points)), chart.chosen):
        x = _cell(times[number], times, columns)
        y = lines - 1 - _cell(costs[number], costs, lines)
        grid[y][x] = "#" if number == chart.chosen else "o"
    top, bottom = f"${max(costs):.4g}", f"${min(costs):.4g}"
    margin = max(len(top), len(bottom))
    rows = []
    for number, row in enumerate(grid):
        word = top if number == 0 else bottom if number == lines - 1 else ""
        rows.append(f"{word:>{margin}} │{''.join(row)}".rstrip())
    left, right = time_text(min(times)), time_text(max(times))
    rows.append(f"{'':>{margin}} └{'─' * columns}")
    rows.append(f"{'':>{margin}}  {left}{right:>{max(1, columns - len(left))}}")
    return "\n".join(rows)


def _cell(value: float, values: Sequence[float], cells: int) -> int:
    low, high = min(values), max(values)
    return round((value - low) / (high - low) * (cells - 1)) if high > low else 0
