"""What becomes of an activation when an attempt of it ends: a result, another attempt, or neither.

At most two attempts of one activation run at a time: a straggler and its double. The first result
wins; the other attempt is cancelled, and whatever it says afterwards is fenced off.
"""

from __future__ import annotations

from msgspec.structs import replace

from scicore.execution.activations import Activations
from scicore.execution.allotment import Allotment
from scicore.execution.causes import RETRY, Where
from scicore.execution.dispatch import MASTER, Dispatcher
from scicore.execution.lanes import Work
from scicore.execution.ledger import FINISHED, RUNNING, Entry, Live
from scicore.execution.messages import AttemptEnded, Cancel, Claim, VmChanged
from scicore.execution.reliability import Reliability
from scicore.execution.stragglers import Stragglers
from scicore.model.activation import Cause
from scicore.model.workflow import Workflow


class Attempts:
    def __init__(
        self,
        workflow: Workflow,
        activations: Activations,
        dispatcher: Dispatcher,
        strict: bool,
        slack_s: float = 0.0,
        allotment: Allotment | None = None,
    ) -> None:
        self._activations = activations
        self._dispatcher = dispatcher
        self._strict = strict
        self._allotment = allotment
        self._max_failures = workflow.max_attempts
        self._stragglers = Stragglers(slack_s) if workflow.redundancy else None
        self._reliability = Reliability(workflow.reliability) if workflow.reliability else None
        self.redundant = workflow.redundancy
        self._beaten: dict[tuple[int, int], Live] = {}  # cancelled because their double was faster

    # --- starting --------------------------------------------------------------------------------

    def started(self, entry: Entry, vm: str) -> None:
        if self._stragglers is not None and vm != MASTER:
            activation, at = entry.activation, self._activations.at
            self._stragglers.started(activation.activity, activation.id, entry.attempts, at)

    def double_stragglers(self) -> None:
        """A second attempt for what takes too long, where there is room for nothing better."""
        stragglers, at = self._stragglers, self._activations.at
        if stragglers is None:
            return
        for id, number in list(stragglers.due(at)):
            entry = self._activations.ledger[id]
            live = entry.attempt(number)
            alone = live is not None and len(entry.live) == 1
            if live is None or not alone or entry.state is not RUNNING or entry.cancelled:
                continue
            assert entry.work is not None
            vm = self._dispatcher.spare(entry.work, live.vm)
            if vm is None:
                stragglers.look_again(entry.activation.activity, id, number, at)
            else:
                self._dispatcher.double(entry.work, vm, at)
                self._activations.attempt(entry, vm, redundant=True)

    # --- ending ----------------------------------------------------------------------------------

    def ended(self, attempt: AttemptEnded) -> None:
        entry = self._activations.ledger[attempt.activation]
        live = entry.attempt(attempt.number)
        if live is None:
            return  # a superseded attempt: whatever it says no longer counts
        if attempt.cause is Cause.FINISHED:
            self._over(entry, live, attempt.ended_at - attempt.started_at)
        else:
            self._over(entry, live, None)
        if self._beaten and (attempt.activation, attempt.number) in self._beaten:
            del self._beaten[attempt.activation, attempt.number]
            fenced = replace(attempt, cause=Cause.CANCELLED, rows=(), files=())
            self._activations.out.append(fenced)
            return
        self._activations.out.append(attempt)
        if self._allotment is not None:
            self._learn(self._allotment, entry.activation.activity, attempt)
        if attempt.cause is Cause.FINISHED:
            self._win(entry, live, attempt)
        else:
            self._lose(entry, live, attempt.cause)

    def lost(self, work: Work, vm: str) -> None:
        """The VM is gone, and the attempt that ran there with it."""
        entry = self._activations.ledger[work.id]
        (live,) = [live for live in entry.live if live.vm == vm]
        self._die(entry, live)

    def hear_again(self, vm: str, claims: tuple[Claim, ...]) -> None:
        """A VM that was there before has another keeper: what that does not claim has died."""
        ledger = self._activations.ledger
        claimed = {(claim.activation, claim.number) for claim in claims}
        for id in sorted(self._dispatcher.running()[vm]):
            entry = ledger[id]
            for live in entry.live:
                if live.vm == vm and (id, live.number) not in claimed:
                    self._die(entry, live)
        for claim in claims:
            entry_or_none = ledger.find(claim.activation)
            known = entry_or_none is not None and entry_or_none.attempt(claim.number) is not None
            if claim.ended is not None and known:
                self.ended(claim.ended)
            elif claim.ended is None and not known:
                self._activations.out.append(Cancel(vm, claim.activation, claim.number))

    def _die(self, entry: Entry, live: Live) -> None:
        self._end(entry, live, Cause.LOST_VM)
        if self._beaten.pop((entry.activation.id, live.number), None) is None:
            self._go_on(entry, "lost vm")

    def cancel(self, entry: Entry, vm: str = "") -> None:
        """End those under way, of one VM or of all, unless they have been told."""
        for live in entry.live:
            told = (entry.activation.id, live.number) in self._beaten
            if vm in ("", live.vm) and not told:
                self._activations.out.append(Cancel(live.vm, entry.activation.id, live.number))

    def abandon(self) -> None:
        """The run is over: those that were beaten end with it."""
        for (id, _), live in self._beaten.items():
            self._end(self._activations.ledger[id], live, Cause.CANCELLED)
        self._beaten.clear()

    def _end(self, entry: Entry, live: Live, cause: Cause) -> None:
        """On our word, not on the slave's."""
        self._over(entry, live, None)
        self._activations.out.append(
            AttemptEnded(
                entry.activation.id, live.number, cause, live.started_at, self._activations.at
            )
        )

    def _over(self, entry: Entry, live: Live, took_s: float | None) -> None:
        """It holds no slot any more; `took_s` when it had a result."""
        entry.drop(live)
        assert entry.work is not None
        if not entry.runs_on(live.vm):
            self._dispatcher.release(live.vm, entry.work, took_s)
        if self._stragglers is not None:
            activity = entry.activation.activity
            self._stragglers.ended(activity, entry.activation.id, live.number, took_s)

    def _win(self, entry: Entry, live: Live, attempt: AttemptEnded) -> None:
        for beaten in entry.live:
            self._beaten[entry.activation.id, beaten.number] = beaten
            cancel = Cancel(beaten.vm, entry.activation.id, beaten.number)
            self._activations.out.append(cancel)
        if self._reliability is not None:
            self._reliability.add(live.vm, entry.activation.activity, failed=False)
        self._activations.finish(entry, live, attempt)

    def _lose(self, entry: Entry, live: Live, cause: Cause) -> None:
        grown = cause is Cause.OUT_OF_MEMORY and self._has_more(entry)
        counts = RETRY[cause].counts and not grown
        entry.failures += counts
        if self._reliability is not None and counts:
            self._reliability.add(live.vm, entry.activation.activity, failed=True)
        if grown:  # any VM will do, also this one
            self._go_on(entry, "", cause)
        else:
            self._go_on(entry, "failed there", cause, live.vm)
        if counts:
            self._judge(live.vm)

    def _learn(self, allotment: Allotment, activity: str, attempt: AttemptEnded) -> None:
        if allotment.ended(activity, attempt):
            self._activations.size_again(activity)

    def _has_more(self, entry: Entry) -> bool:
        """The next attempt gets more memory than the one that died for lack of it."""
        work = entry.work
        if self._allotment is None or work is None or entry.live:
            return False  # its double has what it had
        if self._allotment.find(work.id) is None:
            return False
        more = self._allotment.again(entry.activation.activity, work.id)
        if more is not None:
            work.cpus, work.memory_mb = more.cpus, more.memory_mb
        return more is not None

    def _go_on(
        self, entry: Entry, because: str, cause: Cause = Cause.LOST_VM, vm: str = ""
    ) -> None:
        """An attempt brought no result: try again, if that is wanted and can help."""
        assert entry.work is not None
        if RETRY[cause].where is Where.ONLY_ELSEWHERE and not self._dispatcher.bar(entry.work, vm):
            entry.hopeless = True
        if entry.live:  # its double goes on
            self._activations.stands_at(entry, entry.live[0])
        elif entry.cancelled:
            self._activations.cancel(entry)
        elif entry.hopeless or entry.failures >= self._max_failures:
            self._activations.fail(entry)
        elif not vm:
            self._activations.make_ready(entry, because)
        elif self._leaves(cause):
            self._dispatcher.shun(entry.work, vm)
            self._activations.make_ready(entry, because)
        else:
            self._activations.make_ready(entry)

    def _leaves(self, cause: Cause) -> bool:
        """Whether another attempt should go to another VM."""
        rule = RETRY[cause]
        if rule.where is Where.ONLY_ELSEWHERE:
            return True
        doubtful = self._reliability is not None and rule.counts  # the program, or the VM?
        return not self._strict and (doubtful or rule.where is Where.RATHER_ELSEWHERE)

    def _judge(self, vm: str) -> None:
        """Start nothing more on a VM that fails too often; the last one is never given up."""
        if self._reliability is None or vm == MASTER or not self._dispatcher.spareable(vm):
            return
        why = self._reliability.verdict(vm)
        if why:
            self.spare(vm, why)

    def spare(self, vm: str, why: str) -> None:
        """Start nothing more there, if there are others; what runs may end."""
        if self._dispatcher.spareable(vm):
            at = self._activations.at
            self._activations.out.append(VmChanged(at, vm, "drained", "", why))
            self._activations.move_elsewhere(self._dispatcher.drain(vm), "drained")

    def check(self) -> None:
        for id, number in self._beaten:
            entry = self._activations.ledger[id]
            assert entry.state is FINISHED, f"{entry.activation.name} was beaten by nobody"
            assert entry.attempt(number), f"{entry.activation.name}: a beaten attempt is gone"
