"""THE core: `Execution.handle(event) -> instructions and facts`.

It decides everything that happens in a run and does nothing itself. Time comes with the events,
so feeding it the same events again gives the same answers (see replay.py).
"""

from __future__ import annotations

from scicore.execution.dispatch import Dispatcher
from scicore.execution.flow import Flow, Growth
from scicore.execution.ledger import BLOCKED, FAILED, FINISHED, READY, RUNNING, Entry, Ledger
from scicore.execution.messages import (
    ActivationCreated,
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    Cancel,
    Event,
    Fact,
    Instruction,
    RunEnded,
    RunStarted,
    Start,
    Stop,
    StopRequested,
    TupleGenerated,
    VmChanged,
    VmJoined,
    VmLost,
    WorkRequested,
)
from scicore.model.activation import Activation, ActivationState, Cause, RunState
from scicore.model.plan import Plan
from scicore.model.workflow import Workflow

Output = Instruction | Fact

NOT_THE_PROGRAMS_FAULT = frozenset({Cause.CANCELLED, Cause.LOST_VM})


class Execution:
    """One run of a workflow under a plan."""

    def __init__(self, workflow: Workflow, plan: Plan) -> None:
        self.ledger = Ledger()
        self._max_attempts = workflow.max_attempts
        self._flow = Flow(workflow)
        self._dispatcher = Dispatcher(plan)
        self._state = RunState.PREPARED
        self._stopping = False
        self._at = 0.0
        self._out: list[Output] = []

    @property
    def state(self) -> RunState:
        return self._state

    @property
    def ended(self) -> bool:
        return self._state not in (RunState.PREPARED, RunState.RUNNING)

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
            self._grow(self._flow.finished(entry.activation, attempt.rows))
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
                AttemptEnded(
                    activation, entry.attempts, Cause.LOST_VM, entry.started_at, self._at
                )
            )
            self._make_ready(entry)
        for activation in waiting:
            entry = self.ledger[activation]
            entry.vm = self._dispatcher.put(activation, entry.activation.name)
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

    # --- steps ---------------------------------------------------------------------------------

    def _grow(self, growth: Growth) -> None:
        for data, maker in growth.tuples:
            self._out.append(TupleGenerated(data.id, data.relation, data.path, data.row, maker))
        for activation in growth.ready:
            entry = self.ledger.create(activation)
            self.ledger.move(entry, READY)
            entry.vm = self._dispatcher.put(activation.id, activation.name)
            self._record_created(entry, blocked_by=None)
        for activation, cause in growth.blocked:
            entry = self.ledger.create(activation)
            self.ledger.move(entry, BLOCKED)
            self._record_created(entry, blocked_by=cause)

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
        entry.vm = self._dispatcher.put(entry.activation.id, entry.activation.name)
        self._out.append(ActivationMoved(self._at, entry.activation.id, READY, entry.vm))

    def _move(self, entry: Entry, state: ActivationState) -> None:
        self.ledger.move(entry, state)
        self._out.append(ActivationMoved(self._at, entry.activation.id, state, entry.vm))

    def _dispatch(self) -> None:
        if self._stopping or self.ended:
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
        elif self._state is RunState.RUNNING and self._flow.done:
            bad = self.ledger.counts[FAILED] + self.ledger.counts[BLOCKED]
            self._end(RunState.FAILED if bad else RunState.FINISHED)

    def _end(self, state: RunState) -> None:
        """VMs that are there are told to leave; one that joins later is told then."""
        self._state = state
        self._out.append(RunEnded(self._at, state))
        self._out.extend(Stop(vm) for vm in self._dispatcher.present())


def _workspace(activation: Activation, number: int) -> str:
    """Relative to the run's directory; a retry never sees what an earlier attempt left behind."""
    place = ".".join(map(str, activation.path))
    retry = f"-attempt-{number}" if number > 1 else ""
    return f"{activation.activity}/{place}{retry}"
