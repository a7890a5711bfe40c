"""THE core: `Execution.handle(event) -> instructions and facts`.

It decides everything that happens in a run and does nothing itself. Time comes with the events,
so feeding it the same events again gives the same answers (see replay.py).
"""

from __future__ import annotations

from scicore.algebra.request import request_of
from scicore.execution.dispatch import Dispatcher
from scicore.execution.flow import Flow, Growth
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
)
from scicore.execution.messages import (
    ActivationCreated,
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    Cancel,
    Event,
    Fact,
    FileRecorded,
    Instruction,
    RunEnded,
    RunMoved,
    RunStarted,
    Start,
    Steered,
    SteeringHandled,
    Stop,
    StopRequested,
    TupleGenerated,
    VmChanged,
    VmJoined,
    VmLost,
    WorkRequested,
)
from scicore.execution.steering import Cancellation
from scicore.model.activation import Activation, ActivationState, Cause, RunState
from scicore.model.plan import Plan
from scicore.model.workflow import QUERIES, Workflow

Output = Instruction | Fact

NOT_THE_PROGRAMS_FAULT = frozenset({Cause.CANCELLED, Cause.LOST_VM})


class Execution:
    """One run of a workflow under a plan."""

    def __init__(self, workflow: Workflow, plan: Plan) -> None:
        self.ledger = Ledger()
        self._max_attempts = workflow.max_attempts
        self._activities = {activity.tag: activity for activity in workflow.activities}
        self._flow = Flow(workflow)
        self._dispatcher = Dispatcher(plan)
        self._state = RunState.PREPARED
        self._stopping = False
        self._cancellations: list[Cancellation] = []
        self._at = 0.0
        self._out: list[Output] = []

    @property
    def state(self) -> RunState:
        return self._state

    @property
    def ended(self) -> bool:
        return self._state not in (RunState.PREPARED, RunState.RUNNING, RunState.PAUSED)

    def handle(self, event: Event) -> list[Output]:
        """React to one event. The answer is complete: nothing is decided later."""
        self._at = event.at
        self._out = []
        match event:
            case RunStarted():
                self._state = RunState.RUNNING
                self._grow(self._flow.start())
            case VmJoined(vm=vm, host=host):
                self._join(vm, host)
            case WorkRequested(ended=ended):
                for attempt in ended:
                    self._attempt_ended(attempt)
            case VmLost(vm=vm):
                self._lose(vm)
            case StopRequested():
                self._stop()
            case Steered():
                self._out.append(SteeringHandled(self._at, event.number, self._steer(event)))
        self._dispatch()
        self._end_if_done()
        return self._out

    def check(self) -> None:
        """Raise if any invariant is broken. For tests: it looks at everything."""
        self.ledger.check(self._dispatcher.waiting(), self._dispatcher.running())
        self._dispatcher.check()

    # --- reactions ---------------------------------------------------------------------------

    def _join(self, vm: str, host: str) -> None:
        if self.ended:
            self._out.append(Stop(vm))
            return
        self._dispatcher.join(vm)
        self._out.append(VmChanged(self._at, vm, "joined", host))

    def _attempt_ended(self, attempt: AttemptEnded) -> None:
        entry = self.ledger[attempt.activation]
        if entry.state is not RUNNING or entry.attempts != attempt.number:
            return  # a superseded attempt: whatever it says no longer counts
        assert entry.vm is not None
        self._dispatcher.release(entry.vm, attempt.activation)
        self._out.append(attempt)
        if attempt.cause is Cause.FINISHED:
            self._move(entry, FINISHED)
            self._finish(entry.activation, attempt)
            return
        if entry.cancelled:
            self._move(entry, CANCELLED)
            self._grow(self._flow.cancelled(entry.activation))
            return
        if attempt.cause not in NOT_THE_PROGRAMS_FAULT:
            entry.failures += 1
        if entry.failures < self._max_attempts:
            self._make_ready(entry)
        else:
            self._move(entry, FAILED)
            self._grow(self._flow.failed(entry.activation))

    def _lose(self, vm: str) -> None:
        if self.ended:
            return  # it was told to leave
        waiting, running = self._dispatcher.lose(vm)
        self._out.append(VmChanged(self._at, vm, "lost", ""))
        for activation in running:
            entry = self.ledger[activation]
            self._out.append(
                AttemptEnded(activation, entry.attempts, Cause.LOST_VM, entry.started_at, self._at)
            )
            if entry.cancelled:
                self._move(entry, CANCELLED)
                self._grow(self._flow.cancelled(entry.activation))
            else:
                self._make_ready(entry)
        for activation in waiting:
            entry = self.ledger[activation]
            entry.vm = self._place(entry.activation)
            self._out.append(ActivationMoved(self._at, activation, READY, entry.vm))
        if not self._dispatcher.anyone_left:
            self._end(RunState.INTERRUPTED)

    def _stop(self) -> None:
        if self._stopping:
            return
        self._stopping = True
        for vm, activations in self._dispatcher.running().items():
            for activation in sorted(activations):
                self._out.append(Cancel(vm, activation, self.ledger[activation].attempts))

    def _steer(self, wish: Steered) -> str:
        """Do what the user wants; returns what became of it."""
        if self.ended or self._stopping:
            return "the run was over already"
        match wish.action:
            case "pause":
                self._change_state(RunState.PAUSED)
                return "paused: nothing new is started"
            case "resume":
                self._change_state(RunState.RUNNING)
                return "resumed"
            case "cancel" if not wish.activity and not wish.conditions:
                self._stop()
                return "the run is being stopped"
            case "cancel":
                cancellation = Cancellation(wish.activity, wish.conditions)
                self._cancellations.append(cancellation)
                return f"{self._cancel(cancellation)} activations cancelled so far"
            case _:
                return f"unknown action {wish.action!r}"

    def _change_state(self, state: RunState) -> None:
        if self._state is not state:
            self._state = state
            self._out.append(RunMoved(self._at, state))

    def _cancel(self, cancellation: Cancellation) -> int:
        """Those that are there; running ones are ended, and become cancelled when they have."""
        count = 0
        for entry in list(self.ledger.entries()):
            if entry.state not in (LOCKED, READY, RUNNING) or entry.cancelled:
                continue
            if not cancellation.covers(
                self._activities[entry.activation.activity], entry.activation
            ):
                continue
            count += 1
            entry.cancelled = True
            if entry.state is RUNNING:
                assert entry.vm is not None
                self._out.append(Cancel(entry.vm, entry.activation.id, entry.attempts))
                continue
            if entry.state is READY:
                assert entry.vm is not None
                self._dispatcher.withdraw(entry.vm, entry.activation.id)
            self._move(entry, CANCELLED)
            self._grow(self._flow.cancelled(entry.activation))
        return count

    # --- steps ---------------------------------------------------------------------------------

    def _finish(self, activation: Activation, attempt: AttemptEnded) -> None:
        growth = self._flow.finished(activation, attempt.rows)
        ids = [data.id for data, _ in growth.tuples]  # one per row, in the same order
        self._grow(growth)
        for file in attempt.files:
            self._out.append(
                FileRecorded(ids[file.row], file.field, file.path, file.size_bytes, file.sha256)
            )

    def _grow(self, growth: Growth) -> None:
        for data, maker in growth.tuples:
            self._out.append(TupleGenerated(data.id, data.relation, data.path, data.row, maker))
        for activation in growth.ready:
            self._create(activation, READY)
        for activation in growth.locked:
            self._create(activation, LOCKED)
        for activation, cause in growth.blocked:
            entry = self.ledger.create(activation)
            self.ledger.move(entry, BLOCKED)
            self._record_created(entry, blocked_by=cause)
        for id in growth.unlocked:
            if not self.ledger[id].cancelled:
                self._make_ready(self.ledger[id])
        for id, cause in growth.blocked_later:
            self.ledger.move(self.ledger[id], BLOCKED)
            self._out.append(ActivationMoved(self._at, id, BLOCKED, None, blocked_by=cause))
        for id in growth.cancelled_later:
            self.ledger[id].cancelled = True
            self._move(self.ledger[id], CANCELLED)

    def _create(self, activation: Activation, state: ActivationState) -> None:
        """A new activation, unless the user has said before that such ones are not wanted."""
        entry = self.ledger.create(activation)
        activity = self._activities[activation.activity]
        if any(wish.covers(activity, activation) for wish in self._cancellations):
            entry.cancelled = True
            self.ledger.move(entry, CANCELLED)
            self._record_created(entry, blocked_by=None)
            self._grow(self._flow.cancelled(activation))
            return
        if state is READY:
            self.ledger.move(entry, READY)
            entry.vm = self._place(activation)
        self._record_created(entry, blocked_by=None)

    def _place(self, activation: Activation) -> str:
        """Queries run in the database, on the master's word; everything else on a VM."""
        activity = self._activities[activation.activity]
        if activity.operator in QUERIES:
            return self._dispatcher.put_on_master(activation.id)
        cpus = 1
        if activity.cpus != "1":
            values = activity.input.as_mapping(activation.inputs[0].row)
            cpus = request_of(activity, values).cpus
        return self._dispatcher.put(activation.id, activation.name, cpus)

    def _record_created(self, entry: Entry, blocked_by: int | None) -> None:
        activation = entry.activation
        self._out.append(
            ActivationCreated(
                at=self._at,
                id=activation.id,
                activity=activation.activity,
                name=activation.name,
                key=activation.key,
                state=entry.state,
                used=tuple(data.id for data in activation.inputs),
                vm=entry.vm,
                planned=self._dispatcher.foresees(activation.name),
                blocked_by=blocked_by,
            )
        )

    def _make_ready(self, entry: Entry) -> None:
        self.ledger.move(entry, READY)
        entry.vm = self._place(entry.activation)
        self._out.append(ActivationMoved(self._at, entry.activation.id, READY, entry.vm))

    def _move(self, entry: Entry, state: ActivationState) -> None:
        self.ledger.move(entry, state)
        self._out.append(ActivationMoved(self._at, entry.activation.id, state, entry.vm))

    def _dispatch(self) -> None:
        if self._stopping or self._state is not RunState.RUNNING:
            return
        for vm in self._dispatcher.vms:
            for activation in self._dispatcher.take(vm):
                self._start(self.ledger[activation], vm)

    def _start(self, entry: Entry, vm: str) -> None:
        self.ledger.move(entry, RUNNING)
        entry.attempts += 1
        entry.started_at = self._at
        activation = entry.activation
        self._out.append(
            Start(
                vm=vm,
                activation=activation.id,
                number=entry.attempts,
                activity=activation.activity,
                workspace=_workspace(activation, entry.attempts),
                rows=tuple(data.row for data in activation.inputs),
            )
        )
        self._out.append(AttemptStarted(self._at, activation.id, entry.attempts, vm))

    def _end_if_done(self) -> None:
        if self.ended:
            return
        if self._stopping and not self.ledger.counts[RUNNING]:
            self._end(RunState.STOPPED)
        elif self._state is not RunState.PREPARED and self._flow.done:
            bad = self.ledger.counts[FAILED] + self.ledger.counts[BLOCKED]
            self._end(RunState.FAILED if bad else RunState.FINISHED)

    def _end(self, state: RunState) -> None:
        """VMs that are there are told to leave; one that joins later is told then."""
        self._state = state
        present = self._dispatcher.present()
        self._out.extend(VmChanged(self._at, vm, "left", "") for vm in present)
        self._out.append(RunEnded(self._at, state))
        self._out.extend(Stop(vm) for vm in present)


def _workspace(activation: Activation, number: int) -> str:
    """Relative to the run's directory; a retry never sees what an earlier attempt left behind."""
    place = ".".join(map(str, activation.path))
    retry = f"-attempt-{number}" if number > 1 else ""
    return f"{activation.activity}/{place}{retry}"
