"""Which VM an activation waits for, and in which order each VM takes its own.

Strict: the plan's assignment is followed to the letter. What no plan could foresee (more tuples
of a SPLIT_MAP than expected, a VM that was lost) goes to the VM with the least waiting per slot.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

from scicore.model.plan import Plan

UNFORESEEN = 1 << 62  # position of what is not in the plan: after everything that is


@dataclass(slots=True)
class _Lane:
    """One VM as the dispatcher sees it."""

    slots: int
    joined: bool = False
    lost: bool = False
    waiting: list[tuple[int, int]] = field(default_factory=list)  # heap of (position, activation)
    running: set[int] = field(default_factory=set)

    @property
    def load(self) -> float:
        return (len(self.waiting) + len(self.running)) / self.slots


class Dispatcher:
    def __init__(self, plan: Plan) -> None:
        self._planned = {
            assignment.activation: (position, assignment.vm)
            for position, assignment in enumerate(plan.assignments)
        }
        self._lanes = {vm.id: _Lane(vm.type.slots) for vm in plan.fleet.vms}

    @property
    def vms(self) -> tuple[str, ...]:
        return tuple(self._lanes)

    def foresees(self, name: str) -> bool:
        return name in self._planned

    def join(self, vm: str) -> None:
        lane = self._lanes[vm]
        lane.joined, lane.lost = True, False

    def lose(self, vm: str) -> tuple[list[int], list[int]]:
        """Take the VM out; return what waited for it and what ran on it."""
        lane = self._lanes[vm]
        waiting = [activation for _, activation in sorted(lane.waiting)]
        running = sorted(lane.running)
        lane.joined, lane.lost = False, True
        lane.waiting.clear()
        lane.running.clear()
        return waiting, running

    def present(self) -> tuple[str, ...]:
        return tuple(vm for vm, lane in self._lanes.items() if lane.joined)

    @property
    def anyone_left(self) -> bool:
        return any(not lane.lost for lane in self._lanes.values())

    def put(self, activation: int, name: str) -> str:
        """Let the activation wait for its VM; return which. With no VM left, for one to return."""
        position, vm = self._planned.get(name, (UNFORESEEN, ""))
        if not vm or self._lanes[vm].lost:
            left = [vm for vm, lane in self._lanes.items() if not lane.lost]
            vm = min(left or self._lanes, key=lambda vm: self._lanes[vm].load)
        heapq.heappush(self._lanes[vm].waiting, (position, activation))
        return vm

    def take(self, vm: str) -> Iterator[int]:
        """What the VM can start now, in plan order, until its slots are full."""
        lane = self._lanes[vm]
        while lane.joined and lane.waiting and len(lane.running) < lane.slots:
            _, activation = heapq.heappop(lane.waiting)
            lane.running.add(activation)
            yield activation

    def release(self, vm: str, activation: int) -> None:
        self._lanes[vm].running.discard(activation)

    def waiting(self) -> dict[str, set[int]]:
        return {vm: {id for _, id in lane.waiting} for vm, lane in self._lanes.items()}

    def running(self) -> dict[str, set[int]]:
        return {vm: set(lane.running) for vm, lane in self._lanes.items()}

    def check(self) -> None:
        for vm, lane in self._lanes.items():
            assert len(lane.running) <= lane.slots, f"{vm} is over-committed"
            assert lane.joined or not lane.running, f"{vm} runs work before it joined"
