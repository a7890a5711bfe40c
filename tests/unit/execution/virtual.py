"""Runs in virtual time: programs that take as long as they are told to, on VMs that do not fail."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from scicore.algebra.forecast import Forecast, forecast
from scicore.execution.core import Execution
from scicore.execution.messages import (
    ActivationCreated,
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    Cancel,
    Event,
    Fact,
    RunStarted,
    Start,
    Tick,
    VmJoined,
    WorkRequested,
)
from scicore.model.activation import Cause, Dispatch
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.plan import Plan
from scicore.model.problem import Problem
from scicore.model.workflow import Row, Workflow
from scicore.planners.heft import Heft

Runtime = Callable[[str, str], int]  # milliseconds of an activation (by name) on a VM (by id)
Output = Callable[[str, tuple[Row, ...]], tuple[Row, ...]]  # of an activity's program


def fleet_of(*kinds: tuple[int, int, float]) -> Fleet:
    """(count, slots, speed) …"""
    vms = [
        Vm(f"{slots}x{speed:g}-{number}", VmType(f"{slots}x{speed:g}", slots, 0, speed, 0.1))
        for count, slots, speed in kinds
        for number in range(1, count + 1)
    ]
    return Fleet(tuple(vms), "made up")


def heft_plan(spec: Workflow, fleet: Fleet, runtime: Runtime) -> tuple[Plan, Forecast]:
    """HEFT's order and VMs, with the times that strictly following them gives."""
    expected = forecast(spec)
    matrix = [[runtime(name, vm.id) / 1000 for vm in fleet.vms] for name in expected.names]
    problem = Problem(expected.names, expected.activities, expected.edges, fleet, np.array(matrix))
    return timed(Heft().plan(problem, seed=0), expected, runtime), expected


def timed(plan: Plan, expected: Forecast, runtime: Runtime) -> Plan:
    """When everything starts if each VM keeps to the plan's order: the meaning of a plan."""
    index = {name: number for number, name in enumerate(expected.names)}
    parents: list[list[int]] = [[] for _ in expected.names]
    for parent, child in expected.edges:
        parents[child].append(parent)
    finish = [0] * len(index)
    free = {vm.id: [0] * vm.type.slots for vm in plan.fleet.vms}
    last = dict.fromkeys(free, 0)
    assignments = []
    for assignment in plan.assignments:
        number, vm = index[assignment.activation], assignment.vm
        slots = free[vm]
        slot = slots.index(min(slots))
        start = max([finish[parent] for parent in parents[number]] + [slots[slot], last[vm]])
        finish[number] = slots[slot] = start + runtime(assignment.activation, vm)
        last[vm] = start
        assignments.append(
            replace(assignment, start_s=start / 1000, finish_s=finish[number] / 1000)
        )
    return replace(plan, assignments=tuple(assignments), makespan_s=max(finish) / 1000)


@dataclass
class Played:
    """What a run looked like."""

    makespan_ms: int = 0
    facts: list[Fact] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def created(self) -> dict[str, ActivationCreated]:
        return {fact.name: fact for fact in self.facts if isinstance(fact, ActivationCreated)}

    def starts(self) -> dict[str, AttemptStarted]:
        """The last one of each."""
        names = {fact.id: name for name, fact in self.created().items()}
        return {names[f.activation]: f for f in self.facts if isinstance(f, AttemptStarted)}

    def ends(self) -> dict[str, AttemptEnded]:
        """The one that brought the result."""
        names = {fact.id: name for name, fact in self.created().items()}
        ends = [fact for fact in self.facts if isinstance(fact, AttemptEnded)]
        return {names[f.activation]: f for f in ends if f.cause is Cause.FINISHED}

    def reasons(self) -> dict[str, str]:
        """Why those that moved did."""
        found = {fact.id: fact.moved_because for fact in self.created().values()}
        for fact in self.facts:
            if isinstance(fact, ActivationMoved) and fact.moved_because is not None:
                found[fact.id] = fact.moved_because
        names = {fact.id: name for name, fact in self.created().items()}
        return {names[id]: because for id, because in found.items() if because}


def play(
    spec: Workflow,
    plan: Plan,
    runtime: Runtime,
    dispatch: Dispatch,
    output: Output = lambda activity, rows: rows[:1],
    tick_ms: int = 0,
) -> Played:
    """All VMs are there from the start; programs take what `runtime` says."""
    execution = Execution(spec, plan, dispatch)
    played = Played()
    names: dict[int, str] = {}
    running: dict[tuple[int, int], tuple[Start, int]] = {}
    ends: list[tuple[int, int, int, int]] = []  # time, order, activation, number

    def feed(event: Event, now: int) -> None:
        played.events.append(event)
        for answer in execution.handle(event):
            if isinstance(answer, Start):
                order = (answer, now)
                running[answer.activation, answer.number] = order
                took = runtime(names[answer.activation], answer.vm)
                heapq.heappush(
                    ends, (now + took, len(played.events), answer.activation, answer.number)
                )
            elif isinstance(answer, ActivationCreated):
                names[answer.id] = answer.name
            if isinstance(answer, Cancel):
                cancelled.append((answer.activation, answer.number))
            played.facts.append(answer)  # type: ignore[arg-type]

    cancelled: list[tuple[int, int]] = []
    feed(RunStarted(0.0), 0)
    for vm in plan.fleet.vms:
        feed(VmJoined(0.0, vm.id, "here"), 0)
    next_tick = tick_ms
    while ends or cancelled:
        if cancelled:
            key, now = cancelled.pop(), played.makespan_ms
            cause = Cause.CANCELLED
        elif tick_ms and ends[0][0] >= next_tick:
            feed(Tick(next_tick / 1000), next_tick)
            next_tick += tick_ms
            continue
        else:
            now, _, *key_ = heapq.heappop(ends)
            key, cause = (key_[0], key_[1]), Cause.FINISHED
        found = running.pop(key, None)
        if found is None:
            continue
        order, began = found
        played.makespan_ms = now
        rows = output(order.activity, order.rows) if cause is Cause.FINISHED else ()
        ended = AttemptEnded(*key, cause, began / 1000, now / 1000, rows=rows)
        feed(WorkRequested(now / 1000, order.vm, (ended,)), now)
    assert execution.ended
    execution.check()
    return played
