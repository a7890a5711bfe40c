"""A run that is taken up again: what the database knows, and what its VMs know besides.

The database lacks at most the latest facts. The VMs' keepers still have every result that is not
in it, and know what runs. Until all of them have told, nothing new is started: it might be under
way already.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from scicore.execution.activations import Activations
from scicore.execution.attempts import Attempts
from scicore.execution.dispatch import Dispatcher
from scicore.execution.ledger import (
    BLOCKED,
    CANCELLED,
    FAILED,
    FINISHED,
    LOCKED,
    READY,
    RUNNING,
    Entry,
    Live,
)
from scicore.execution.messages import (
    AttemptEnded,
    AttemptStarted,
    Cancel,
    Claim,
    Known,
    RunResumed,
    TuplesUsed,
)
from scicore.execution.steering import Cancellation
from scicore.model.activation import ActivationState, Cause


class Restoration:
    def __init__(
        self, activations: Activations, attempts: Attempts, dispatcher: Dispatcher
    ) -> None:
        self._activations = activations
        self._attempts = attempts
        self._dispatcher = dispatcher
        self._known: dict[int, Known] = {}
        self._awaited = set(dispatcher.vms)
        self._claims: dict[str, list[tuple[str, Claim]]] = {}  # by the activation's name
        self._limbo: list[tuple[Entry, Known]] = []  # may be running, or done, for all we know
        self._unrecorded: list[Entry] = []  # the database does not know them, but a VM may
        self._over: list[tuple[Entry, Known]] = []  # ended; what follows from it is to be grown

    def begin(self, books: RunResumed) -> None:
        """Grow the run again from what is known of it; facts that are known are not repeated."""
        activations, flow = self._activations, self._activations.flow
        activations.before = self
        activations.cancellations = [Cancellation(*wish) for wish in books.cancelled]
        activations.known_tuples = max((id for _, _, id in books.tuples), default=0)
        self._known = {known.id: known for known in books.activations}
        flow.ids.remember_tuples(books.tuples)
        flow.ids.remember_activations((known.name, known.id) for known in books.activations)
        activations.grow(flow.start())
        while self._over:
            entry, known = self._over.pop()
            if known.state is FINISHED:
                activations.grow(flow.finished(entry.activation, known.rows))
            elif known.state is FAILED:
                activations.grow(flow.failed(entry.activation))
            else:
                activations.grow(flow.cancelled(entry.activation))

    # --- what grows again ------------------------------------------------------------------------

    def created(self, entry: Entry, state: ActivationState) -> bool:
        """What is locked is looked at when it is not any more."""
        id, name = entry.activation.id, entry.activation.name
        if state is LOCKED:
            if id in self._known:
                self._dispatcher.created(name)
            return id in self._known
        known = self._known.pop(id, None)
        if known is not None:
            if state is BLOCKED:
                self._dispatcher.gone(name)
            else:
                self._recreate(entry, known)
            return True
        if self._awaited and state is READY:  # the master was killed before anything was recorded
            self._unrecorded.append(entry)
            return True
        return self._claimed(entry, name)

    def _claimed(self, entry: Entry, name: str) -> bool:
        """Whether a VM has it, though it was never recorded; then it is adopted."""
        if name not in self._claims:
            return False
        self._activations.ledger.move(entry, READY)
        self._activations.record_created(entry, name, blocked_by=None)
        self._take_from_vm(entry, name)
        return True

    def unlocked(self, entry: Entry, tuples: tuple[int, ...]) -> bool:
        known, name = self._known.pop(entry.activation.id, None), entry.activation.name
        if known is not None and known.state is not LOCKED:
            self._recreate(entry, known)
            return True
        if name not in self._claims:
            return False
        self._activations.out.append(TuplesUsed(entry.activation.id, tuples))
        self._activations.ledger.move(entry, READY)
        self._take_from_vm(entry, name)
        return True

    def _take_from_vm(self, entry: Entry, name: str) -> None:
        """Only its VM knows that it was started."""
        for attempt in self._adopt(entry, name, None):
            self._attempts.ended(attempt)

    def _recreate(self, entry: Entry, known: Known) -> None:
        """As it was. What may be under way waits until its VM has told."""
        entry.attempts, entry.failures, entry.vm = known.attempts, known.failures, known.vm
        self._dispatcher.created(known.name)
        if known.state in (FINISHED, FAILED, CANCELLED):
            entry.cancelled = known.state is CANCELLED
            self._activations.ledger.restore(entry, known.state)
            self._dispatcher.gone(known.name)
            self._over.append((entry, known))
        else:
            self._activations.ledger.restore(entry, READY)
            self._limbo.append((entry, known))

    # --- what the VMs know -----------------------------------------------------------------------

    def told(self, vm: str, claims: Iterable[Claim] = ()) -> bool:
        """A VM has said what it has, or will never say anything. True: it was the last one."""
        self._awaited.discard(vm)
        for claim in claims:
            self._claims.setdefault(claim.name, []).append((vm, claim))
        if self._awaited:
            return False
        self._reconcile()
        return True

    def _reconcile(self) -> None:
        """What is not under way is ready, what has ended is news."""
        ids = [(name, claims[0][1].activation) for name, claims in self._claims.items()]
        self._activations.flow.ids.remember_activations(ids)
        ended: list[AttemptEnded] = []
        for entry, known in self._limbo:
            ended += self._adopt(entry, known.name, known)
            if entry.state is READY:
                self._activations.place(entry, known.name)
                self._activations.tell_moved(entry)
        for attempt in ended:
            self._attempts.ended(attempt)
        for entry in self._unrecorded:
            if not self._claimed(entry, entry.activation.name):
                self._activations.appear(entry, READY)
        for claims in self._claims.values():  # of activations that do not exist
            for vm, claim in claims:
                self._refuse(vm, claim)
        self._activations.before = None

    def _adopt(self, entry: Entry, name: str, known: Known | None) -> list[AttemptEnded]:
        """Attempts that VMs have of it; those that have ended are still to be handled."""
        activations, at = self._activations, self._activations.at
        claims = sorted(self._claims.pop(name, ()), key=lambda each: each[1].number)
        recorded, live = (known.attempts, known.live) if known is not None else (0, ())
        claimed = {claim.number for _, claim in claims}
        id = entry.activation.id
        for number in live:
            if number not in claimed:  # it died with its keeper, or never came to be
                activations.out.append(AttemptEnded(id, number, Cause.LOST_VM, at, at))
        ended = []
        for vm, claim in claims:
            if claim.number <= recorded and claim.number not in live:
                self._refuse(vm, claim)  # recorded, or superseded
                continue
            entry.attempts = max(entry.attempts, claim.number)
            if entry.work is None:
                entry.work = activations.work(entry.activation, name)
            if not entry.runs_on(vm):  # as after an attempt that failed there, and was not recorded
                self._dispatcher.double(entry.work, vm, at)
            entry.live += (Live(claim.number, vm, at),)
            if entry.state is READY:
                activations.ledger.move(entry, RUNNING)
                entry.vm = vm
            if claim.number > recorded:
                activations.out.append(AttemptStarted(at, id, claim.number, vm))
            if claim.ended is not None:
                ended.append(replace(claim.ended, activation=id))
        return ended

    def _refuse(self, vm: str, claim: Claim) -> None:
        if claim.ended is None:
            self._activations.out.append(Cancel(vm, claim.activation, claim.number))
