"""Planners: a problem in, a plan out. One file per algorithm, all of them in one table."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from scicore.errors import UsageError
from scicore.planners.base import Planner
from scicore.planners.fcfs import Fcfs
from scicore.planners.heft import Heft

PLANNERS: Mapping[str, Planner] = {
    "fcfs": Fcfs(),
    "heft": Heft(),
}
DEFAULT = "heft"


def planner(name: str) -> Planner:
    if name in PLANNERS:
        return PLANNERS[name]
    close = get_close_matches(name.lower(), PLANNERS, n=1, cutoff=0.5)
    guess = f"; did you mean {close[0]!r}?" if close else ""
    raise UsageError(
        f"algorithm {name!r} is not known{guess}", f"known algorithms: {', '.join(PLANNERS)}"
    )
