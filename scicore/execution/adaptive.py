"""Adaptive dispatch: the plan is a preference, and work moves when measured times leave it.

Work of a VM that turned out slow goes where it is expected to finish first, when it gets ready or
when another VM has nothing to do. An idle VM takes over ready work of a VM that is behind the
plan, but only if it is expected to finish earlier there: taking whatever is ready costs more than
it gains (measured: a makespan of 1.30 instead of 1.00 without noise).
"""

from __future__ import annotations

from collections.abc import Iterable

from scicore.execution.lanes import UNFORESEEN, Lane, Work
from scicore.execution.pace import Pace

GAIN = 0.95  # moving must bring the finish forward at least to this part of the time it would take
LATE_OF_MAKESPAN = 0.02  # a start is late by more than this part of the plan's makespan
LATE_OF_RUNTIME = 0.5  # and by more than this part of its own runtime


class Balance:
    def __init__(self, pace: Pace, makespan_s: float) -> None:
        self._pace = pace
        self._tolerance_s = LATE_OF_MAKESPAN * makespan_s
        self.started_at = 0.0  # of the run

    def reroute(self, work: Work, planned: Lane, lanes: Iterable[Lane], now: float) -> Lane:
        """Where ready work should wait: at its planned VM unless that has become slow."""
        if not self._pace.is_slow(planned):
            return planned
        best = self.soonest(work, lanes, now)
        gain = (self._finish(work, best, now) - now) < GAIN * (
            self._finish(work, planned, now) - now
        )
        return best if gain else planned

    def soonest(self, work: Work, lanes: Iterable[Lane], now: float) -> Lane:
        """The VM on which it is expected to finish first."""
        return min(lanes, key=lambda lane: (self._finish(work, lane, now), lane.load))

    def _finish(self, work: Work, lane: Lane, now: float) -> float:
        """At the end of the VM's queue; one that has not joined yet is expected any moment."""
        free_at = lane.free_at(work, now) if lane.joined else now
        return free_at + lane.backlog_s / lane.slots + self._pace.expected_s(work, lane)

    def worth_taking(self, idle: Lane, busy: Lane, now: float) -> tuple[float, Work] | None:
        """Work of the busy VM that the idle one should take over, with the time that it gains."""
        head = busy.head()
        if head is None or not (self._late(head, busy, now) or self._pace.is_slow(busy)):
            return None
        wait_s = busy.free_at(head, now) - now
        if idle.suits(head) and idle.has_room(head):
            gain_s = self._gain_s(head, idle, busy, wait_s)
            if gain_s > 0:
                return gain_s, head
        last = busy.last()
        if last is None or last is head:
            return None
        if not (idle.suits(last) and idle.has_room(last)):
            return None
        gain_s = self._gain_s(last, idle, busy, wait_s + busy.backlog_s / busy.slots)
        return (gain_s, last) if gain_s > 0 else None

    def because(self, busy: Lane) -> str:
        return "slow vm" if self._pace.is_slow(busy) else "idle vm"

    def _gain_s(self, work: Work, idle: Lane, busy: Lane, wait_s: float) -> float:
        there_s = wait_s + self._pace.expected_s(work, busy)
        return there_s * GAIN - self._pace.expected_s(work, idle)

    def _late(self, work: Work, lane: Lane, now: float) -> bool:
        """What the plan did not foresee is late as soon as it waits."""
        if work.position >= UNFORESEEN:
            return True
        own_s = LATE_OF_RUNTIME * work.unit_s / lane.type.speed
        return now - self.started_at > work.start_s + max(self._tolerance_s, own_s)
