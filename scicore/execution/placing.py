"""Which VM an activation should wait for: the planned one, unless something speaks against it."""

from __future__ import annotations

from scicore.execution.adaptive import Balance
from scicore.execution.lanes import Lane, Lanes, Work, untried
from scicore.execution.pace import Pace
from scicore.execution.policy import Policy


class Placing:
    def __init__(
        self, lanes: Lanes, policy: Policy, pace: Pace, balance: Balance, adaptive: bool
    ) -> None:
        self._lanes = lanes
        self._policy = policy
        self._pace = pace
        self._balance = balance
        self._adaptive = adaptive

    def place(self, work: Work, now: float, because: str) -> tuple[Lane, str]:
        """The VM, and why it is not the planned one: `because`, if the caller knows better."""
        planned = self._lanes.find(work.planned_vm)
        if planned is not None and self._suits(planned, work):
            return planned, ""
        fit = untried(work, self._lanes.fit(work))
        lane, why = self._choose(work, planned, fit, now)
        return lane, because if why and because else why

    def _suits(self, planned: Lane, work: Work) -> bool:
        """Nothing speaks against the VM that the plan wants."""
        if not (planned.usable and planned.suits(work)):
            return False
        return not (self._adaptive and self._pace.is_slow(planned))

    def _choose(
        self, work: Work, planned: Lane | None, fit: list[Lane], now: float
    ) -> tuple[Lane, str]:
        if planned is None:
            return self._policy.choose(work, fit), "unforeseen"
        if planned not in fit:
            return self._balance.soonest(work, fit, now), _why_not(planned, work)
        lane = self._balance.reroute(work, planned, fit, now) if self._adaptive else planned
        return lane, "" if lane is planned else "slow vm"


def _why_not(planned: Lane, work: Work) -> str:
    if planned.lost:
        return "lost vm"
    if planned.drained:
        return "drained"
    if planned.vm in work.barred or planned.could_hold(work):
        return "failed there"
    return "does not fit"
