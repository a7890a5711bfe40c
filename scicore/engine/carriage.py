"""A runner whose files come from the run's storage, and go back to it.

An order reaches the runner when its input files are on this VM; a result reaches the keeper when
its files are in the storage. So a result that anybody knows of can be read from everywhere, also
when this VM is lost.
"""

from __future__ import annotations

import select
import time

from msgspec.structs import replace

from scicore.engine import process
from scicore.engine.porter import Porter
from scicore.engine.runner import Runner
from scicore.engine.staging import StagingError, inside
from scicore.engine.wire import Welcome
from scicore.execution.messages import AttemptEnded, Start
from scicore.model.activation import Cause
from scicore.model.transfer import Delivery, Parcel, Transfer, Way
from scicore.model.workflow import FieldType

_Key = tuple[int, int]  # activation, number of the attempt


class Carriage:
    """To its keeper, a runner."""

    def __init__(self, runner: Runner, welcome: Welcome) -> None:
        self._runner = runner
        self._porter = Porter(welcome.porter, welcome.run_directory, process.program_environment())
        self._directories = {
            "WFDIR": welcome.workflow_directory,
            "EXPDIR": welcome.experiment_directory,
            "RUNDIR": welcome.run_directory,
        }
        self._file_fields = {
            activity.tag: [
                place
                for place, field in enumerate(activity.input.fields)
                if field.type is FieldType.FILE
            ]
            for activity in welcome.activities
        }
        self._coming: dict[int, Start] = {}  # by errand: waits for its files
        self._going: dict[int, AttemptEnded] = {}  # by errand: its files are on their way
        self._orders: dict[_Key, Start] = {}  # of all that the runner has, and those that go
        self._fetched: dict[_Key, Transfer] = {}
        self._ended: list[AttemptEnded] = []
        self._leaving = False
        self._poll = select.epoll()
        self._poll.register(runner.fileno(), select.EPOLLIN)
        self._poll.register(self._porter.fileno(), select.EPOLLIN)

    def fileno(self) -> int:
        """Readable when a program has ended, or a file has arrived."""
        return self._poll.fileno()

    @property
    def busy(self) -> bool:
        return bool(self._coming or self._going or self._ended or self._runner.busy)

    @property
    def waiting(self) -> int:
        return self._runner.waiting

    @property
    def granted(self) -> list[Start]:
        """Every attempt that has not ended: what is on its way counts as running."""
        going = [
            self._orders[attempt.activation, attempt.number] for attempt in self._going.values()
        ]
        return [*self._runner.granted, *self._coming.values(), *going]

    def start(self, *orders: Start) -> None:
        for order in orders:
            parcels = self._needed(order)
            if parcels:
                self._coming[self._porter.send(Way.FETCH, parcels)] = order
                self._runner.others = self._porter.pids
            else:
                self._pass_on(order)

    def cancel(self, activation: int, number: int) -> None:
        for errand, order in list(self._coming.items()):
            if (order.activation, order.number) == (activation, number):
                del self._coming[errand]
                self._ended.append(_without(order, Cause.CANCELLED))
        self._runner.cancel(activation, number)

    def wait(self, timeout_s: float) -> list[AttemptEnded]:
        for delivery in self._porter.deliveries():
            self._delivered(delivery)
        for attempt in self._runner.wait(0 if self._ended else timeout_s):
            self._ends(attempt)
        self._runner.others = self._porter.pids
        ended, self._ended = self._ended, []
        return ended

    def patience_s(self) -> float:
        return 0.05 if self._ended or self._porter.unsent else self._runner.patience_s()

    def kill_all(self) -> None:
        """What was to be brought, or stored, is left: nobody waits for it."""
        self._leaving = True
        self._coming.clear()
        self._going.clear()
        self._porter.close()
        self._runner.others = set()
        self._runner.kill_all()

    # --- on the way ------------------------------------------------------------------------------

    def _needed(self, order: Start) -> tuple[Parcel, ...]:
        """The files that its tuples name; what is wrong with them the runner will say."""
        places = self._file_fields[order.activity]
        try:
            paths = {
                str(inside(row[place], self._directories)): None
                for row in order.rows
                for place in places
                if row[place]
            }
        except StagingError:
            return ()
        return tuple(map(Parcel, paths))

    def _pass_on(self, order: Start) -> None:
        self._orders[order.activation, order.number] = order
        self._runner.start(order)

    def _ends(self, attempt: AttemptEnded) -> None:
        key = attempt.activation, attempt.number
        fetched = self._fetched.pop(key, None)
        if fetched is not None:
            attempt = replace(attempt, transfers=(fetched,))
        parcels = {file.path: Parcel(file.path, file.sha256) for file in attempt.files}
        if parcels and not self._leaving:
            self._going[self._porter.send(Way.UPLOAD, tuple(parcels.values()))] = attempt
        else:
            self._orders.pop(key, None)
            self._ended.append(attempt)

    def _delivered(self, delivery: Delivery) -> None:
        if delivery.number in self._coming:
            order = self._coming.pop(delivery.number)
            if delivery.error:
                lost = _without(order, Cause.NO_DATA, delivery.error)
                self._ended.append(replace(lost, transfers=(delivery.transfer,)))
            else:
                self._fetched[order.activation, order.number] = delivery.transfer
                self._pass_on(order)
        elif delivery.number in self._going:
            attempt = self._going.pop(delivery.number)
            del self._orders[attempt.activation, attempt.number]
            attempt = replace(attempt, transfers=(*attempt.transfers, delivery.transfer))
            if delivery.error:
                told = f"scicumulus: its files could not be stored: {delivery.error}"
                attempt = replace(attempt, cause=Cause.NO_DATA, stderr_tail=told, rows=(), files=())
            self._ended.append(attempt)


def _without(order: Start, cause: Cause, why: str = "") -> AttemptEnded:
    """It ended before its program began."""
    now = time.time()
    told = f"scicumulus: its files could not be fetched: {why}" if why else ""
    return AttemptEnded(order.activation, order.number, cause, now, now, stderr_tail=told)
