"""A learner at work: a bar on the terminal while it learns, and its curve afterwards."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from scicore.reports.curves import CurvePoint


class Learning:
    """Told of every step, it shows what a person can read and keeps what a curve needs.

    On anything but a terminal it only keeps.
    """

    def __init__(self, budget_s: float | None, *, quiet: bool = False) -> None:
        console = Console(stderr=True, highlight=False)
        self._points: list[CurvePoint] = []
        self._last: CurvePoint | None = None
        self._budget_s = budget_s
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        if console.is_terminal and not quiet:
            self._bar = Progress(
                TextColumn("learning"),
                BarColumn(),
                TextColumn("{task.fields[detail]}"),
                TimeElapsedColumn(),
                console=console,
                transient=True,
            )

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self, episodes: int, best_s: float, lower_bound_s: float) -> None:
        """Only improvements, and the last step, are worth keeping."""
        self._last = CurvePoint(episodes, best_s)
        if not self._points or best_s < self._points[-1].best_s:
            self._points.append(self._last)
        if self._bar is not None:
            gap = best_s / lower_bound_s - 1 if lower_bound_s > 0 else 0.0
            detail = f"{episodes} episodes, best {best_s:.2f} s, {gap:.1%} above the bound"
            if self._task is None:
                self._task = self._bar.add_task("", total=self._budget_s, detail=detail)
            elapsed = self._bar.tasks[0].elapsed
            done = min(elapsed or 0.0, self._budget_s) if self._budget_s else None
            self._bar.update(self._task, completed=done, detail=detail)

    @property
    def points(self) -> tuple[CurvePoint, ...]:
        ends = self._last is not None and self._last != self._points[-1]
        return (*self._points, self._last) if ends and self._last else tuple(self._points)
