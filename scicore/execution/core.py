"""THE core: `Execution.handle(event) -> instructions and facts`.

It decides everything that happens in a run and does nothing itself. Time comes with the events,
so feeding it the same events again gives the same answers (see replay.py).
"""

from __future__ import annotations

from scicore.execution.activations import Activations, Output
from scicore.execution.allotment import Allotment
from scicore.execution.attempts import Attempts
from scicore.execution.dispatch import Dispatcher
from scicore.execution.lanes import MOST_AHEAD_S
from scicore.execution.ledger import BLOCKED, FAILED, RUNNING, Ledger
from scicore.execution.limits import Limits, Meter
from scicore.execution.messages import (
    Claim,
    Event,
    LimitReached,
    RunEnded,
    RunMoved,
    RunResumed,
    RunStarted,
    Steered,
    SteeringHandled,
    Stop,
    StopRequested,
    Tick,
    VmChanged,
    VmJoined,
    VmLost,
    VmNoticed,
    WorkRequested,
)
from scicore.execution.restore import Restoration
from scicore.execution.steering import Cancellation
from scicore.model.activation import Dispatch, RunState
from scicore.model.plan import Plan
from scicore.model.workflow import Workflow

__all__ = ["TAKEN_BACK", "Execution", "Output"]

TAKEN_BACK = "taken back by the provider"  # so begins the reason in provenance


