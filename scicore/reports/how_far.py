"""How far a run is, in figures and words."""

from __future__ import annotations

from scicore.model.activation import ActivationState as State
from scicore.provenance.moment import Moment
from scicore.provenance.reader import ActivityProgress
from scicore.reports.figures import time_text

OVER = (State.FINISHED, State.FAILED, State.BLOCKED, State.CANCELLED)


def ended(progress: ActivityProgress) -> int:
    return sum(progress.counts.get(state, 0) for state in OVER)


def expected(moment: Moment, progress: ActivityProgress) -> int:
    """Activations there will be: those known, or as many as the plan still hopes for."""
    planned = moment.clock.expected.get(progress.activity, 0) if moment.going_on else 0
    return max(progress.total, planned)


def left_s(moment: Moment, progress: ActivityProgress) -> float | None:
    """Until an activity is done, at its rate of the last seconds."""
    rate = moment.rates_per_s.get(progress.activity)
    rest = expected(moment, progress) - ended(progress)
    return rest / rate if moment.going_on and rate and rest else None


def run_left_s(moment: Moment) -> float | None:
    """Until the run is done: the plan's rest at the pace so far, or the slowest activity."""
    elapsed_s = moment.summary.makespan_s
    if not moment.going_on or elapsed_s is None:
        return None
    guesses = [left_s(moment, progress) for progress in moment.summary.activities]
    known = [guess for guess in guesses if guess is not None]
    by_plan = moment.clock.left_s(elapsed_s, moment.done)
    if by_plan is not None:
        known.append(by_plan)
    return max(known, default=None)


def clock_words(moment: Moment) -> str:
    """The plan's clock beside the real one, in words."""
    elapsed_s = moment.summary.makespan_s
    if elapsed_s is None:
        return "not started"
    if not moment.going_on:
        differs_s = elapsed_s - moment.clock.makespan_s
        how = "later" if differs_s >= 0 else "earlier"
        return f"{time_text(elapsed_s)}, {time_text(abs(differs_s))} {how} than planned"
    lag_s = moment.clock.lag_s(elapsed_s, moment.done)
    if not moment.clock.finishes_s or abs(lag_s) < 0.05:
        return "as planned"
    return f"{time_text(abs(lag_s))} {'behind' if lag_s > 0 else 'ahead of'} the plan"


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
