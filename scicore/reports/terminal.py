"""A run on the terminal: bars while it goes on, plain lines when nobody watches, a summary."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.progress import TaskID as BarId
from rich.table import Table

from scicore.model.activation import ActivationState as State
from scicore.model.activation import RunState
from scicore.provenance.reader import ActivityProgress, RunSummary

PLAIN_EVERY_S = 2.0
_COLOURS = {"finished": "green", "failed": "red", "stopped": "yellow", "interrupted": "red"}


class Progress:
    """Shows successive summaries of one run, on stderr."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._bars: Bars | None = None
        self._bar_ids: dict[str, BarId] = {}
        self._plain = ""
        self._plain_at = 0.0

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bars = Bars(
                TextColumn("{task.description:<16}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[detail]}"),
                TimeElapsedColumn(),
                console=self._console,
            )
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def show(self, summary: RunSummary) -> None:
        if self._bars is None:
            self._show_plainly(summary)
            return
        for progress in summary.activities:
            if progress.activity not in self._bar_ids:
                self._bar_ids[progress.activity] = self._bars.add_task(
                    progress.activity, total=None, detail=""
                )
            self._bars.update(
                self._bar_ids[progress.activity],
                total=progress.total or None,
                completed=_ended(progress),
                detail=_detail(progress),
            )

    def _show_plainly(self, summary: RunSummary) -> None:
        """A line when something changed, but not more often than can be read."""
        line = f"run {summary.run_id} {summary.state}: " + ", ".join(
            f"{progress.activity} {_ended(progress)}/{progress.total}"
            for progress in summary.activities
        )
        now = time.monotonic()
        over = summary.ended_at is not None
        if line != self._plain and (over or now - self._plain_at >= PLAIN_EVERY_S):
            self._plain, self._plain_at = line, now
            print(line, file=sys.stderr, flush=True)


_OVER = (State.FINISHED, State.FAILED, State.BLOCKED, State.CANCELLED)
_ON_THE_WAY = (State.LOCKED, State.READY, State.RUNNING)


def _ended(progress: ActivityProgress) -> int:
    return sum(progress.counts.get(state, 0) for state in _OVER)


def _detail(progress: ActivityProgress) -> str:
    shown = (State.RUNNING, State.READY, State.FAILED, State.BLOCKED, State.CANCELLED)
    return ", ".join(
        f"{progress.counts[state]} {state}" for state in shown if progress.counts.get(state)
    )


def print_summary(summary: RunSummary) -> None:
    """What happened, and what can be asked next; on stdout."""
    console = Console(highlight=False, soft_wrap=True)
    colour = _COLOURS.get(summary.state, "")
    state = f"[bold {colour}]{summary.state}[/]" if colour else f"[bold]{summary.state}[/]"
    why = f" ({summary.reason})" if summary.reason else ""
    console.print(f"Run {summary.run_id} of {summary.workflow}: {state}{escape(why)}")
    console.print(_activities(summary))
    if summary.makespan_s is not None:
        so_far = "" if summary.ended_at else " so far"
        console.print(
            f"{summary.activations} activations, {summary.attempts} attempts on {summary.fleet} "
            f"in {summary.makespan_s:.1f} s{so_far} "
            f"({summary.algorithm} predicted {summary.predicted_makespan_s:.1f} s)"
        )
    console.print(f"workspaces: {summary.directory}", markup=False)
    if summary.state in (RunState.STOPPED, RunState.INTERRUPTED):
        console.print(f"go on with: scicumulus resume {summary.run_id}", markup=False)
    failed = summary.count(State.FAILED)
    question = "failures" if failed else "outputs"
    console.print(f"next: scicumulus query {question} --run {summary.run_id}", markup=False)


def _activities(summary: RunSummary) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("activity")
    states = [State.FINISHED, State.FAILED, State.BLOCKED]
    sometimes = (State.CANCELLED, *_ON_THE_WAY)
    states += [state for state in sometimes if summary.count(state)]
    for state in states:
        table.add_column(state, justify="right")
    for progress in summary.activities:
        cells = (str(progress.counts.get(state, 0)) for state in states)
        table.add_row(progress.activity, *cells)
    return table