class Execution:
    """One run of a workflow under a plan."""

    def __init__(
        self,
        workflow: Workflow,
        plan: Plan,
        dispatch: Dispatch = Dispatch.ADAPTIVE,
        limits: Limits | None = None,
        *,
        ahead: bool = False,
        allotment: Allotment | None = None,
    ) -> None:
        """`limits`: others than the workflow's own, as for a run that is resumed. `ahead`: brief
        work is granted before there is a slot for it. `allotment`: attempts are sized."""
        self._dispatcher = Dispatcher(plan, dispatch, ahead=ahead)
        self._activations = Activations(workflow, self._dispatcher, allotment)
        strict = dispatch is Dispatch.STRICT
        slack_s = 2 * MOST_AHEAD_S if ahead else 0.0
        self._attempts = Attempts(
            workflow, self._activations, self._dispatcher, strict, slack_s, allotment
        )
        self._flow = self._activations.flow
        if limits is None:
            limits = Limits(workflow.max_time_s, workflow.max_cost_usd)
        self._has_limits = limits != Limits()
        self._meter = Meter(limits, plan.fleet)
        self._state = RunState.PREPARED
        self._ended = False
        self._stopping = False  # by the user: what runs is ended
        self._limited = False  # by a limit: what runs may end
        self._restoration: Restoration | None = None  # while a run is being taken up again
        self._at = 0.0
        self._out: list[Output] = []

    @property
    def ledger(self) -> Ledger:
        return self._activations.ledger

    @property
    def state(self) -> RunState:
        return self._state

    @property
    def ended(self) -> bool:
        return self._ended

    def handle(self, event: Event) -> list[Output]:
        """React to one event. The answer is complete: nothing is decided later."""
        self._at = self._activations.at = event.at
        self._out = self._activations.out = []
        match event:
            case WorkRequested(ended=ended):
                for attempt in ended:
                    self._attempts.ended(attempt)
            case RunStarted():
                self._state = RunState.RUNNING
                self._meter.start(self._at)
                self._dispatcher.begin(self._at)
                self._activations.begin()
            case RunResumed():
                self._resume(event)
            case VmJoined(vm=vm, host=host, claims=claims):
                self._join(vm, host, claims)
            case VmLost(vm=vm):
                self._lose(vm)
            case VmNoticed(vm=vm, told=told):
                self._attempts.spare(vm, f"{TAKEN_BACK}: {told}")
            case StopRequested():
                self._stop()
            case Steered():
                self._out.append(SteeringHandled(self._at, event.number, self._steer(event)))
        if not self._ended and self._restoration is None:
            if self._has_limits:
                self._look_at_limits()
            if self._state is RunState.RUNNING and not self._stopping and not self._limited:
                self._dispatch(tick=type(event) is Tick)
            self._end_if_done()
        return self._out

    def check(self) -> None:
        """Raise if any invariant is broken. For tests: it looks at everything."""
        self.ledger.check(self._dispatcher.waiting(), self._dispatcher.running())
        self._dispatcher.check()
        self._attempts.check()

    # --- VMs -------------------------------------------------------------------------------------

    def _resume(self, books: RunResumed) -> None:
        self._state = RunState.PAUSED if books.paused else RunState.RUNNING
        self._meter.start(self._at)
        self._dispatcher.begin(self._at)
        self._restoration = Restoration(self._activations, self._attempts, self._dispatcher)
        self._restoration.begin(books)

    def _join(self, vm: str, host: str, claims: tuple[Claim, ...]) -> None:
        if self._ended:
            self._out.append(Stop(vm))
            return
        self._dispatcher.join(vm)
        self._meter.join(vm, self._at)
        self._out.append(VmChanged(self._at, vm, "joined", host))
        if self._restoration is None:
            self._attempts.hear_again(vm, claims)
        else:
            self._told(vm, claims)

    def _told(self, vm: str, claims: tuple[Claim, ...] = ()) -> None:
        """When all VMs of a run that is taken up again have told, it goes on."""
        if self._restoration is None or not self._restoration.told(vm, claims):
            return
        self._restoration = None
        if self._stopping:  # the user's wish came in between
            self._stopping = False
            self._stop()

    def _lose(self, vm: str) -> None:
        if self._ended:
            return  # it was told to leave
        waiting, running = self._dispatcher.lose(vm)
        self._meter.leave(vm, self._at)
        self._out.append(VmChanged(self._at, vm, "lost", ""))
        self._told(vm)
        for work in running:
            self._attempts.lost(work, vm)
        self._activations.move_elsewhere(waiting, "lost vm")
        if not self._dispatcher.anyone_left:
            self._end(RunState.INTERRUPTED)
            return
        for back in self._dispatcher.undrain():
            self._out.append(VmChanged(self._at, back, "joined", "", "no other VM is left"))

    # --- the user --------------------------------------------------------------------------------

    def _stop(self) -> None:
        if self._stopping:
            return
        self._stopping = True
        for vm, activations in self._dispatcher.running().items():
            for activation in sorted(activations):
                self._attempts.cancel(self.ledger[activation], vm)

    def _steer(self, wish: Steered) -> str:
        """Do what the user wants; returns what became of it."""
        if self._ended or self._stopping:
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
                covered = Cancellation(wish.activity, wish.conditions)
                count, running = self._activations.cancel_all(covered)
                for entry in running:
                    self._attempts.cancel(entry)
                return f"{count} activations cancelled so far"
            case _:
                return f"unknown action {wish.action!r}"

    def _change_state(self, state: RunState) -> None:
        if self._state is not state:
            self._state = state
            self._out.append(RunMoved(self._at, state))

    # --- after every event -----------------------------------------------------------------------

    def _look_at_limits(self) -> None:
        if self._limited or self._stopping:
            return
        reason = self._meter.exceeded(self._at)
        if reason:
            self._limited = True
            self._out.append(LimitReached(self._at, reason))

    def _dispatch(self, tick: bool) -> None:
        start = self._activations.start
        for work, vm, moved in self._dispatcher.starts(self._at, tick):
            entry = start(work, vm, moved)
            if self._attempts.redundant:
                self._attempts.started(entry, vm)
        if self._attempts.redundant:
            self._attempts.double_stragglers()

    def _end_if_done(self) -> None:
        if self._stopping and not self.ledger.counts[RUNNING]:
            self._end(RunState.STOPPED)
        elif not self._flow.undone and self._state is not RunState.PREPARED:
            bad = self.ledger.counts[FAILED] + self.ledger.counts[BLOCKED]
            self._end(RunState.FAILED if bad else RunState.FINISHED)
        elif self._limited and not self.ledger.counts[RUNNING]:
            self._end(RunState.STOPPED)

    def _end(self, state: RunState) -> None:
        """VMs that are there are told to leave; one that joins later is told then."""
        self._state, self._ended = state, True
        self._attempts.abandon()
        present = self._dispatcher.present()
        self._out.extend(VmChanged(self._at, vm, "left", "") for vm in present)
        self._out.append(RunEnded(self._at, state))
        self._out.extend(Stop(vm) for vm in present)
