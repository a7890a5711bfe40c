"""How fast the VMs of a run really are, compared with what its plan expects of them.

Each finished attempt says how many times longer it took than planned. In logarithms that is what
its activity is off by (the estimates were bad) plus what its VM is off by (it is slow), plus
chance. A small Kalman filter tells the two apart, so that a bad estimate does not make a VM look
slow; outliers count for no more than three standard deviations.
"""

from __future__ import annotations

import math

from scicore.execution.lanes import Lane, Work

CHANCE = 0.25**2  # variance of one attempt
ACTIVITY = 0.7**2  # variance of the activities' estimates before anything was measured
VM = 0.25**2  # the same of the VMs
DRIFT = 0.05**2  # a VM may change its speed from one attempt to the next
BAND = math.log(1.25)  # a VM is slow when it is surely so much slower than the others
SHORTEST_S = 0.001  # what is shorter is all overhead


class _Factor:
    """The logarithm of a factor, with what is not known about it."""

    __slots__ = ("mean", "variance")

    def __init__(self, variance: float) -> None:
        self.mean = 0.0
        self.variance = variance


class Pace:
    def __init__(self, vms: int) -> None:
        self._vms = [_Factor(VM) for _ in range(vms)]
        self._seen = [False] * vms
        self._activities: dict[str, _Factor] = {}
        self._sum = 0.0  # of the means of VMs with measurements
        self._measured = 0  # VMs with measurements

    def expected_s(self, work: Work, lane: Lane) -> float:
        """How long the activation will take on this VM."""
        base_s = _base_s(work, lane)
        if not self._measured:
            return base_s
        activity = self._activities.get(work.activity)
        log = self._vms[lane.index].mean + (activity.mean if activity else 0.0)
        return base_s * math.exp(log)

    def observe(self, work: Work, lane: Lane, took_s: float) -> None:
        if took_s <= 0:
            return
        vm = self._vms[lane.index]
        activity = self._activities.get(work.activity)
        if activity is None:
            activity = self._activities[work.activity] = _Factor(ACTIVITY)
        if self._seen[lane.index]:
            self._sum -= vm.mean
        else:
            self._seen[lane.index] = True
            self._measured += 1
        vm.variance += DRIFT
        surprise = math.log(max(took_s, SHORTEST_S) / _base_s(work, lane))
        surprise -= vm.mean + activity.mean
        variance = vm.variance + activity.variance + CHANCE
        if surprise * surprise > 9 * variance:
            surprise = math.copysign(3 * math.sqrt(variance), surprise)
        gain = vm.variance / variance
        vm.mean += gain * surprise
        vm.variance *= 1 - gain
        gain = activity.variance / variance
        activity.mean += gain * surprise
        activity.variance *= 1 - gain
        self._sum += vm.mean

    def is_slow(self, lane: Lane) -> bool:
        """Compared with the other VMs: a whole fleet that is slower than planned has no slow VM."""
        if self._measured < 2 or not self._seen[lane.index]:
            return False
        vm = self._vms[lane.index]
        others = (self._sum - vm.mean) / (self._measured - 1)
        return vm.mean - others - 2 * math.sqrt(vm.variance) > BAND


def _base_s(work: Work, lane: Lane) -> float:
    """As planned. Nothing takes no time: an idle VM must see what it could take over."""
    return max(work.unit_s / lane.type.speed, SHORTEST_S)
