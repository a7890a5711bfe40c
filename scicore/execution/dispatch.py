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
MASTER = "master"  # where queries run: no VM of the fleet, and always there


@dataclass(slots=True)
class _Lane:
    """One VM as the dispatcher sees it."""

    slots: int
    joined: bool = False
    lost: bool = False
    waiting: list[tuple[int, int, int]] = field(default_factory=list)
    """A heap of (position, activation, cpus)."""
    withdrawn: set[int] = field(default_factory=set)  # still in the heap, but not wanted any more
    running: dict[int, int] = field(default_factory=dict)  # activation → cpus

    @property
    def load(self) -> float:
        return (len(self.waiting) + len(self.running)) / self.slots

    @property
    def free(self) -> int:
        return self.slots - sum(self.running.values())


class Dispatcher:
    def __init__(self, plan: Plan) -> None:
        self._planned = {
            assignment.activation: (position, assignment.vm)
            for position, assignment in enumerate(plan.assignments)
        }
        self._lanes = {vm.id: _Lane(vm.type.slots) for vm in plan.fleet.vms}
        self._master = _Lane(slots=1, joined=True)

    @property
    def vms(self) -> tuple[str, ...]:
        """Everyone that takes work, the master included."""
        return (*self._lanes, MASTER)

    def foresees(self, name: str) -> bool:
        return name in self._planned

    def join(self, vm: str) -> None:
        lane = self._lanes[vm]
        lane.joined, lane.lost = True, False

    def lose(self, vm: str) -> tuple[list[int], list[int]]:
        """Take the VM out; return what waited for it and what ran on it."""
        lane = self._lanes[vm]
        waiting = [id for _, id, _ in sorted(lane.waiting) if id not in lane.withdrawn]
        running = sorted(lane.running)
        lane.withdrawn.clear()
        lane.joined, lane.lost = False, True
        lane.waiting.clear()
        lane.running.clear()
        return waiting, running

    def present(self) -> tuple[str, ...]:
        return tuple(vm for vm, lane in self._lanes.items() if lane.joined)

    @property
    def anyone_left(self) -> bool:
        return any(not lane.lost for lane in self._lanes.values())

    def put(self, activation: int, name: str, cpus: int = 1) -> str:
        """Let the activation wait for its VM; return which. With no VM left, for one to return.

        Who asks for more than the largest VM left has gets all of it: waiting helps nobody.
        """
        left = {vm: lane for vm, lane in self._lanes.items() if not lane.lost} or self._lanes
        cpus = min(cpus, max(lane.slots for lane in left.values()))
        position, vm = self._planned.get(name, (UNFORESEEN, ""))
        if vm not in left or left[vm].slots < cpus:
            fits = [vm for vm, lane in left.items() if lane.slots >= cpus]
            vm = min(fits, key=lambda vm: left[vm].load)
        heapq.heappush(self._lanes[vm].waiting, (position, activation, cpus))
        return vm

    def put_on_master(self, activation: int) -> str:
        heapq.heappush(self._master.waiting, (UNFORESEEN, activation, 1))
        return MASTER

    def withdraw(self, vm: str, activation: int) -> None:
        """It waits no longer. Taken out of the heap when its turn comes."""
        self._lane(vm).withdrawn.add(activation)

    def take(self, vm: str) -> Iterator[int]:
        """What the VM can start now, strictly in plan order, until its slots are full."""
        lane = self._lane(vm)
        while lane.joined and lane.waiting:
            _, activation, cpus = lane.waiting[0]
            if activation in lane.withdrawn:
                heapq.heappop(lane.waiting)
                lane.withdrawn.discard(activation)
            elif cpus <= lane.free:
                heapq.heappop(lane.waiting)
                lane.running[activation] = cpus
                yield activation
            else:
                return

    def release(self, vm: str, activation: int) -> None:
        self._lane(vm).running.pop(activation, None)

    def _lane(self, vm: str) -> _Lane:
        return self._master if vm == MASTER else self._lanes[vm]

    def _all(self) -> Iterator[tuple[str, _Lane]]:
        yield from self._lanes.items()
        yield MASTER, self._master

    def waiting(self) -> dict[str, set[int]]:
        return {vm: {id for _, id, _ in lane.waiting} - lane.withdrawn for vm, lane in self._all()}

    def running(self) -> dict[str, set[int]]:
        return {vm: set(lane.running) for vm, lane in self._all()}

    def check(self) -> None:
        for vm, lane in self._all():
            assert lane.free >= 0, f"{vm} is over-committed"
            assert lane.joined or not lane.running, f"{vm} runs work before it joined"
