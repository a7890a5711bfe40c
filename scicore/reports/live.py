"""A run as a screen: activities as bars, VMs as slots, the plan's clock beside the real one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from scicore.model.activation import ActivationState as State
from scicore.provenance.moment import Moment, VmMoment
from scicore.provenance.reader import ActivityProgress
from scicore.reports.figures import time_text
from scicore.reports.how_far import clock_words, ended, expected, left_s, run_left_s

COLOURS = {
    "finished": "green",
    "failed": "red",
    "stopped": "yellow",
    "interrupted": "red",
    "paused": "yellow",
}
MANY_VMS = 12  # more are shown by type
MANY_SLOTS = 16  # more are shown as a number
_SEGMENTS = (
    (State.FINISHED, "green"),
    (State.FAILED, "red"),
    (State.BLOCKED, "yellow"),
    (State.CANCELLED, "yellow"),
    (State.RUNNING, "bright_blue"),
    (State.READY, "blue"),
)
_FULL, _EMPTY = "━", "─"
_GONE = {"lost": "red", "drained": "yellow", "left": "bright_black", "joining": "bright_black"}


def screen(moment: Moment, width: int, height: int = 1000) -> RenderableType:
    """All of it, in at most so many columns and lines."""
    vms = _vms(moment, width)
    notes = _notes(moment)
    room = max(3, height - 4 - len(vms) - len(notes))
    return Group(
        _heading(moment), _clock(moment, width), _activities(moment, width, room), *vms, *notes
    )


# --- parts of the screen --------------------------------------------------------------------------


def _heading(moment: Moment) -> Text:
    summary = moment.summary
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(summary.workflow, "bold").append(f"  run {summary.run_id}  ")
    line.append(summary.state, f"bold {COLOURS.get(summary.state, 'bright_blue')}")
    if summary.reason:
        line.append(f" ({summary.reason})")
    plan = f"   plan {summary.plan_id} by {summary.algorithm} on {summary.fleet}"
    return line.append(plan, "bright_black")


def _clock(moment: Moment, width: int) -> Text:
    """Two marks on one line: how far the plan would be, and how far the run is."""
    elapsed_s = moment.summary.makespan_s or 0.0
    clock = moment.clock
    done_s = clock.at(moment.done) if moment.going_on else clock.makespan_s
    total_s = max(clock.makespan_s, elapsed_s, 0.001)
    columns = max(10, min(28, width // 4))
    real = min(columns, round(columns * elapsed_s / total_s))
    done = min(columns, round(columns * done_s / total_s))
    line = Text("clock ", no_wrap=True, overflow="ellipsis")
    for column in range(columns):
        both = column < real and column < done
        colour = "green" if both else "yellow" if column < real else "cyan" if column < done else ""
        line.append(_FULL if colour else _EMPTY, colour or "bright_black")
    line.append(f"  {time_text(elapsed_s)}", "bold").append(
        f" of {time_text(clock.makespan_s)} planned"
    )
    line.append(f", {clock_words(moment)}" if moment.going_on else "")
    rest_s = run_left_s(moment)
    return line if rest_s is None else line.append(f", about {time_text(rest_s)} left")


def _activities(moment: Moment, width: int, room: int) -> Table:
    shown = _worth_showing(moment, room)
    table = Table(box=None, pad_edge=False, header_style="bright_black", expand=False)
    table.add_column("activity", no_wrap=True, max_width=max(8, width // 4))
    bar = max(8, min(40, width - 62 - min(20, width // 4)))
    table.add_column("", width=bar, no_wrap=True)
    for name in ("done", "ready", "running", "failed"):
        table.add_column(name, justify="right", no_wrap=True)
    stuck = moment.summary.count(State.BLOCKED, State.CANCELLED) > 0
    if stuck:
        table.add_column("blocked", justify="right", no_wrap=True)
    table.add_column("rate", justify="right", no_wrap=True)
    table.add_column("ETA", justify="right", no_wrap=True)
    for progress in shown:
        counts = progress.counts
        total = expected(moment, progress)
        rest_s = left_s(moment, progress)
        rate = None if rest_s is None else moment.rates_per_s[progress.activity]
        failed = counts.get(State.FAILED, 0)
        cells: list[Text | str] = [
            Text(progress.activity),
            _bar(progress, total, bar),
            f"{ended(progress)}/{total}",
            _number(counts.get(State.READY, 0)),
            _number(counts.get(State.RUNNING, 0)),
            Text(_number(failed), "bold red" if failed else ""),
        ]
        if stuck:
            cells.append(_number(counts.get(State.BLOCKED, 0) + counts.get(State.CANCELLED, 0)))
        cells.append(_rate(rate))
        cells.append("" if rest_s is None else time_text(rest_s))
        table.add_row(*cells)
    hidden = len(moment.summary.activities) - len(shown)
    if hidden:
        table.add_row(Text(f"… and {hidden} more", "bright_black"))
    return table


def _worth_showing(moment: Moment, room: int) -> Sequence[ActivityProgress]:
    """Where not all have room: those at work first, then those still to come."""
    activities = moment.summary.activities
    if len(activities) <= room:
        return activities

    def urgency(progress: ActivityProgress) -> int:
        counts = progress.counts
        if counts.get(State.FAILED) or counts.get(State.RUNNING):
            return 0
        return 1 if ended(progress) < expected(moment, progress) else 2

    kept = {each.activity for each in sorted(activities, key=urgency)[: room - 1]}
    return [each for each in activities if each.activity in kept]


def _bar(progress: ActivityProgress, total: int, columns: int) -> Text:
    """Every state that occurs is seen, however few activations are in it."""
    line = Text(no_wrap=True)
    if not total:
        return line.append(_EMPTY * columns, "bright_black")
    room = columns
    for state, colour in _SEGMENTS:
        count = progress.counts.get(state, 0)
        if count:
            length = min(room, max(1, int(columns * count / total)))
            if count == total:
                length = room
            line.append(_FULL * length, colour)
            room -= length
    whole = ended(progress) == total
    last = _SEGMENTS[0][1] if progress.counts.get(State.FINISHED) else "yellow"
    return line.append((_FULL if whole else _EMPTY) * room, last if whole else "bright_black")


def _vms(moment: Moment, width: int) -> list[Text]:
    if not moment.vms:
        return []
    parts = [*(map(_one_vm, moment.vms) if len(moment.vms) <= MANY_VMS else _types(moment.vms))]
    lines = [Text("VMs   ")]
    for part in parts:
        if lines[-1].cell_len + part.cell_len + 2 > width and lines[-1].cell_len > 6:
            lines.append(Text("      "))
        lines[-1].append_text(part).append("   ")
    return lines


def _one_vm(vm: VmMoment) -> Text:
    line = Text(f"{vm.vm} ")
    if vm.state in _GONE:
        return line.append(vm.state, _GONE[vm.state])
    return _slots(line, vm.running, vm.slots)


def _slots(line: Text, running: int, slots: int) -> Text:
    if slots <= MANY_SLOTS:
        busy = min(running, slots)
        line.append("■" * busy, "bright_blue").append("□" * (slots - busy), "bright_black")
    return line.append(f" {running}/{slots}")


def _types(vms: Iterable[VmMoment]) -> Iterable[Text]:
    for vm_type, group in groupby(vms, key=lambda vm: vm.vm_type):
        own = list(group)
        there = [vm for vm in own if vm.state not in _GONE]
        line = Text(f"{len(there)} × {vm_type} ")
        slots = sum(vm.slots for vm in there)
        _slots(line, sum(vm.running for vm in there), slots)
        for state, colour in _GONE.items():
            gone = sum(vm.state == state for vm in own)
            if gone:
                line.append(f", {gone} {state}", colour)
        yield line


def _notes(moment: Moment) -> list[Text]:
    summary = moment.summary
    notes = []
    if summary.state == "paused":
        notes.append(f"paused: nothing new is started; scicumulus resume {summary.run_id}")
    if summary.state == "running" and not moment.attended:
        notes.append(f"no master is at work on it; scicumulus resume {summary.run_id}")
    return [Text(note, "yellow", no_wrap=True, overflow="ellipsis") for note in notes]


def _number(count: int) -> str:
    return str(count) if count else "·"


def _rate(rate_per_s: float | None) -> str:
    if not rate_per_s:
        return ""
    return f"{rate_per_s:.1f}/s" if rate_per_s >= 0.1 else f"{rate_per_s * 60:.1f}/min"
