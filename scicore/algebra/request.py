"""What one activation asks for: an activity's needs, with the tuple's values filled in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from scicore.algebra.template import substitute
from scicore.model.workflow import Activity


@dataclass(frozen=True, slots=True)
class Request:
    cpus: int
    memory_mb: int  # 0 = not said
    runtime_s: float | None  # expected; None = not said


def request_of(activity: Activity, values: Mapping[str, str]) -> Request:
    """A value that is no sensible number counts as not said: it is data, and data can be bad."""
    cpus = _number(activity.cpus, values)
    memory_mb = _number(activity.memory_mb, values)
    return Request(
        cpus=max(1, math.ceil(cpus)) if cpus is not None else 1,
        memory_mb=math.ceil(memory_mb) if memory_mb is not None else 0,
        runtime_s=_number(activity.runtime_s, values),
    )


def _number(text: str, values: Mapping[str, str]) -> float | None:
    try:
        number = float(substitute(text, values))
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None
