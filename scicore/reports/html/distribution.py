"""How a figure is spread, activity by activity: a histogram each on one common scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from markupsafe import Markup

from scicore.reports.figures import percentile, ticks, time_text
from scicore.reports.html.svg import WIDTH, box, picture, tag, text, title

BINS = 120
LOGARITHMIC_FROM = 100.0  # largest over smallest: beyond, a linear scale shows only the largest
_LEFT, _RIGHT, _ROW, _TOP = 150.0, 70.0, 34.0, 14.0


def draw(
    values: Mapping[str, Sequence[float]],
    palette: Mapping[str, str],
    label: str,
    words: Callable[[float], str],
) -> Markup:
    """`values` by activity; those without any are left out."""
    known = {activity: sorted(each) for activity, each in values.items() if each}
    largest = max((each[-1] for each in known.values()), default=1.0) or 1.0
    positive = [value for each in known.values() for value in each[:1] if value > 0]
    smallest = min(positive, default=largest)
    by_power = largest / smallest > LOGARITHMIC_FROM
    scale = _Scale(max(smallest, largest / 1e6), largest, by_power, words is time_text)
    bottom = _TOP + _ROW * len(known) + 4
    parts = [text(WIDTH - _RIGHT + 8, 11, "median", "t small")]
    for at in scale.ticks():
        x = scale.x(at)
        parts.append(tag("line", x1=x, x2=x, y1=_TOP, y2=bottom, class_="grid"))
        parts.append(text(x, bottom + 15, words(at), "t small", text_anchor="middle"))
    for row, (activity, ordered) in enumerate(known.items()):
        parts += _row(activity, ordered, _TOP + row * _ROW, scale, palette[activity], words)
    if by_power:
        parts.append(text(0, bottom + 15, "logarithmic scale", "t small"))
    return picture(bottom + 22, label, parts)


class _Scale:
    def __init__(self, smallest: float, largest: float, by_power: bool, clock: bool) -> None:
        self.smallest, self.largest, self.by_power = smallest, largest, by_power
        self.clock = clock

    def share(self, value: float) -> float:
        if not self.by_power:
            return value / self.largest
        inside = max(value, self.smallest)
        return math.log(inside / self.smallest) / math.log(self.largest / self.smallest)

    def x(self, value: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * min(1.0, self.share(value))

    def ticks(self) -> list[float]:
        if not self.by_power:
            return ticks(self.largest, clock=self.clock)
        first = math.ceil(math.log10(self.smallest))
        return [10.0**power for power in range(first, math.floor(math.log10(self.largest)) + 1)]


def _row(
    activity: str,
    ordered: list[float],
    top: float,
    scale: _Scale,
    colour: str,
    words: Callable[[float], str],
) -> list[Markup]:
    counts = [0] * BINS
    for value in ordered:
        counts[min(BINS - 1, int(scale.share(value) * BINS))] += 1
    tallest = max(counts)
    step = (WIDTH - _LEFT - _RIGHT) / BINS
    path: list[str] = []
    base = top + _ROW - 4
    for place, count in enumerate(counts):
        if count:
            height = max(2.0, (_ROW - 10) * count / tallest)
            box(path, _LEFT + place * step, base - height, step * 0.92, height)
    middle, most = percentile(ordered, 0.5), percentile(ordered, 0.95)
    about = (
        f"{activity}: {len(ordered)} attempts, {words(ordered[0])} to {words(ordered[-1])}, "
        f"median {words(middle)}, 95% at most {words(most)}"
    )
    name = activity if len(activity) <= 20 else f"{activity[:19]}…"
    x = scale.x(middle)
    return [
        text(_LEFT - 10, base - 6, name, "t end"),
        tag("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=base, y2=base, class_="grid"),
        tag("path", title(about), d="".join(path), fill=colour),
        tag("line", title(about), x1=x, x2=x, y1=top + 4, y2=base, class_="median"),
        text(WIDTH - _RIGHT + 8, base - 6, words(middle), "t small"),
    ]
