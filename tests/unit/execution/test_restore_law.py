"""A run that is cut off anywhere and taken up again comes to the same end, and nothing that had
ended or still ran is run again."""

from __future__ import annotations

import dataclasses
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from scicore.execution.core import Execution, Output
from scicore.execution.dispatch import MASTER
from scicore.execution.messages import (
    ActivationCreated,
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    Cancel,
    Claim,
    Event,
    Known,
    RunResumed,
    Start,
    TupleGenerated,
    VmJoined,
    WorkRequested,
)
from scicore.model.activation import ActivationState, Cause, Dispatch, Path, RunState
from scicore.model.workflow import Operator
from tests.unit.execution.building import (
    Stage,
    activity,
    attempt_ended,
    fleet,
    plan,
    relation,
    workflow,
)
from tests.unit.execution.random_runs import stages
from tests.unit.execution.unkind_slaves import RANDOMS, Chaos, Programs, played

Rows = dict[tuple[str, Path], tuple[str, ...]]


class Database:
    """What a recorder would have written of these facts."""

    def __init__(self) -> None:
        self.known: dict[int, Known] = {}
        self.tuples: dict[tuple[str, Path], int] = {}
        self.rows: Rows = {}
        self.results: list[int] = []  # activations of attempts that finished

    def record(self, outputs: list[Output]) -> None:
        for fact in outputs:
            match fact:
                case TupleGenerated(id=id, relation=relation, path=path, row=row, activation=maker):
                    assert self.tuples.setdefault((relation, path), id) == id
                    assert maker is None or (relation, path) not in self.rows, "made twice"
                    self.rows[relation, path] = row
                    if maker is not None:
                        self._change(maker, rows=(*self.known[maker].rows, row))
                case ActivationCreated(id=id, name=name, state=state, vm=vm):
                    assert id not in self.known, f"{name} is created twice"
                    self.known[id] = Known(id, name, state, vm)
                case ActivationMoved(id=id, state=state, vm=vm):
                    self._change(id, state=state, vm=vm)
                case AttemptStarted(activation=id, number=number, vm=vm):
                    live = (*self.known[id].live, number)
                    state = ActivationState.RUNNING
                    self._change(id, state=state, vm=vm, attempts=number, live=live)
                case AttemptEnded(activation=id, number=number, cause=cause):
                    assert number in self.known[id].live, "an attempt ends that is not there"
                    live = tuple(each for each in self.known[id].live if each != number)
                    self._change(id, live=live)
                    if cause is Cause.FINISHED:
                        self.results.append(id)

    def _change(self, id: int, **values: object) -> None:
        self.known[id] = replace(self.known[id], **values)

    def books(self, at: float) -> RunResumed:
        tuples = tuple((*key, id) for key, id in self.tuples.items())
        return RunResumed(at, tuple(self.known.values()), tuples)


def claims_of(stage: Stage, until: int) -> dict[str, list[Claim]]:
    """What the keepers have after so many events: every attempt that they were ever granted."""
    ended = {
        (attempt.activation, attempt.number): attempt
        for event in stage.events[:until]
        if isinstance(event, WorkRequested)
        for attempt in event.ended
    }
    claims: dict[str, list[Claim]] = {vm.id: [] for vm in stage.plan.fleet.vms}
    for order in orders_of(stage, until):
        key = (order.activation, order.number)
        if order.vm != MASTER:
            claims[order.vm].append(Claim(order.name, *key, ended.get(key)))
    return claims


def orders_of(stage: Stage, until: int) -> list[Start]:
    answers = stage.answers[:until]
    return [output for answer in answers for output in answer if isinstance(output, Start)]


