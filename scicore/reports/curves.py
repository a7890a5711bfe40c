"""A learning curve: the best makespan over the episodes, as SVG, PNG or text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from scicore.reports.picture import GREY, INK, PAPER, RULE, drawing, require_format, save

_BLUE, _GREEN = "#2563eb", "#10b981"
_BLOCKS = "▁▂▃▄▅▆▇█"


class CurvePoint(NamedTuple):
    episodes: int  # so far
    best_s: float  # makespan of the best plan so far


@dataclass(frozen=True, slots=True)
class Curve:
    title: str
    subtitle: str
    points: tuple[CurvePoint, ...]
    lower_bound_s: float


def draw_curve(curve: Curve, file: Path) -> None:
    """Write the picture; the file's ending tells the format."""
    require_format(file, "--curve learning.png")
    from matplotlib.figure import Figure

    episodes = [point.episodes for point in curve.points] or [0]
    best_s = [point.best_s for point in curve.points] or [curve.lower_bound_s]
    width, height = 9.0, 4.8
    with drawing():
        figure = Figure(figsize=(width, height), facecolor=PAPER)
        axes = figure.add_axes((0.09, 0.13, 0.88, 0.68))
        figure.text(0.09, 0.95, curve.title, size=13, color=INK, weight="bold", va="top")
        figure.text(0.09, 0.885, curve.subtitle, size=8.5, color=GREY, va="top")
        axes.step(episodes, best_s, where="post", color=_BLUE, lw=2, label="best plan so far")
        if len(curve.points) < 100:
            axes.plot(episodes, best_s, "o", color=_BLUE, ms=3.5)
        bound = f"no schedule is faster: {curve.lower_bound_s:.2f} s"
        axes.axhline(curve.lower_bound_s, color=_GREEN, lw=1.4, ls=(0, (4, 3)), label=bound)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            axes.spines[side].set_color(RULE)
        axes.tick_params(colors=GREY, labelsize=8.5)
        axes.grid(axis="y", color=RULE, lw=0.7)
        axes.set_axisbelow(True)
        axes.margins(x=0.01, y=0.12)
        axes.ticklabel_format(useOffset=False)
        axes.set_xlabel("episodes", size=8.5, color=GREY)
        axes.set_ylabel("makespan in seconds", size=8.5, color=GREY)
        axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)
        save(figure, file)


def draw_curve_text(points: Sequence[CurvePoint], columns: int = 40) -> str:
    """One line: from the first to the best makespan, falling."""
    if not points:
        return ""
    last = points[-1].episodes
    first, best = points[0].best_s, min(point.best_s for point in points)
    steps = []
    for column in range(columns):
        until = last * (column + 1) / columns
        so_far = [point.best_s for point in points if point.episodes <= until]
        value = so_far[-1] if so_far else first
        share = (value - best) / (first - best) if first > best else 0.0
        steps.append(_BLOCKS[round(share * (len(_BLOCKS) - 1))])
    return f"{first:.2f} s {''.join(steps)} {best:.2f} s"
