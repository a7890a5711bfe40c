"""A run on the terminal: this moment of it, or its summary."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from scicore.model.activation import ActivationState as State
from scicore.model.activation import RunState
from scicore.provenance.moment import Moment
from scicore.provenance.reader import RunSummary
from scicore.reports.live import COLOURS, screen

PLAIN_EVERY_S = 2.0
_ON_THE_WAY = (State.LOCKED, State.READY, State.RUNNING)


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
