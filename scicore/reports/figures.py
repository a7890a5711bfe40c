"""Figures as people read them."""

from __future__ import annotations

import math
import re

_SIZES = ("B", "KB", "MB", "GB", "TB", "PB")


def time_text(seconds: float) -> str:
    """40 ms, 0.52 s, 45.1 s, 3:07, 2:05:09."""
    if seconds < 0:
        return f"−{time_text(-seconds)}"
    if 0 < seconds < 0.0995:
        return f"{seconds * 1000:.2g} ms"
    if 0 < seconds < 0.995:
        return f"{seconds:.2f} s"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def tick_text(seconds: float, end_s: float = 0.0) -> str:
    """At an axis that ends there: without digits that say nothing, and all in one way."""
    if seconds == 0:
        return "0"
    if end_s >= 100 and seconds < 3600:
        return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
    return re.sub(r"\.?0+ s$", " s", text) if "." in (text := time_text(seconds)) else text


def bytes_text(count: float) -> str:
    """In powers of 1000, three digits."""
    power = 0
    while count >= 999.5 and power < len(_SIZES) - 1:
        count /= 1000
        power += 1
    digits = 0 if power == 0 or count >= 99.5 else 1
    return f"{count:.{digits}f} {_SIZES[power]}"


def ticks(end: float, wanted: int = 8, *, clock: bool = True) -> list[float]:
    """Round numbers from 0 to the end, about as many as wanted; minutes and hours are round, too,
    where it is a clock."""
    if not end > 0:
        return [0.0]
    rough = end / wanted
    if clock and rough >= 20:
        steps = (30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
        step = float(
            next((each for each in steps if each >= rough), 86400 * math.ceil(rough / 86400))
        )
    else:
        size = 10.0 ** math.floor(math.log10(rough))
        step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough * 0.999)
    return [step * number for number in range(int(end / step * 1.0001) + 1)]


def percentile(ordered: list[float], share: float) -> float:
    """Of values in rising order; between two of them, in proportion."""
    place = (len(ordered) - 1) * share
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
