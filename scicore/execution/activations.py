"""The activations of a run: created as tuples appear, placed, started, ended; every step is told.

What an attempt's end means for its activation is decided in attempts.py.
"""

from __future__ import annotations

from typing import Protocol

from scicore.algebra.request import request_of
from scicore.execution.allotment import Allotment
from scicore.execution.dispatch import Dispatcher
from scicore.execution.flow import Flow, Growth
from scicore.execution.lanes import Work
from scicore.execution.ledger import (
    BLOCKED,
    CANCELLED,
    FAILED,
    FINISHED,
    LOCKED,
    READY,
    RUNNING,
    Entry,
    Ledger,
    Live,
)
from scicore.execution.messages import (
    ActivationCreated,
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    Fact,
    FileRecorded,
    Instruction,
    Start,
    TupleGenerated,
    TuplesUsed,
)
from scicore.execution.steering import Cancellation
from scicore.model.activation import Activation, ActivationState
from scicore.model.workflow import QUERIES, Workflow

Output = Instruction | Fact


class Before(Protocol):
    """What is known of a run that is taken up again; True: there is nothing new about it."""

    def created(self, entry: Entry, state: ActivationState) -> bool: ...

    def unlocked(self, entry: Entry, tuples: tuple[int, ...]) -> bool: ...


