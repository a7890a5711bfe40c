"""Which VM an activation waits for, and who starts what next.

Nothing here looks at all activations, or at all VMs when nothing happened to them: only VMs that
were touched since (work came, a slot got free) are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from scicore.execution.adaptive import Balance
from scicore.execution.dynamic import SharedQueue
from scicore.execution.lanes import UNFORESEEN, Lane, Lanes, Work
from scicore.execution.pace import Pace
from scicore.execution.placing import Placing
from scicore.execution.policy import Policy
from scicore.execution.roster import Roster
from scicore.execution.strict import Agenda
from scicore.model.activation import Dispatch
from scicore.model.cloud import VmType
from scicore.model.plan import Plan

MASTER = "master"  # where queries run: no VM of the fleet, and always there
PAIRS = 16  # (idle, busy) pairs of VMs that are compared after one event
PAIRS_AT_TICK = 1024

Placed = tuple[
    str | None, str
]  # the VM (None: whoever has room), and why it is not the planned one
Started = tuple[Work, str, str | None]  # and why it moved there just now; None = it did not


class Dispatcher:
    def __init__(
        self, plan: Plan, mode: Dispatch = Dispatch.ADAPTIVE, *, ahead: bool = False
    ) -> None:
        self._ahead = ahead  # grant more than there are slots when attempts are brief
        self._lanes = Lanes(tuple((vm.id, vm.type) for vm in plan.fleet.vms))
        self._master = Lane(MASTER, VmType(MASTER, 1, 0, 1.0, 0.0), len(self._lanes.all))
        self._master.joined = True
        self._roster = Roster(plan)
        self._policy = Policy(plan)
        self._pace = Pace(len(self._lanes.all) + 1)  # the master has no pace, but a place
        self._balance = Balance(self._pace, plan.makespan_s)
        self._adaptive = adaptive = mode is Dispatch.ADAPTIVE
        self._placing = Placing(self._lanes, self._policy, self._pace, self._balance, adaptive)
        self._agenda = Agenda(plan, self._lanes) if mode is Dispatch.STRICT else None
        self._shared = SharedQueue(self._policy) if mode is Dispatch.DYNAMIC else None
        self._touched: set[int] = set()  # VMs to look at
        self._hungry: dict[int, Lane] = {}  # have free slots and nothing of their own to do
        self._behind: dict[int, Lane] = {}  # have more than they can start
        self._turn = 0  # so that over time every pair of VMs is compared
        self._active = 0  # attempts under way

    # --- the plan's view -------------------------------------------------------------------------

    def begin(self, now: float) -> None:
        self._balance.started_at = now

    def created(self, name: str) -> tuple[int, str] | None:
        """An activation exists, locked maybe; returns its position and VM if it is planned."""
        planned = self._roster.find(name)
        if planned is not None and self._agenda is not None:
            self._agenda.created(planned[0])
        return planned

    def gone(self, name: str) -> None:
        """An activation will never get ready."""
        planned = self._roster.find(name) if self._agenda is not None else None
        if planned is not None and self._agenda is not None:
            self._look_again(self._agenda.settle(planned[0]))

    def fed(self, activity: str) -> None:
        """All activations that the activity will ever have are there."""
        if self._agenda is not None:
            self._touched |= self._agenda.fed(activity)

    def _look_again(self, index: int) -> None:
        if index >= 0:
            self._touched.add(index)

    # --- VMs -------------------------------------------------------------------------------------

    @property
    def vms(self) -> tuple[str, ...]:
        return tuple(lane.vm for lane in self._lanes)

    def join(self, vm: str) -> None:
        lane = self._lanes[vm]
        lane.joined, lane.lost = True, False
        self._touched.add(lane.index)

    def lose(self, vm: str) -> tuple[list[Work], list[Work]]:
        """Take the VM out; return what waited for it and what ran on it."""
        lane = self._lanes[vm]
        self._active -= len(lane.running)
        self._touched.add(lane.index)
        return lane.lose()

    def drain(self, vm: str) -> list[Work]:
        """Start nothing there any more; return what waited for it."""
        lane = self._lanes[vm]
        lane.drained = True
        self._touched.add(lane.index)
        return lane.evict()

    def undrain(self) -> tuple[str, ...]:
        """When only drained VMs are left, they are better than none; returns which."""
        if any(lane.usable for lane in self._lanes):
            return ()
        back = [lane for lane in self._lanes if lane.drained and not lane.lost]
        for lane in back:
            lane.drained = False
            self._touched.add(lane.index)
        return tuple(lane.vm for lane in back)

    def present(self) -> tuple[str, ...]:
        return tuple(lane.vm for lane in self._lanes if lane.joined)

    def spareable(self, vm: str) -> bool:
        """The VM takes work, and is not the only one that does."""
        taking = [lane.vm for lane in self._lanes if lane.takes]
        return vm in taking and len(taking) > 1

    def bar(self, work: Work, vm: str) -> bool:
        """It cannot run there; returns whether there is another VM on which it may."""
        work.barred += (vm,)
        return any(lane.usable and lane.could_hold(work) for lane in self._lanes)

    def shun(self, work: Work, vm: str) -> None:
        """It failed there: rather another VM, as long as there is one."""
        work.shunned += (vm,)

    @property
    def anyone_left(self) -> bool:
        return any(not lane.lost for lane in self._lanes)

    # --- waiting ---------------------------------------------------------------------------------

    def work(
        self,
        id: int,
        name: str,
        activity: str,
        cpus: int = 1,
        memory_mb: int = 0,
        *,
        warm: bool = False,
    ) -> Work:
        work = Work(id, activity, cpus, memory_mb)
        work.warm = warm
        self._roster.fill_in(work, name)
        if self._shared is not None:
            work.position = UNFORESEEN  # the queue's order is that of arrival
        if not work.unit_s:
            work.unit_s = self._policy.unit_s(activity)
        return work

    def put(self, work: Work, now: float = 0.0, because: str = "") -> Placed:
        """Let the activation wait; with no VM left, for one to return. `because` is why it could
        not stay where it was."""
        if self._shared is not None:
            self._shared.push(work)
            return None, ""
        lane, why = self._placing.place(work, now, because)
        est_s = self._pace.expected_s(work, lane) if self._adaptive else work.unit_s
        lane.push(work, est_s)
        self._touched.add(lane.index)
        return lane.vm, why

    def put_on_master(self, work: Work) -> Placed:
        self._master.push(work, 0.0)
        self._touched.add(self._master.index)
        return MASTER, ""

    def withdraw(self, work: Work) -> None:
        """It waits no longer."""
        if work.lane is not None:
            self._touched.add(work.lane.index)
            work.lane.remove(work)
        elif self._shared is not None:
            self._shared.remove(work)

    def resize(self, work: Work, cpus: int, memory_mb: int) -> None:
        """What waits will get another size, unless the VM that it waits for has no room for it."""
        lane, before = work.lane, (work.cpus, work.memory_mb)
        work.cpus, work.memory_mb = cpus, memory_mb
        if lane is not None and not lane.could_hold(work):
            work.cpus, work.memory_mb = before
        elif lane is not None:
            self._touched.add(lane.index)
        elif self._shared is not None:
            self._shared.remove(work)
            self._shared.push(work)

    # --- starting --------------------------------------------------------------------------------

    def starts(self, now: float, tick: bool = False) -> list[Started]:
        """Everything that can start now."""
        started: list[Started] = []
        touched, all_lanes = self._touched, self._lanes.all
        while touched:
            index = min(touched) if len(touched) > 1 else next(iter(touched))
            touched.discard(index)
            if index == len(all_lanes):
                self._own(self._master, now, started)
            else:
                self._own(all_lanes[index], now, started)
                self._sort_in(all_lanes[index])
        if self._shared is not None:
            started.extend(self._from_shared(now))
        elif self._adaptive:
            if self._hungry and self._behind:
                started.extend(self._moves(now, PAIRS_AT_TICK if tick else PAIRS))
        elif not self._active:
            started.extend(self._force(now))
        return started

    def _own(self, lane: Lane, now: float, started: list[Started]) -> None:
        """What the VM can start of what waits for it."""
        agenda = self._agenda if lane is not self._master else None
        if not lane.takes:
            return
        while lane.free > -lane.ahead:
            work = lane.head()
            if work is None or not lane.may_grant(work):
                return
            if agenda is not None and not agenda.allows(lane, work):
                return
            lane.remove(work)
            self._occupy(lane, work, now, work.est_s)
            started.append((work, lane.vm, None))

    def _occupy(self, lane: Lane, work: Work, now: float, est_s: float) -> None:
        lane.occupy(work, now, est_s)
        self._active += 1
        if self._agenda is not None:
            waited = self._agenda.settle(work.position)
            if waited != lane.index:  # it was planned for another VM, which need not wait for it
                self._look_again(waited)

    def _sort_in(self, lane: Lane) -> None:
        """Among the hungry, among those that are behind, or neither."""
        index = lane.index
        if lane.queued:
            self._hungry.pop(index, None)
            self._behind[index] = lane
        else:
            self._behind.pop(index, None)
            if lane.free and lane.takes:
                self._hungry[index] = lane
            else:
                self._hungry.pop(index, None)

    def _from_shared(self, now: float) -> Iterator[Started]:
        shared = self._shared
        while shared is not None and shared.waiting:
            found = shared.next(list(self._hungry.values()), self._lanes)
            if found is None:
                return
            work, lane = found
            shared.remove(work)
            self._occupy(lane, work, now, work.unit_s)
            self._sort_in(lane)
            planned = "dynamic" if work.planned_vm else "unforeseen"
            yield work, lane.vm, "" if lane.vm == work.planned_vm else planned

    def _moves(self, now: float, pairs: int) -> Iterator[Started]:
        """Idle VMs take over what is expected to finish earlier with them."""
        for idle in self._by_turn(self._hungry):
            while pairs > 0 and idle.takes and idle.free > 0 and self._behind:
                best: tuple[float, Work] | None = None
                for busy in self._by_turn(self._behind)[:pairs]:
                    pairs -= 1
                    found = self._balance.worth_taking(idle, busy, now)
                    if found is not None and (best is None or found[0] > best[0]):
                        best = found
                if best is None:
                    break
                yield self._take_over(idle, best[1], now)

    def _take_over(self, idle: Lane, work: Work, now: float) -> Started:
        busy = work.lane
        assert busy is not None
        because = self._balance.because(busy)
        busy.remove(work)
        self._occupy(idle, work, now, self._pace.expected_s(work, idle))
        self._sort_in(busy)
        self._sort_in(idle)
        return work, idle.vm, "" if idle.vm == work.planned_vm else because

    def _by_turn(self, lanes: dict[int, Lane]) -> list[Lane]:
        self._turn += 1
        listed = list(lanes.values())
        first = self._turn % len(listed)
        return listed[first:] + listed[:first]

    def _force(self, now: float) -> Iterator[Started]:
        """Nothing runs, and every VM waits for something else: the first in the plan breaks the
        circle. Work for a VM that is yet to join is no circle."""
        waiting = [lane for lane in self._lanes if lane.queued]
        if not waiting or any(not lane.joined and not lane.lost for lane in waiting):
            return
        heads = [(work.position, work.id, lane) for lane in waiting if (work := lane.head())]
        ready = [head for head in heads if head[2].takes]
        if ready:
            lane = min(ready, key=lambda head: head[:2])[2]
            work = lane.head()
            assert work is not None
            lane.remove(work)
            self._occupy(lane, work, now, work.est_s)
            self._sort_in(lane)
            yield work, lane.vm, None

    # --- running ---------------------------------------------------------------------------------

    def release(self, vm: str, work: Work, took_s: float | None = None) -> None:
        """An attempt has ended; `took_s` if it tells how fast the VM is."""
        lane = self._master if vm == MASTER else self._lanes[vm]
        if work.id in lane.running:  # not if it was lost with its VM
            lane.release(work)
            self._active -= 1
        self._touched.add(lane.index)
        if took_s is not None and self._ahead and lane is not self._master:
            lane.took(took_s, work.unit_s / lane.type.speed, warm=work.warm)
        if took_s is not None and self._adaptive and lane is not self._master:
            self._pace.observe(work, lane, took_s)

    def spare(self, work: Work, busy: str) -> str | None:
        """Another VM with room for a second attempt, and nothing of its own that is ready."""
        lanes = [
            lane
            for lane in self._hungry.values()
            if lane.vm != busy and lane.suits(work) and lane.has_room(work)
        ]
        if not lanes:
            return None
        return min(lanes, key=lambda lane: (self._pace.expected_s(work, lane), lane.index)).vm

    def double(self, work: Work, vm: str, now: float) -> None:
        """A second attempt runs there."""
        lane = self._lanes[vm]
        self._occupy(lane, work, now, self._pace.expected_s(work, lane))
        self._sort_in(lane)

    # --- for tests -------------------------------------------------------------------------------

    def waiting(self) -> dict[str | None, set[int]]:
        lanes: dict[str | None, set[int]] = {
            lane.vm: {work.id for work in lane.waiting()} for lane in (*self._lanes, self._master)
        }
        return {**lanes, None: set(self._shared.waiting)} if self._shared else lanes

    def running(self) -> dict[str, set[int]]:
        return {lane.vm: set(lane.running) for lane in (*self._lanes, self._master)}

    def check(self) -> None:
        for lane in (*self._lanes, self._master):
            lane.check()
        assert self._active == sum(len(ids) for ids in self.running().values())