@settings(max_examples=200, deadline=None)
@given(
    stage=stages(),
    random=RANDOMS,
    cut=st.floats(0, 1),
    tail=st.integers(0, 6),
    failure=st.sampled_from([0.0, 0.0, 0.3]),
)
def test_a_run_that_is_taken_up_again_comes_to_the_same_end(
    stage: Stage, random: Random, cut: float, tail: int, failure: float
) -> None:
    patient = dataclasses.replace(stage.workflow, max_attempts=1000)
    stage = Stage(patient, stage.plan, stage.dispatch)
    played(stage, random, Chaos(failure=failure))
    programs = Programs(stage.workflow, 0)
    whole = Database()
    for answer in stage.answers:
        whole.record(answer)
    last = len(stage.events) - 1
    recorded = round(cut * last)  # none at all: the master was killed at once
    happened = recorded  # and more than was recorded, but for queries, which the master waits for
    while happened < min(last, recorded + tail) and not of_a_query(stage.events[happened]):
        happened += 1
    database = Database()
    for answer in stage.answers[:recorded]:
        database.record(answer)
    take_up(stage, database, programs, happened, random)
    assert database.rows == whole.rows
    assert sorted(known.name for known in database.known.values()) == sorted(
        known.name for known in whole.known.values()
    )
    assert len(database.results) == len(set(database.results)) == len(database.known)


def test_a_failed_attempt_and_the_next_one_that_only_their_vm_knows_of_give_its_slot_back() -> None:
    """The master was killed before any of it was recorded."""
    ids = relation("ids", "ID")
    spec = workflow(ids, (("a",), ("b",)), activity("work", Operator.MAP, ids, "ID"))
    vms = fleet(1)
    execution = Execution(
        dataclasses.replace(spec, max_attempts=3),
        plan(vms, {"work.1": "vm-1", "work.2": "vm-1"}),
        Dispatch.ADAPTIVE,
    )
    order = Start("vm-1", 1, 1, "work", "work/1", (("a",),))
    died = attempt_ended(order, Cause.SIGNAL)
    execution.handle(RunResumed(1.0, (), ()))
    claims = (Claim("work.1", 1, 1, died), Claim("work.1", 1, 2, None))
    execution.handle(VmJoined(2.0, "vm-1", "host", claims))
    execution.check()
    done = replace(attempt_ended(order, rows=(("a",),)), number=2)
    started = execution.handle(WorkRequested(3.0, "vm-1", (done,)))
    execution.check()
    assert [each.activation for each in started if isinstance(each, Start)] == [2]


def of_a_query(event: Event) -> bool:
    return isinstance(event, WorkRequested) and event.vm == MASTER


def take_up(
    stage: Stage, database: Database, programs: Programs, happened: int, random: Random
) -> None:
    before = {(order.name, order.number): order for order in orders_of(stage, happened)}
    claims = claims_of(stage, happened)
    claimed = {
        claim.name
        for each in claims.values()
        for claim in each
        if claim.ended is None or claim.ended.cause is Cause.FINISHED
    }
    execution = Execution(stage.workflow, stage.plan, stage.dispatch)
    running: dict[tuple[int, int], Start] = {}
    cancelled: set[tuple[int, int]] = set()

    def feed(event: RunResumed | VmJoined | WorkRequested) -> None:
        outputs = execution.handle(event)
        if joined:
            execution.check()
        database.record(outputs)
        for output in outputs:
            match output:
                case AttemptStarted(activation=id, number=number):
                    name = database.known[id].name
                    if (name, number) in before and (id, number) not in running:
                        running[id, number] = before[name, number]
                case Start():
                    assert output.name not in claimed or output.vm == MASTER, "run again"
                    running[output.activation, output.number] = output
                case AttemptEnded(activation=id, number=number):
                    running.pop((id, number), None)
                case Cancel(activation=id, number=number):
                    cancelled.add((id, number))

    joined = False
    for known in database.known.values():
        for number in known.live:
            order = before.get((known.name, number))
            if order is not None and order.vm != MASTER:
                running[known.id, number] = order
    feed(database.books(1000.0))
    vms = [vm.id for vm in stage.plan.fleet.vms]
    random.shuffle(vms)
    for vm in vms:
        joined = vm == vms[-1]
        feed(VmJoined(1000.0, vm, "host", tuple(claims[vm])))
    while not execution.ended:
        assert running, "nothing runs, and the run does not end"
        key = random.choice(list(running))
        order = running.pop(key)
        attempt = attempt_ended(order, rows=programs.output(order))
        if key in cancelled:
            attempt = attempt_ended(order, Cause.CANCELLED)
        feed(WorkRequested(1001.0, order.vm, (attempt,)))
    assert execution.state is RunState.FINISHED
