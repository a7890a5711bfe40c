"""The learning curve: the best makespan over the episodes, and what no schedule can beat."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from scicore.reports.figures import time_text
from scicore.reports.html.svg import WIDTH, number, picture, tag, text, title

_LEFT, _RIGHT, _TOP, _BOTTOM = 70.0, 12.0, 12.0, 190.0


def draw(points: Sequence[tuple[int, float]], lower_bound_s: float) -> Markup:
    last = max(points[-1][0], 1)
    worst_s = max(best_s for _, best_s in points)
    best_s = points[-1][1]
    floor_s = min(lower_bound_s or best_s, best_s)
    room_s = (worst_s - floor_s) * 1.08 or worst_s * 0.1 or 1.0
    right = WIDTH - _RIGHT

    def x(episodes: float) -> float:
        return _LEFT + (right - _LEFT) * episodes / last

    def y(seconds: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * (seconds - floor_s) / room_s

    steps = [f"M{number(x(points[0][0]))} {number(y(points[0][1]))}"]
    steps += [f"H{number(x(episodes))}V{number(y(seconds))}" for episodes, seconds in points[1:]]
    parts = [
        tag("line", x1=_LEFT, x2=right, y1=_BOTTOM, y2=_BOTTOM, class_="grid"),
        tag("line", title("no schedule is faster"), x1=_LEFT, x2=right, y1=y(lower_bound_s),
            y2=y(lower_bound_s), class_="bound"),
        text(right, y(lower_bound_s) - 5, f"no schedule is faster: {time_text(lower_bound_s)}",
             "t end small"),
        tag("path", d="".join(steps), class_="curve"),
        text(_LEFT - 8, y(points[0][1]) + 4, time_text(points[0][1]), "t end small"),
        text(right, _BOTTOM + 16, f"{last} episodes", "t end small"),
        text(_LEFT, _BOTTOM + 16, "0", "t small"),
    ]  # fmt: skip
    if abs(y(points[0][1]) - y(best_s)) > 14:
        parts.append(text(_LEFT - 8, y(best_s) + 4, time_text(best_s), "t end small"))
    if len(points) < 200:
        parts += [
            tag("circle", title(f"{episodes} episodes: {time_text(seconds)}"), cx=x(episodes),
                cy=y(seconds), r=3, class_="dot")
            for episodes, seconds in points
        ]  # fmt: skip
    return picture(_BOTTOM + 24, "Learning curve", parts)
