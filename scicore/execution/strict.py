"""Strict dispatch: each VM starts its own activations in plan order, and waits for the next one as
long as that one may still come."""

from __future__ import annotations

from scicore.execution.lanes import UNFORESEEN, Lane, Lanes, Work
from scicore.model.plan import Plan


class Agenda:
    """What each VM still expects, in plan order.

    A planned activation is settled when it has been started once, or when it is certain that it
    will not come: it is blocked or cancelled, or its activity has all its tuples and it is not
    among them. Pointers only move forward, so that all of this costs linear time over a run.
    """

    def __init__(self, plan: Plan, lanes: Lanes) -> None:
        self._own: list[list[int]] = [[] for _ in lanes.all]
        self._next = [0] * len(lanes.all)  # how far each VM is in its own list
        self._lane_of = [-1] * len(plan.assignments)  # by position
        self._of_activity: dict[str, list[int]] = {}
        for position, assignment in enumerate(plan.assignments):
            lane = lanes.find(assignment.vm)
            if lane is not None:
                self._own[lane.index].append(position)
                self._lane_of[position] = lane.index
            self._of_activity.setdefault(assignment.activity, []).append(position)
        self._created = bytearray(len(plan.assignments))
        self._settled = bytearray(len(plan.assignments))

    def allows(self, lane: Lane, work: Work) -> bool:
        """Nothing that may still come stands before it. The unforeseen has no place in the order:
        it runs when nothing planned is ready."""
        if work.position >= UNFORESEEN:
            return True
        own, at = self._own[lane.index], self._next[lane.index]
        while at < len(own) and self._settled[own[at]]:
            at += 1
        self._next[lane.index] = at
        return at == len(own) or work.position <= own[at]

    def created(self, position: int) -> None:
        self._created[position] = 1

    def settle(self, position: int) -> int:
        """It need not be waited for any more; returns the index of the VM that did, or -1."""
        if position >= UNFORESEEN or self._settled[position]:
            return -1
        self._settled[position] = 1
        return self._lane_of[position]

    def fed(self, activity: str) -> set[int]:
        """All activations that the activity will have are there; returns the VMs to look at."""
        absent = [at for at in self._of_activity.pop(activity, ()) if not self._created[at]]
        return {self.settle(position) for position in absent} - {-1}
