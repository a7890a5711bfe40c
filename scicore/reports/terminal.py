"""A run on the terminal: a live screen while it goes on, plain lines when nobody watches, and a
summary."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from scicore.model.activation import ActivationState as State
from scicore.model.activation import RunState
from scicore.provenance.moment import Moment
from scicore.provenance.reader import ActivityProgress, RunSummary
from scicore.reports.live import COLOURS, clock_words, ended, expected, screen

PLAIN_EVERY_S = 2.0
_ON_THE_WAY = (State.LOCKED, State.READY, State.RUNNING)


class Progress:
    """Shows one run moment after moment, on stderr."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._live: Live | None = None
        self._plain = ""
        self._plain_at = 0.0

    def __enter__(self) -> Self:
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._live = Live(console=self._console, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    @property
    def due(self) -> bool:
        """Whether there would be anything to see; to look on for nothing only slows the run."""
        return self._live is not None or time.monotonic() - self._plain_at >= PLAIN_EVERY_S

    def show(self, moment: Moment) -> None:
        if self._live is None:
            self._show_plainly(moment)
            return
        size = self._console.size
        self._live.update(screen(moment, size.width, size.height), refresh=True)

    def _show_plainly(self, moment: Moment) -> None:
        """A line when something changed, but not more often than can be read."""
        counted = plain_line(moment)
        now = time.monotonic()
        if counted != self._plain and (
            not moment.going_on or now - self._plain_at >= PLAIN_EVERY_S
        ):
            self._plain, self._plain_at = counted, now
            clock = "" if moment.summary.makespan_s is None else f" ({clock_words(moment)})"
            print(counted + clock, file=sys.stderr, flush=True)


def plain_line(moment: Moment) -> str:
    """How far the run is, in one line without a clock: it changes when something happens."""
    summary = moment.summary
    activities = ", ".join(_counted(moment, progress) for progress in summary.activities)
    slots = sum(vm.slots for vm in moment.vms if vm.state == "joined")
    busy = sum(min(vm.running, vm.slots) for vm in moment.vms)  # some may be granted ahead
    vms = f"; {busy} of {slots} slots busy" if slots and moment.going_on else ""
    return f"run {summary.run_id} {summary.state}: {activities}{vms}"


def _counted(moment: Moment, progress: ActivityProgress) -> str:
    failed = progress.counts.get(State.FAILED, 0)
    trouble = f" ({failed} failed)" if failed else ""
    return f"{progress.activity} {ended(progress)}/{expected(moment, progress)}{trouble}"


def print_moment(moment: Moment) -> None:
    """The screen of this moment, on stdout; nothing is cut off when it goes to a file."""
    console = Console(highlight=False)
    width = console.size.width if console.is_terminal else 100
    Console(highlight=False, width=width).print(screen(moment, width))


def print_summary(summary: RunSummary) -> None:
    """What happened, and what can be asked next; on stdout."""
    console = Console(highlight=False, soft_wrap=True)
    colour = COLOURS.get(summary.state, "")
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
    console.print(f"      scicumulus report {summary.run_id} -o report.html", markup=False)


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
