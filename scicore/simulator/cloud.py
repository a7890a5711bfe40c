"""The virtual-time driver: it plays the cloud and the slaves for the execution core.

Time is whole milliseconds. Nothing is decided here: the core says what starts where, the driver
only knows how long it takes and what goes wrong.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from scicore.execution.core import Execution, Output
from scicore.execution.messages import (
    AttemptEnded,
    Cancel,
    Event,
    RunStarted,
    Start,
    Tick,
    VmJoined,
    VmLost,
    WorkRequested,
)
from scicore.kernel.instance import instance_of
from scicore.kernel.strict import ready_ms
from scicore.model.activation import Cause, Dispatch
from scicore.model.plan import Plan
from scicore.model.problem import Problem, milliseconds
from scicore.simulator.models import Uncertainty, draw, finish_ms, noise_factors
from scicore.simulator.outcome import Attempts, Outcome, outcome_of
from scicore.simulator.traced import require_match, traced

UNLIMITED = 1 << 30  # attempts
TICK_MS = 1000  # as in the engine
MOST_TICKS = 2000  # of a run that goes as planned; a long one ticks less often


def simulate(
    problem: Problem,
    plan: Plan,
    uncertainty: Uncertainty,
    rng: Generator,
    dispatch: Dispatch = Dispatch.STRICT,
    max_attempts: int = UNLIMITED,
    *,
    keep: bool = True,
) -> Outcome:
    """Run the plan once, from the first event to the last. `keep`: its attempts are told, too."""
    require_match(problem, plan)
    run = Execution(*traced(problem, plan, max_attempts), dispatch=dispatch)
    cloud = _Cloud(run, problem, milliseconds(plan.makespan_s), uncertainty, rng, dispatch)
    attempts = cloud.play()
    return outcome_of(run.state, problem, cloud.instance, attempts, keep=keep)


class _Coming(NamedTuple):
    """An event on its way; those of one instant are told in the order in which they were made."""

    at_ms: int
    number: int
    vm: int  # a tick is of no VM
    what: str  # joined, lost, ended, tick
    attempt: _Running | None


@dataclass(frozen=True, slots=True)
class _Running:
    order: Start
    index: int  # of the activation within the problem
    start_ms: int
    cause: Cause


class _Cloud:
    def __init__(
        self,
        execution: Execution,
        problem: Problem,
        horizon_ms: int,
        uncertainty: Uncertainty,
        rng: Generator,
        dispatch: Dispatch,
    ) -> None:
        count = len(problem.activations)
        self._execution = execution
        self._names = [vm.id for vm in problem.fleet.vms]
        self._vms = {name: place for place, name in enumerate(self._names)}
        self.instance = instance_of(problem)
        self._runtime_ms: list[list[int]] = self.instance.runtime_ms.tolist()
        self._uncertainty = uncertainty
        self._fate = draw(uncertainty, count, problem.fleet, horizon_ms, rng)
        self._noise: list[float] = self._fate.noise.tolist()
        self._rng = rng
        self._in_turn = dispatch is Dispatch.STRICT
        self._tick_ms = 0 if self._in_turn else max(TICK_MS, horizon_ms // MOST_TICKS)
        self._heap: list[_Coming] = []
        self._made = 0
        self._running: dict[tuple[int, int], _Running] = {}  # by activation and attempt
        self._last_ms = [0] * len(self._names)  # latest start on each VM
        self._finish_ms = np.zeros(count, dtype=np.int64)
        self._vm_of = np.zeros(count, dtype=np.int64)
        self._booked: list[tuple[int, int, int, int, int]] = []

    def play(self) -> Attempts:
        self._tell(0, RunStarted(0.0))
        for vm, boot_ms in enumerate(self.instance.boot_ms.tolist()):
            self._expect(boot_ms, vm, "joined")
            lost_ms = self._fate.lost_ms[vm]
            if lost_ms is not None:
                self._expect(max(lost_ms, boot_ms), vm, "lost")
        if self._tick_ms:
            self._expect(self._tick_ms, 0, "tick")
        while self._heap and not self._execution.ended:
            self._happen(heapq.heappop(self._heap))
        booked = np.array(self._booked, dtype=np.int64).reshape(-1, 5)
        return Attempts(
            activation=booked[:, 0],
            vm=booked[:, 1],
            start_ms=booked[:, 2],
            finish_ms=booked[:, 3],
            slots=self.instance.cpus[booked[:, 0]],
            finished=booked[:, 4].astype(np.bool_),
        )

    # --- what happens ----------------------------------------------------------------------------

    def _happen(self, coming: _Coming) -> None:
        at = coming.at_ms / 1000
        vm = self._names[coming.vm]
        match coming.what:
            case "joined":
                self._tell(coming.at_ms, VmJoined(at, vm, host=vm))
            case "lost":
                self._lose(coming.vm, coming.at_ms)
                self._tell(coming.at_ms, VmLost(at, vm))
            case "ended":
                assert coming.attempt is not None
                ended = [coming.attempt, *self._also_ended(coming)]
                reports = tuple(report for each in ended for report in self._end(each, coming))
                if reports:
                    self._tell(coming.at_ms, WorkRequested(at, vm, reports))
            case "tick":
                self._tell(coming.at_ms, Tick(at))
                if self._heap:  # else nothing is under way that time could help
                    self._expect(coming.at_ms + self._tick_ms, 0, "tick")

    def _also_ended(self, first: _Coming) -> list[_Running]:
        """A slave hands over everything that ended at the same time in one message."""
        others = []
        while self._heap:
            coming = self._heap[0]
            same = coming.at_ms == first.at_ms and coming.vm == first.vm
            if not same or coming.attempt is None:
                break
            others.append(coming.attempt)
            heapq.heappop(self._heap)
        return others

    def _end(self, attempt: _Running, coming: _Coming) -> list[AttemptEnded]:
        """Nothing, if its VM was lost meanwhile or the attempt was cancelled."""
        order = attempt.order
        if self._running.get((order.activation, order.number)) is not attempt:
            return []
        del self._running[order.activation, order.number]
        finished = attempt.cause is Cause.FINISHED
        if finished:
            self._finish_ms[attempt.index] = coming.at_ms
            self._vm_of[attempt.index] = coming.vm
        self._book(attempt, coming.vm, coming.at_ms, finished)
        times = attempt.start_ms / 1000, coming.at_ms / 1000
        exit_code = None if attempt.cause is Cause.CANCELLED else int(not finished)
        return [AttemptEnded(order.activation, order.number, attempt.cause, *times, exit_code)]

    def _lose(self, vm: int, at_ms: int) -> None:
        for key, attempt in list(self._running.items()):
            if attempt.order.vm == self._names[vm]:
                del self._running[key]
                self._book(attempt, vm, at_ms, finished=False)

    def _book(self, attempt: _Running, vm: int, at_ms: int, finished: bool) -> None:
        start_ms = min(attempt.start_ms, at_ms)  # its data may still have been on the way
        self._booked.append((attempt.index, vm, start_ms, at_ms, int(finished)))

    # --- what the core says ----------------------------------------------------------------------

    def _tell(self, now_ms: int, event: Event) -> None:
        for output in self._execution.handle(event):
            self._obey(now_ms, output)

    def _obey(self, now_ms: int, output: Output) -> None:
        match output:
            case Start():
                self._start(now_ms, output)
            case Cancel():
                attempt = self._running.pop((output.activation, output.number), None)
                if attempt is not None:
                    ended = _Running(
                        attempt.order, attempt.index, attempt.start_ms, Cause.CANCELLED
                    )
                    self._running[output.activation, output.number] = ended
                    self._expect(now_ms, self._vms[output.vm], "ended", ended)

    def _start(self, now_ms: int, order: Start) -> None:
        """The slot is held from now on; the program starts when its data are there.

        In strict dispatch a VM's activations also start in turn. Both together are what the
        kernel's decode computes: whoever comes later on the VM could not start earlier anyway.
        """
        vm = self._vms[order.vm]
        index = int(order.rows[0][0])
        start = now_ms
        if self.instance.moves_data:
            start = max(start, ready_ms(self.instance, index, vm, self._vm_of, self._finish_ms))
        if self._in_turn:
            start = max(start, self._last_ms[vm])
            self._last_ms[vm] = start
        length = round(self._runtime_ms[index][vm] * self._factor(index, order.number))
        finish = finish_ms(start, length, self._fate.slow[vm], self._fate.factor)
        cause = Cause.FINISHED
        failures = self._uncertainty.failures
        if failures and self._rng.random() < failures:
            cause = Cause.EXIT_CODE
            finish = start + round(self._rng.random() * (finish - start))
        attempt = _Running(order, index, start, cause)
        self._running[order.activation, order.number] = attempt
        self._expect(finish, vm, "ended", attempt)

    def _factor(self, index: int, number: int) -> float:
        """The noise of a first attempt is fixed beforehand; a retry has luck of its own."""
        if number == 1:
            return self._noise[index]
        if self._uncertainty.spreads:
            return float(np.exp(self._rng.normal(0.0, self._uncertainty.spreads[index])))
        return float(noise_factors(self._uncertainty.noise, 1, self._rng)[0])

    def _expect(self, at_ms: int, vm: int, what: str, attempt: _Running | None = None) -> None:
        self._made += 1
        heapq.heappush(self._heap, _Coming(at_ms, self._made, vm, what, attempt))
