"""Fronts of several planners in one picture: time to the right, money upwards, both logarithmic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from scicore.model.front import Point
from scicore.reports.gantt import colours
from scicore.reports.picture import GREY, INK, PAPER, RULE, drawing, save


def draw_fronts(title: str, fronts: Mapping[str, Sequence[Point]], file: Path) -> None:
    """The lower and the further left, the better; a step is what a front's plans offer together."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

    with drawing():
        figure = Figure(figsize=(9.0, 5.4), facecolor=PAPER)
        axes = figure.add_axes((0.09, 0.11, 0.88, 0.78))
        figure.text(0.09, 0.96, title, size=11, color=INK, weight="bold", va="top")
        for name, colour in colours(list(fronts)).items():
            times_s, costs_usd = zip(*fronts[name], strict=True)
            axes.step(times_s, costs_usd, where="post", color=colour, lw=1.2, alpha=0.6)
            axes.plot(times_s, costs_usd, "o", color=colour, ms=4, label=name)
        axes.set(xscale="log", yscale="log")
        for axis, shape in ((axes.xaxis, "{:,.0f}"), (axes.yaxis, "{:.2f}")):
            axis.set_major_locator(MaxNLocator(9))
            axis.set_minor_locator(NullLocator())
            axis.set_major_formatter(
                FuncFormatter(lambda value, _, shape=shape: shape.format(value))
            )
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            axes.spines[side].set_color(RULE)
        axes.tick_params(colors=GREY, labelsize=8.5)
        axes.grid(color=RULE, lw=0.6)
        axes.set_axisbelow(True)
        axes.set_xlabel("makespan in seconds", size=8.5, color=GREY)
        axes.set_ylabel("cost in USD", size=8.5, color=GREY)
        axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)
        save(figure, file)
