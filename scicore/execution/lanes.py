"""VMs as the dispatcher sees them: their slots and memory, what waits for them, what they run.

Only bookkeeping; who takes what is decided in strict.py, adaptive.py and dynamic.py.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from scicore.model.cloud import VmType

UNFORESEEN = 1 << 62  # position of what is not in the plan: after everything that is


BRIEF_S = 0.025  # attempts that take longer do not wait on a VM: another one may get free first
AHEAD_S = 0.06  # of brief ones, work for so long may wait on a VM
AHEAD_SHARE = 0.1  # or this part of what there is for it to do …
MOST_AHEAD_S = 0.15  # … but no more than this
MOST_AHEAD = 128  # attempts that may wait on a VM …
FEW_AHEAD = 4  # … and, per slot, when no more than these are left: another VM may get free first
UNKNOWN_S = 2 * BRIEF_S  # one or two brief ones are not enough
SHORTEST_S = 0.001
# Warm processes take activations by the chunk, and each in next to no time.
MOST_AHEAD_WARM = 2048
SHORTEST_WARM_S = 0.0001


class Work:
    """An activation as a dispatcher knows it, from when it is ready until it has ended."""

    __slots__ = (
        "activity",
        "barred",
        "cpus",
        "est_s",
        "id",
        "lane",
        "memory_mb",
        "planned_vm",
        "position",
        "shunned",
        "start_s",
        "unit_s",
        "warm",
    )

    def __init__(self, id: int, activity: str, cpus: int = 1, memory_mb: int = 0) -> None:
        self.id = id
        self.activity = activity
        self.cpus = cpus
        self.memory_mb = memory_mb
        self.barred: tuple[str, ...] = ()  # VMs on which it cannot run
        self.shunned: tuple[str, ...] = ()  # VMs on which it failed: rather any other
        self.position = UNFORESEEN
        self.planned_vm = ""  # empty = unforeseen
        self.start_s = 0.0  # planned, from the start of the run
        self.unit_s = 0.0  # runtime that the plan expects, on a VM of speed 1; 0 = not known
        self.warm = False  # a process that is there already does it
        self.lane: Lane | None = None  # where it waits; None while it runs, or waits in no lane
        self.est_s = 0.0  # what it adds to the backlog of that lane


class Lane:
    """One VM: what it has, what it runs, what waits for it in the order of the plan."""

    __slots__ = (
        "ahead",
        "backlog_s",
        "brief_s",
        "drained",
        "free",
        "free_mb",
        "heap",
        "index",
        "joined",
        "lost",
        "memory_mb",
        "queued",
        "running",
        "slots",
        "type",
        "vm",
    )

    def __init__(self, vm: str, type_: VmType, index: int) -> None:
        self.vm = vm
        self.type = type_
        self.index = index  # within the fleet
        self.slots = self.free = type_.slots
        self.memory_mb = self.free_mb = type_.memory_mb  # 0 = not known: anything fits
        self.joined = self.lost = self.drained = False
        self.running: dict[int, tuple[Work, float, float]] = {}  # with its start and expected end
        self.heap: list[tuple[int, int, Work]] = []  # may hold some that wait no longer
        self.queued = 0  # those that do
        self.backlog_s = 0.0  # their expected runtimes
        self.brief_s = UNKNOWN_S  # how long attempts took lately
        self.ahead = 0  # attempts that may be granted beyond the slots: they wait on the VM

    @property
    def takes(self) -> bool:
        """New work may be started here."""
        return self.joined and not self.drained

    @property
    def usable(self) -> bool:
        """Work may wait for it: it is there, or will be."""
        return not (self.lost or self.drained)

    @property
    def load(self) -> float:
        return (self.queued + len(self.running)) / self.slots

    def could_hold(self, work: Work) -> bool:
        """With nothing else on it."""
        if work.barred and self.vm in work.barred:
            return False
        return work.cpus <= self.slots and not (self.memory_mb and work.memory_mb > self.memory_mb)

    def suits(self, work: Work) -> bool:
        """It could hold it, and it has not failed here."""
        return self.vm not in work.shunned and self.could_hold(work)

    def has_room(self, work: Work) -> bool:
        """Right now. Who asks for more than the VM has gets all of it."""
        if work.cpus > self.free and self.free < self.slots:
            return False
        return not (self.memory_mb and min(work.memory_mb, self.memory_mb) > self.free_mb)

    def may_grant(self, work: Work) -> bool:
        """Now, or ahead of time, so that a slot need not wait for the way to the master and
        back. Only what asks for a single slot: who needs more would be overtaken."""
        if self.has_room(work):
            return True
        plain = work.cpus == 1 and not (self.memory_mb and work.memory_mb)
        ahead = self.ahead if work.warm else min(self.ahead, MOST_AHEAD)
        return plain and -ahead < self.free <= 0

    def took(self, seconds: float, expected_s: float = 0.0, *, warm: bool = False) -> None:
        """An attempt has ended: the shorter they are, the more are granted ahead. When the first
        of a VM is as brief as the plan expects (0: of nothing), that is taken to be so."""
        seconds = max(seconds, SHORTEST_WARM_S if warm else SHORTEST_S)
        if self.brief_s == UNKNOWN_S and 0 < expected_s < BRIEF_S:
            self.brief_s = max(seconds, expected_s)
        else:
            self.brief_s += 0.2 * (seconds - self.brief_s)
        if self.brief_s >= BRIEF_S:
            self.ahead = 0
            return
        most = MOST_AHEAD_WARM if warm else MOST_AHEAD
        plenty_s = AHEAD_SHARE * self.queued * self.brief_s / self.slots
        ahead_s = min(max(AHEAD_S, plenty_s), MOST_AHEAD_S)
        left = max(FEW_AHEAD * self.slots, self.queued)
        self.ahead = min(most, round(self.slots * ahead_s / self.brief_s), left)

    # --- waiting ---------------------------------------------------------------------------------

    def push(self, work: Work, est_s: float) -> None:
        work.lane, work.est_s = self, est_s
        self.queued += 1
        self.backlog_s += est_s
        heapq.heappush(self.heap, (work.position, work.id, work))

    def head(self) -> Work | None:
        """The first that waits."""
        heap = self.heap
        while heap:
            work = heap[0][2]
            if work.lane is self:
                return work
            heapq.heappop(heap)
        return None

    def last(self) -> Work | None:
        """One of the last that wait: cheap to find, and to take away."""
        heap = self.heap
        while heap:
            work = heap[-1][2]
            if work.lane is self:
                return work
            heap.pop()
        return None

    def remove(self, work: Work) -> None:
        """It waits here no longer; the heap forgets it when it comes across it."""
        work.lane = None
        self.queued -= 1
        self.backlog_s = self.backlog_s - work.est_s if self.queued else 0.0

    def waiting(self) -> list[Work]:
        """In the order of the plan."""
        return list(
            {work.id: work for _, _, work in sorted(self.heap) if work.lane is self}.values()
        )

    def evict(self) -> list[Work]:
        """Everything that waits, taken away."""
        waiting = self.waiting()
        for work in waiting:
            work.lane = None
        self.heap.clear()
        self.queued, self.backlog_s = 0, 0.0
        return waiting

    # --- running ---------------------------------------------------------------------------------

    def occupy(self, work: Work, now: float, est_s: float) -> None:
        self.running[work.id] = (work, now, now + est_s)
        self.free -= min(work.cpus, self.slots)
        self.free_mb -= min(work.memory_mb, self.memory_mb)

    def release(self, work: Work) -> None:
        del self.running[work.id]
        self.free += min(work.cpus, self.slots)
        self.free_mb += min(work.memory_mb, self.memory_mb)

    def free_at(self, work: Work, now: float) -> float:
        """When it is expected to have room, if nothing else took it."""
        if not self.joined:
            return float("inf")
        if self.has_room(work):
            return now
        # An attempt that takes longer than expected is assumed to take a fifth longer still.
        ends = sorted(
            (max(end, now + 0.2 * (end - start)), min(each.cpus, self.slots))
            for each, start, end in self.running.values()
        )
        free = self.free
        for end, cpus in ends:
            free += cpus
            if free >= min(work.cpus, self.slots):
                return end
        return ends[-1][0] if ends else now

    def lose(self) -> tuple[list[Work], list[Work]]:
        """What waited and what ran."""
        running = [self.running[id][0] for id in sorted(self.running)]
        self.joined, self.lost, self.drained = False, True, False
        self.running.clear()
        self.free, self.free_mb = self.slots, self.memory_mb
        return self.evict(), running

    def check(self) -> None:
        waiting = self.waiting()
        assert self.queued == len(waiting), f"{self.vm} counts {self.queued} of {len(waiting)}"
        works = [work for work, _, _ in self.running.values()]
        assert self.free == self.slots - sum(min(work.cpus, self.slots) for work in works)
        assert self.free >= -MOST_AHEAD_WARM, f"{self.vm} is over-committed"
        assert self.free >= 0 or self.brief_s != UNKNOWN_S, f"{self.vm} is over-committed"
        used_mb = sum(min(work.memory_mb, self.memory_mb) for work in works)
        assert self.free_mb == self.memory_mb - used_mb
        assert self.free_mb >= 0, f"{self.vm} is short of memory"
        assert self.joined or not self.running, f"{self.vm} runs work before it joined"


def untried(work: Work, lanes: list[Lane]) -> list[Lane]:
    """Those on which it has not failed; else all but the one on which it failed last."""
    if not work.shunned:
        return lanes
    new = [lane for lane in lanes if lane.vm not in work.shunned]
    return new or [lane for lane in lanes if lane.vm != work.shunned[-1]] or lanes


class Lanes:
    """All VMs of a run."""

    def __init__(self, vms: tuple[tuple[str, VmType], ...]) -> None:
        self.all = tuple(Lane(vm, type_, index) for index, (vm, type_) in enumerate(vms))
        self._named = {lane.vm: lane for lane in self.all}

    def __getitem__(self, vm: str) -> Lane:
        return self._named[vm]

    def __iter__(self) -> Iterator[Lane]:
        return iter(self.all)

    def find(self, vm: str) -> Lane | None:
        return self._named.get(vm)

    def fit(self, work: Work) -> list[Lane]:
        """Those that can hold it; if it asks for more than any has, the largest ones: waiting
        helps nobody."""
        lanes = self._open()
        fit = [lane for lane in lanes if lane.could_hold(work)]
        if fit:
            return fit
        widest = max(min(lane.slots, work.cpus) for lane in lanes)
        wide = [lane for lane in lanes if lane.slots >= widest]
        if any(not lane.memory_mb for lane in wide):
            return [lane for lane in wide if not lane.memory_mb]
        largest = max(min(lane.memory_mb, work.memory_mb) for lane in wide)
        return [lane for lane in wide if lane.memory_mb >= largest]

    def _open(self) -> list[Lane]:
        """Those that work can wait for; with none of them, those that may come back."""
        for choice in (
            [lane for lane in self.all if lane.usable],
            [lane for lane in self.all if not lane.lost],
        ):
            if choice:
                return choice
        return list(self.all)
