"""A run at one moment, as somebody who watches it sees it; and what its plan expects by when."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select, text

from scicore.model.activation import ActivationState, RunState
from scicore.provenance import tables
from scicore.provenance.hold import is_held
from scicore.provenance.reader import RunSummary, run_summary

LATELY_S = 20.0
GOING_ON = (RunState.PREPARED, RunState.RUNNING, RunState.PAUSED)


@dataclass(frozen=True, slots=True)
class VmMoment:
    vm: str
    vm_type: str
    slots: int
    state: str  # joining, joined, lost, drained, left
    running: int  # activations


@dataclass(frozen=True, slots=True)
class PlanClock:
    """When the plan expects how much to be done."""

    makespan_s: float
    expected: Mapping[str, int]  # activations, by activity
    finishes_s: Sequence[float]  # of all assignments, rising

    def at(self, ended: int) -> float:
        """The second of the plan at which so many activations have ended."""
        if not self.finishes_s or ended <= 0:
            return 0.0
        return self.finishes_s[min(ended, len(self.finishes_s)) - 1]

    def due(self, elapsed_s: float) -> int:
        """How many activations have ended by then, if all goes as planned."""
        return bisect_right(self.finishes_s, elapsed_s)

    def lag_s(self, elapsed_s: float, ended: int) -> float:
        """How far behind the plan a run is; negative: ahead of it; 0: as planned."""
        if ended < len(self.finishes_s) and elapsed_s > self.finishes_s[ended]:
            return elapsed_s - self.finishes_s[ended]
        return min(0.0, elapsed_s - self.at(ended))

    def left_s(self, elapsed_s: float, ended: int) -> float | None:
        """How long the rest of the plan takes at the pace so far; None: too early to tell."""
        done_s = self.at(ended)
        if done_s <= 0 or elapsed_s <= 0:
            return None
        return (self.makespan_s - done_s) * elapsed_s / done_s


@dataclass(frozen=True, slots=True)
class Moment:
    summary: RunSummary
    vms: tuple[VmMoment, ...]
    rates_per_s: Mapping[str, float]  # activations ended per second lately, by activity
    clock: PlanClock
    attended: bool  # a master is at work on it

    @property
    def going_on(self) -> bool:
        return self.summary.state in GOING_ON

    @property
    def ended(self) -> int:
        return self.summary.count(
            ActivationState.FINISHED,
            ActivationState.FAILED,
            ActivationState.BLOCKED,
            ActivationState.CANCELLED,
        )

    @property
    def done(self) -> int:
        """How many of the plan's assignments that is worth. More activations than it foresaw
        count for less each, or every run with a SPLIT_MAP would seem to be ahead."""
        planned = len(self.clock.finishes_s)
        known = sum(
            max(each.total, self.clock.expected.get(each.activity, 0))
            for each in self.summary.activities
        )
        return self.ended if known <= planned else self.ended * planned // known


class Watch:
    """Looks at one run again and again; what cannot change is read once."""

    def __init__(self, run_id: int) -> None:
        self._run_id = run_id
        self._clock: PlanClock | None = None

    def look(self, connection: Connection) -> Moment:
        summary = run_summary(connection, self._run_id)
        if self._clock is None:
            self._clock = plan_clock(connection, summary.plan_id, summary.predicted_makespan_s)
        return Moment(
            summary,
            _vms(connection, self._run_id),
            _rates(connection, self._run_id),
            self._clock,
            is_held(connection, self._run_id),
        )


def plan_clock(connection: Connection, plan_id: int, makespan_s: float) -> PlanClock:
    own = tables.assignment.c.plan_id == plan_id
    counts = connection.execute(
        select(tables.assignment.c.activity, func.count())
        .where(own)
        .group_by(tables.assignment.c.activity)
    )
    finishes_s = connection.scalars(
        select(tables.assignment.c.finish_s).where(own).order_by(tables.assignment.c.finish_s)
    )
    expected = {activity: int(count) for activity, count in counts}
    return PlanClock(makespan_s, expected, tuple(finishes_s))


def _vms(connection: Connection, run_id: int) -> tuple[VmMoment, ...]:
    rows = connection.execute(
        text(
            """
            SELECT vm.vm, vm.vm_type, vm.slots, vm.state, coalesce(busy.running, 0)
            FROM vm
            LEFT JOIN (
                SELECT vm, sum(coalesce(cpus, 1))::integer AS running
                FROM activation
                LEFT JOIN allocation ON allocation.run_id = :run
                                    AND allocation.activation_id = activation.activation_id
                                    AND allocation.number = activation.attempts
                WHERE activation.run_id = :run AND state = 'running' GROUP BY vm
            ) AS busy USING (vm)
            WHERE vm.run_id = :run
            ORDER BY vm.vm_type, length(vm.vm), vm.vm
            """
        ),
        {"run": run_id},
    )
    return tuple(VmMoment(*row) for row in rows)


def _rates(connection: Connection, run_id: int) -> dict[str, float]:
    """Measured over the last seconds, or since the activity has had something to do."""
    rows = connection.execute(
        text(
            """
            SELECT activity.tag,
                   lately.ended / greatest(
                       least(:lately, date_part('epoch', now() - lately.since)), 0.001
                   )
            FROM (
                SELECT activity_id,
                       min(created_at) AS since,
                       count(*) FILTER (
                           WHERE ended_at > now() - make_interval(secs => :lately)
                             AND state IN ('finished', 'failed')
                       ) AS ended
                FROM activation WHERE run_id = :run GROUP BY activity_id
            ) AS lately
            JOIN activity USING (activity_id)
            """
        ),
        {"run": run_id, "lately": LATELY_S},
    )
    return {tag: float(rate) for tag, rate in rows if rate > 0}
