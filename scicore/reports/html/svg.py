"""SVG as text. Colours that change between light and dark are classes of the page's style."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from scicore.reports.figures import tick_text, ticks

WIDTH = 1000.0  # of every chart, in its own units; the page scales it


def tag(name: str, content: str | Markup = "", **attributes: object) -> Markup:
    """An element; whatever is not markup already is escaped. `class_` is `class`."""
    said = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _plain(value))
        for key, value in attributes.items()
        if value is not None
    )
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), said, escape(content))


def _plain(value: object) -> object:
    return number(value) if isinstance(value, float) else value


def number(value: float) -> str:
    """Two decimals are enough for any screen."""
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def join(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def picture(height: float, label: str, parts: Iterable[Markup], width: float = WIDTH) -> Markup:
    """The whole chart, with a name for those who cannot see it."""
    return tag(
        "svg",
        join(parts),
        viewBox=f"0 0 {number(width)} {number(height)}",
        role="img",
        aria_label=label,
        xmlns="http://www.w3.org/2000/svg",
    )


def title(text: str) -> Markup:
    return tag("title", text)


def text(x: float, y: float, words: str, kind: str = "t", **attributes: object) -> Markup:
    return tag("text", words, x=x, y=y, class_=kind, **attributes)


def box(path: list[str], x: float, y: float, width: float, height: float) -> None:
    """Add a rectangle to a path: thousands of them are one element."""
    path.append(f"M{number(x)} {number(y)}h{number(width)}v{number(height)}h{number(-width)}z")


def time_axis(left: float, right: float, top: float, bottom: float, end_s: float) -> list[Markup]:
    """Grid lines from top to bottom and times below them."""
    parts = []
    for at_s in ticks(end_s):
        x = left + (right - left) * at_s / end_s if end_s else left
        parts.append(tag("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid"))
        anchor = "middle" if x <= right - 16 else "end"
        label = tick_text(at_s, end_s)
        parts.append(text(min(x, WIDTH - 1), bottom + 15, label, "t small", text_anchor=anchor))
    return parts
