"""Plans that trade time for money, as Python objects: all of a front, and how sure they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scicore.notebook.frame import frame

if TYPE_CHECKING:
    from pandas import DataFrame

    from scicore.notebook.plan import Plan

OF_A_PLAN = ("fleet", "makespan_s", "cost_usd", "lower_bound_s", "gap")  # keys of the front's own


@dataclass(frozen=True, slots=True)
class Front:
    """None of its plans beats another in both time and money; fastest first."""

    plans: tuple[Plan, ...]
    kept: bool | None  # does the chosen plan keep the limits, as surely as asked? None: no limits
    probability: float | None  # share of simulated runs in which it does
    confidence: float  # the share that was asked for
    _rows: tuple[Mapping[str, Any], ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.plans)

    def __iter__(self) -> Iterator[Plan]:
        return iter(self.plans)

    def table(self) -> DataFrame:
        """A row per plan: time and money as planned, and in half and nine of ten simulated runs."""
        return frame(list(self._rows[0]), [list(each.values()) for each in self._rows])
