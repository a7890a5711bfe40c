"""Dynamic dispatch: one queue for all VMs. Whoever has room takes the oldest ready activation; of
several that have, the one whose type the plan prefers for that activity, if there is a plan."""

from __future__ import annotations

import heapq

from scicore.execution.lanes import UNFORESEEN, Lane, Lanes, Work, untried
from scicore.execution.policy import Policy

CLASSES = 16  # kinds of requests that are looked at for one free slot


class SharedQueue:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.waiting: dict[int, Work] = {}
        self._arrived = 0
        # Those that can go to the same VMs wait together, so that one that has to wait for a
        # large VM, or for one where it has not failed, does not hold up the others behind it.
        self._classes: dict[tuple[int, int, tuple[str, ...]], list[tuple[int, int, Work]]] = {}

    def push(self, work: Work) -> None:
        if work.position >= UNFORESEEN:  # another attempt keeps its place
            work.position = self._arrived
            self._arrived += 1
        self.waiting[work.id] = work
        heap = self._classes.setdefault((work.cpus, work.memory_mb, work.shunned), [])
        heapq.heappush(heap, (work.position, work.id, work))

    def remove(self, work: Work) -> None:
        self.waiting.pop(work.id, None)

    def next(self, free: list[Lane], lanes: Lanes) -> tuple[Work, Lane] | None:
        """The next to start, on one of the VMs with free slots.

        The oldest that finds no room keeps the VM with the most free slots for itself, so that a
        stream of small ones cannot starve it.
        """
        for work in self._oldest() if free else ():
            fit = [lane for lane in free if lane.could_hold(work) and lane.has_room(work)]
            if not fit or work.shunned:
                holders = untried(work, [lane for lane in lanes.fit(work) if lane.takes])
                fit = [lane for lane in free if lane in holders and lane.has_room(work)]
                if not fit and holders:
                    kept = max(holders, key=lambda lane: (lane.free, -lane.index))
                    free = [lane for lane in free if lane is not kept]
            if fit:
                return work, max(fit, key=lambda lane: self._preference(work, lane))
        return None

    def _oldest(self) -> list[Work]:
        """The first of each class, oldest first."""
        heads = []
        for key in list(self._classes)[:CLASSES]:
            heap = self._classes[key]
            while heap and heap[0][1] not in self.waiting:
                heapq.heappop(heap)
            if heap:
                heads.append(heap[0])
            else:
                del self._classes[key]
        return [work for _, _, work in sorted(heads)]

    def _preference(self, work: Work, lane: Lane) -> tuple[int, float, int]:
        share = self._policy.share(work.activity, lane.type.name)
        return share, lane.free / lane.slots, -lane.index
