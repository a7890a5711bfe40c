"""What a plan says about work that it did not foresee: more tuples of a SPLIT_MAP than expected,
what a FILTER let through.

A plan that gives two thirds of an activity's activations to one VM type means that the others of
that activity belong there in the same proportion.
"""

from __future__ import annotations

from collections import Counter

from scicore.execution.lanes import Lane, Work
from scicore.model.plan import Plan


class Policy:
    def __init__(self, plan: Plan) -> None:
        types = {vm.id: vm.type for vm in plan.fleet.vms}
        self._planned: dict[str, Counter[str]] = {}  # activity → VM type → activations
        self._given: dict[str, Counter[str]] = {}  # the same for what was not foreseen
        self._total_s: dict[str, float] = {}  # activity → runtimes at speed 1
        for assignment in plan.assignments:
            type_ = types.get(assignment.vm)
            if type_ is None:
                continue  # of another fleet
            activity = assignment.activity
            if activity not in self._planned:
                self._planned[activity], self._total_s[activity] = Counter(), 0.0
            self._planned[activity][type_.name] += 1
            self._total_s[activity] += (assignment.finish_s - assignment.start_s) * type_.speed

    def unit_s(self, activity: str) -> float:
        """How long the plan expects its activations to take at speed 1; 0 = it says nothing."""
        planned = self._planned.get(activity)
        return self._total_s[activity] / planned.total() if planned else 0.0

    def share(self, activity: str, type_: str) -> int:
        """How many of its activations the plan gave to VMs of this type."""
        planned = self._planned.get(activity)
        return planned[type_] if planned else 0

    def choose(self, work: Work, lanes: list[Lane]) -> Lane:
        """The VM type that is furthest behind its share, and of it the VM with the least to do
        per slot. Without a word of the plan, of all VMs."""
        planned = self._planned.get(work.activity)
        if planned:
            types = {lane.type.name for lane in lanes if planned[lane.type.name]}
            if types:
                given = self._given.setdefault(work.activity, Counter())
                type_ = min(sorted(types), key=lambda name: (given[name] + 1) / planned[name])
                given[type_] += 1
                lanes = [lane for lane in lanes if lane.type.name == type_]
        return min(lanes, key=_load)


def _load(lane: Lane) -> float:
    return lane.load
