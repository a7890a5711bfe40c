"""Sized attempts in the core: what they get, what a lack of memory leads to, what is recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scicore.execution.allotment import Allotment
from scicore.execution.core import Execution
from scicore.execution.messages import AttemptEnded, AttemptStarted, FileFound, Usage
from scicore.model.activation import ActivationState, Cause, Dispatch
from scicore.model.sizing import Allocation, Experience, Need, Sized
from scicore.model.workflow import Operator
from tests.unit.execution.building import Stage, activity, fleet, plan, relation, workflow

SOURCE = relation("source", "ID")
WORK = replace(activity("work", Operator.MAP, SOURCE, "ID"), memory_mb="1000", cpus="2")
MOST = Allocation(4, 1024)
GB = 2**30


class Strict:
    """A sizer for tests: what it was asked and told is remembered."""

    looks_again = True

    def __init__(self, memory_mb: int, cpus: int = 1) -> None:
        self.allocation = Allocation(cpus, memory_mb)
        self.needs: list[Need] = []
        self.seen: list[Experience] = []

    def size(self, activity: str, need: Need) -> Sized:
        assert activity in ("work", "next")
        self.needs.append(need)
        if need.failed is not None:
            more = min(2 * need.failed.memory_mb, need.ceiling.memory_mb)
            return Sized(Allocation(need.failed.cpus, more), "more")
        return Sized(self.allocation, "for a test")

    def learn(self, activity: str, seen: Experience) -> None:
        self.seen.append(seen)


def on(
    sizer: Strict | None, *slots: int, count: int = 1, dispatch: Dispatch = Dispatch.ADAPTIVE
) -> Stage:
    rows = tuple((str(number),) for number in range(count))
    following = activity("next", Operator.MAP, WORK, "ID")
    stage = Stage(workflow(SOURCE, rows, WORK, following), plan(fleet(*slots)), dispatch)
    if sizer is not None:
        allotment = Allotment(sizer, MOST, run=7, tuple_bytes={1: 300})
        stage.execution = Execution(stage.workflow, stage.plan, dispatch, allotment=allotment)
    stage.begin(*(f"vm-{number}" for number in range(1, len(slots) + 1)))
    return stage


def test_without_sizing_an_attempt_gets_what_is_declared_and_no_limit() -> None:
    order = on(None, 4).order("work.1")
    assert (order.cpus, order.sized, order.memory_mb) == (2, False, 0)


def test_a_sized_attempt_gets_what_the_sizer_says_and_that_is_recorded() -> None:
    sizer = Strict(100)
    stage = on(sizer, 4)
    order = stage.order("work.1")
    assert (order.cpus, order.sized, order.memory_mb) == (1, True, 100)
    assert sizer.needs == [Need(Allocation(2, 1000), MOST, 300)]
    (fact,) = [fact for fact in stage.facts() if isinstance(fact, AttemptStarted)]
    assert fact.grant is not None
    assert (fact.cpus, fact.grant.memory_mb, fact.grant.because) == (1, 100, "for a test")
    assert (fact.grant.asked_cpus, fact.grant.asked_memory_mb) == (2, 1000)


@pytest.mark.parametrize("dispatch", Dispatch)
def test_what_is_allocated_decides_how_many_fit(dispatch: Dispatch) -> None:
    """The VM has 4 slots and 1024 MB; two slots and 1000 MB are declared."""
    declared = on(None, 4, count=4, dispatch=dispatch)
    assert len(declared.in_state(ActivationState.RUNNING)) == 1
    sized = on(Strict(250), 4, count=4, dispatch=dispatch)
    assert len(sized.in_state(ActivationState.RUNNING)) == 4


def test_lack_of_memory_is_retried_with_more_until_there_is_no_more() -> None:
    """And only then it counts: a single failure is allowed here."""
    stage = on(Strict(100), 4)
    given = []
    for _ in range(5):
        given.append(stage.order("work.1").memory_mb)
        stage.fail("work.1", Cause.OUT_OF_MEMORY)
    assert given == [100, 200, 400, 800, 1024]
    assert stage.in_state(ActivationState.FAILED) == ["work.1"]


def test_a_run_that_is_taken_up_again_goes_on_from_what_was_not_enough() -> None:
    stage = Stage(workflow(SOURCE, (("x",),), WORK), plan(fleet(4)))
    allotment = Allotment(Strict(100), MOST, failed={"work.1": Allocation(1, 200)})
    stage.execution = Execution(stage.workflow, stage.plan, allotment=allotment)
    stage.begin("vm-1")
    assert stage.order("work.1").memory_mb == 400


def test_other_failures_of_a_sized_attempt_count() -> None:
    stage = on(Strict(100), 4)
    stage.fail("work.1", Cause.EXIT_CODE)
    assert stage.in_state(ActivationState.FAILED) == ["work.1"]


def test_a_retry_waits_until_there_is_room_for_more() -> None:
    stage = on(Strict(500), 4, count=2)
    assert len(stage.in_state(ActivationState.RUNNING)) == 2
    stage.fail("work.1", Cause.OUT_OF_MEMORY)
    assert stage.in_state(ActivationState.READY) == ["work.1"]
    stage.finish("work.2", ("2",))
    assert stage.order("work.1").memory_mb == 1000


def ended(stage: Stage, name: str, files: tuple[FileFound, ...] = ()) -> AttemptEnded:
    order = stage.order(name)
    usage = Usage(cpu_s=1.5, peak_rss_bytes=GB)
    return AttemptEnded(
        order.activation, order.number, Cause.FINISHED, 10, 12, usage=usage,
        rows=(("x",),), files=files,
    )  # fmt: skip


def test_sizers_learn_from_what_ended_and_know_the_size_of_the_files_it_left() -> None:
    sizer = Strict(100)
    stage = on(sizer, 4)
    stage.report("vm-1", ended(stage, "work.1", (FileFound(0, "ID", "/w/x", 77, ""),)))
    assert sizer.seen == [
        Experience(7, Allocation(1, 100), Allocation(2, 1000), 2, 1.5, 1024, False, 300)
    ]
    assert sizer.needs[-1] == Need(Allocation(1, 0), MOST, 77)


@pytest.mark.parametrize("dispatch", Dispatch)
def test_those_that_wait_are_sized_again_when_enough_is_known(dispatch: Dispatch) -> None:
    sizer = Strict(1000)
    stage = on(sizer, 4, count=8, dispatch=dispatch)
    for _ in range(4):
        (running,) = stage.in_state(ActivationState.RUNNING)
        stage.report("vm-1", ended(stage, running))
    sizer.allocation = Allocation(1, 200)
    (running,) = stage.in_state(ActivationState.RUNNING)
    stage.report("vm-1", ended(stage, running))
    assert len(stage.in_state(ActivationState.RUNNING)) >= 3