class Activations:
    def __init__(
        self, workflow: Workflow, dispatcher: Dispatcher, allotment: Allotment | None = None
    ) -> None:
        self.ledger = Ledger()
        self.at = 0.0  # of the event that is being handled
        self.out: list[Output] = []  # the answer to it, so far
        self._dispatcher = dispatcher
        self._allotment = allotment  # None: everything gets what it declares
        self._activities = {activity.tag: activity for activity in workflow.activities}
        self._warm = {activity.tag for activity in workflow.activities if activity.warm}
        self.flow = Flow(workflow)
        self.cancellations: list[Cancellation] = []
        self.before: Before | None = None  # while a run is being taken up again
        self.known_tuples = 0  # ids up to this one are in the database already

    # --- appearing -------------------------------------------------------------------------------

    def begin(self) -> None:
        self.grow(self.flow.start())

    def grow(self, growth: Growth) -> None:
        for data, maker in growth.tuples:
            if data.id <= self.known_tuples:
                continue
            self.out.append(TupleGenerated(data.id, data.relation, data.path, data.row, maker))
        for activation in growth.ready:
            self._create(activation, READY)
        for activation in growth.locked:
            self._create(activation, LOCKED)
        for activation, cause in growth.blocked:
            entry = self.ledger.create(activation)
            self.ledger.move(entry, BLOCKED)
            if self.before is None or not self.before.created(entry, BLOCKED):
                self.record_created(entry, activation.name, blocked_by=cause)
        for id, tuples in growth.unlocked:
            entry = self.ledger[id]
            if self.before is not None and self.before.unlocked(entry, tuples):
                continue
            self.out.append(TuplesUsed(id, tuples))
            if not entry.cancelled:
                self.make_ready(entry)
        for id, cause in growth.blocked_later:
            entry = self.ledger[id]
            self.ledger.move(entry, BLOCKED)
            self.out.append(ActivationMoved(self.at, id, BLOCKED, None, blocked_by=cause))
            self._dispatcher.gone(entry.activation.name)
        for id in growth.cancelled_later:
            self.ledger[id].cancelled = True
            self._move(self.ledger[id], CANCELLED)
        for activity in growth.fed:
            self._dispatcher.fed(activity)

    def _create(self, activation: Activation, state: ActivationState) -> None:
        """A new activation, unless the user has said before that such ones are not wanted."""
        entry = self.ledger.create(activation)
        if self.before is None or not self.before.created(entry, state):
            self.appear(entry, state)

    def appear(self, entry: Entry, state: ActivationState) -> None:
        """Nobody has seen it before."""
        activation = entry.activation
        name = activation.name
        if self.cancellations and self._unwanted(activation):
            entry.cancelled = True
            self.ledger.move(entry, CANCELLED)
            self.record_created(entry, name, blocked_by=None)
            self.grow(self.flow.cancelled(activation))
            return
        if state is READY:
            self.ledger.move(entry, READY)
            self.place(entry, name)
        self.record_created(entry, name, blocked_by=None)

    def _unwanted(self, activation: Activation) -> bool:
        activity = self._activities[activation.activity]
        return any(wish.covers(activity, activation) for wish in self.cancellations)

    def record_created(self, entry: Entry, name: str, blocked_by: int | None) -> None:
        activation, state = entry.activation, entry.state
        planned = self._dispatcher.created(name)
        if state is not READY and state is not LOCKED:
            self._dispatcher.gone(name)
        self.out.append(
            ActivationCreated(
                self.at,
                activation.id,
                activation.activity,
                name,
                activation.rows,
                state,
                used=tuple([data.id for data in activation.inputs]),
                vm=entry.vm,
                planned=planned is not None,
                blocked_by=blocked_by,
                position=None if planned is None else planned[0],
                planned_vm=None if planned is None else planned[1],
                moved_because=entry.moved_because,
            )
        )

    # --- waiting ---------------------------------------------------------------------------------

    def make_ready(self, entry: Entry, because: str = "") -> None:
        """For the first time, or again; then `because` says why not where it was."""
        self.ledger.move(entry, READY)
        self.place(entry, entry.activation.name, because)
        self.tell_moved(entry)

    def move_elsewhere(self, waiting: list[Work], because: str) -> None:
        for work in waiting:
            entry = self.ledger[work.id]
            entry.vm, entry.moved_because = self._dispatcher.put(work, self.at, because)
            self.tell_moved(entry)

    def place(self, entry: Entry, name: str, because: str = "") -> None:
        """Queries run in the database, on the master's word; everything else on a VM."""
        work = entry.work
        if work is None:
            work = entry.work = self.work(entry.activation, name)
        if self._activities[work.activity].operator in QUERIES:
            entry.vm, entry.moved_because = self._dispatcher.put_on_master(work)
        else:
            entry.vm, entry.moved_because = self._dispatcher.put(work, self.at, because)

    def work(self, activation: Activation, name: str) -> Work:
        activity = self._activities[activation.activity]
        modest = activity.cpus == "1" and activity.memory_mb == "0"
        warm = activity.tag in self._warm
        if self._allotment is not None and not warm and activity.operator not in QUERIES:
            given = self._allotment.first(activity, activation, name)
            return self._dispatcher.work(
                activation.id, name, activity.tag, given.cpus, given.memory_mb
            )
        if modest or activity.operator in QUERIES:
            return self._dispatcher.work(activation.id, name, activity.tag, warm=warm)
        asked = request_of(activity, activity.input.as_mapping(activation.inputs[0].row))
        return self._dispatcher.work(
            activation.id, name, activity.tag, asked.cpus, asked.memory_mb, warm=warm
        )

    def size_again(self, activity: str) -> None:
        """There is more to learn from than when those that wait got ready."""
        assert self._allotment is not None
        for entry in self.ledger.entries():
            work = entry.work
            if entry.state is not READY or work is None or work.activity != activity:
                continue
            if entry.attempts == 0:
                name = entry.activation.name
                new = self._allotment.first(self._activities[activity], entry.activation, name)
                self._dispatcher.resize(work, new.cpus, new.memory_mb)

    def tell_moved(self, entry: Entry) -> None:
        """Its state and VM, and why it is that VM."""
        id, because = entry.activation.id, entry.moved_because
        self.out.append(ActivationMoved(self.at, id, entry.state, entry.vm, moved_because=because))

    # --- running ---------------------------------------------------------------------------------

    def start(self, work: Work, vm: str, moved: str | None) -> Entry:
        """Its next attempt; `moved` says why not on the VM that it waited for, if it is another."""
        entry = self.ledger[work.id]
        if moved is not None:
            entry.vm, entry.moved_because = vm, moved
            self.tell_moved(entry)
        self.ledger.move(entry, RUNNING)
        self.attempt(entry, vm)
        return entry

    def attempt(self, entry: Entry, vm: str, redundant: bool = False) -> None:
        entry.attempts = number = entry.attempts + 1
        entry.live += (Live(number, vm, self.at),)
        activation = entry.activation
        rows = activation.rows
        workspace = _workspace(activation, number)
        cpus = 1 if entry.work is None else entry.work.cpus
        id, activity = activation.id, activation.activity
        given = None if self._allotment is None else self._allotment.find(id)
        if given is None:
            self.out.append(Start(vm, id, number, activity, workspace, rows, cpus))
            self.out.append(AttemptStarted(self.at, id, number, vm, redundant, cpus))
            return
        mb = given.allocation.memory_mb
        self.out.append(Start(vm, id, number, activity, workspace, rows, cpus, True, mb))
        self.out.append(AttemptStarted(self.at, id, number, vm, redundant, cpus, given.grant))

    def stands_at(self, entry: Entry, live: Live) -> None:
        """The activation is where this attempt of it is: its double."""
        assert entry.work is not None
        entry.vm = live.vm
        entry.moved_because = "" if live.vm == entry.work.planned_vm else "straggler"

    # --- ending ----------------------------------------------------------------------------------

    def finish(self, entry: Entry, live: Live, attempt: AttemptEnded) -> None:
        """With the result of this attempt."""
        if entry.vm == live.vm:
            self._move(entry, FINISHED)
        else:
            self.stands_at(entry, live)
            self.ledger.move(entry, FINISHED)
            self.tell_moved(entry)
        if not entry.live:
            entry.work = None  # a million of them would be remembered for nothing
        growth = self.flow.finished(entry.activation, attempt.rows)
        if self._allotment is not None:
            self._measure(growth, attempt)
        self.grow(growth)
        for file in attempt.files:
            data, _ = growth.tuples[file.row]  # one per row, in the same order
            self.out.append(
                FileRecorded(data.id, file.field, file.path, file.size_bytes, file.sha256)
            )

    def _measure(self, growth: Growth, attempt: AttemptEnded) -> None:
        """How large the files are that come of it, before who reads them is sized."""
        assert self._allotment is not None
        self._allotment.forget((attempt.activation,))
        for file in attempt.files:
            self._allotment.made(growth.tuples[file.row][0].id, file)

    def fail(self, entry: Entry) -> None:
        self._move(entry, FAILED)
        self.grow(self.flow.failed(entry.activation))

    def cancel(self, entry: Entry) -> None:
        self._move(entry, CANCELLED)
        self.grow(self.flow.cancelled(entry.activation))

    def cancel_all(self, wish: Cancellation) -> tuple[int, list[Entry]]:
        """Those that the wish covers, now and from now on: how many there are, and which of them
        run and must be ended first."""
        self.cancellations.append(wish)
        covered = [
            entry
            for entry in self.ledger.entries()
            if entry.state in (LOCKED, READY, RUNNING)
            and not entry.cancelled
            and wish.covers(self._activities[entry.activation.activity], entry.activation)
        ]
        count, running = 0, []
        for entry in covered:
            if entry.cancelled:
                continue  # meanwhile, because it waited for another one of them
            count += 1
            entry.cancelled = True
            if entry.state is RUNNING:
                running.append(entry)
                continue
            if entry.state is READY:
                assert entry.work is not None
                self._dispatcher.withdraw(entry.work)
            self.cancel(entry)
        return count, running

    def _move(self, entry: Entry, state: ActivationState) -> None:
        self.ledger.move(entry, state)
        self.out.append(ActivationMoved(self.at, entry.activation.id, state, entry.vm))
        if state is not FINISHED:
            self._dispatcher.gone(entry.activation.name)


def _workspace(activation: Activation, number: int) -> str:
    """Relative to the run's directory; a retry never sees what an earlier attempt left behind."""
    path = activation.path
    place = str(path[0]) if len(path) == 1 else ".".join(map(str, path))
    retry = f"-attempt-{number}" if number > 1 else ""
    return f"{activation.activity}/{place}{retry}"
