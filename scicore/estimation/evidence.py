"""What is asked of the estimation, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scicore.model.estimate import Estimate, Source


@dataclass(frozen=True, slots=True)
class Expected:
    """An activation that is to be planned, with all that is known of it beforehand."""

    activity: str
    key: str = ""  # empty: its values are not known before the run
    declared_s: float | None = None  # at speed 1.0
    declared_by: Source = Source.DECLARED
    per_tuple: bool = False  # each tuple declares a runtime of its own, as in traces
    input_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Estimates:
    runtime_s: NDArray[np.float64]  # [activation, VM]
    by_activity: tuple[Estimate, ...]  # one per activity and VM type of the fleet
