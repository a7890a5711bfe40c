"""Stragglers get a double on another VM; the first result wins."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from scicore.execution.messages import (
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    Cancel,
    Instruction,
    Start,
    Stop,
    TupleGenerated,
    WorkRequested,
)
from scicore.execution.stragglers import SAMPLES, Stragglers
from scicore.model.activation import ActivationState, Cause, Dispatch, RunState
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

ID = relation("ids", "ID")
WORK = activity("work", Operator.MAP, ID, "ID")
LAST = f"work.{SAMPLES + 1}"


def with_a_straggler(
    *slots: int,
    redundancy: bool = True,
    max_attempts: int = 1,
    dispatch: Dispatch = Dispatch.ADAPTIVE,
) -> Stage:
    """All activations of vm-1 but the last have finished after ten seconds each; that one runs
    since SAMPLES × 10 s."""
    count = SAMPLES + 1
    spec = workflow(ID, tuple((f"t{n}",) for n in range(count)), WORK, max_attempts=max_attempts)
    order = {f"work.{n}": "vm-1" for n in range(1, count + 1)}
    stage = Stage(replace(spec, redundancy=redundancy), plan(fleet(*slots), order), dispatch)
    stage.begin("vm-1", *(f"vm-{number}" for number in range(2, len(slots) + 1)))
    for n in range(1, count):
        end(stage, f"work.{n}", n * 10.0, took_s=10.0)
    return stage


def end(
    stage: Stage, name: str, at: float, took_s: float = 1.0, cause: Cause = Cause.FINISHED
) -> list[Instruction]:
    """The latest attempt."""
    return end_attempt(stage, stage.order(name), at, took_s, cause)


def end_attempt(
    stage: Stage, order: Start, at: float, took_s: float = 1.0, cause: Cause = Cause.FINISHED
) -> list[Instruction]:
    rows = ((f"of attempt {order.number}",),) if cause is Cause.FINISHED else ()
    ended = attempt_ended(order, cause, rows=rows)
    ended = msgspec.structs.replace(ended, started_at=at - took_s, ended_at=at)
    return stage.feed(WorkRequested(at, order.vm, (ended,)))


SINCE = SAMPLES * 10.0  # when the last one was started
BOUND = 10.0 * (1 + 2.33 * 0.1)  # of programs that take ten seconds each


def test_an_attempt_that_takes_unusually_long_gets_a_double_on_another_vm() -> None:
    stage = with_a_straggler(1, 1)
    assert stage.tick(SINCE + BOUND - 0.1) == []
    (order,) = stage.tick(SINCE + BOUND + 0.1)
    assert isinstance(order, Start)
    assert (order.vm, order.number) == ("vm-2", 2)
    assert order.workspace == f"work/{SAMPLES + 1}-attempt-2"
    (fact,) = stage.facts_of_last_event()
    assert fact == AttemptStarted(SINCE + BOUND + 0.1, order.activation, 2, "vm-2", redundant=True)


def test_it_has_one_double_not_more() -> None:
    stage = with_a_straggler(1, 1, 1)
    assert len(stage.tick(SINCE + 20)) == 1
    assert stage.tick(SINCE + 1000) == []


def test_nothing_is_doubled_unless_the_workflow_asks_for_it() -> None:
    stage = with_a_straggler(1, 1, redundancy=False)
    assert stage.tick(SINCE + 1000) == []


def test_a_double_never_runs_on_the_same_vm() -> None:
    stage = with_a_straggler(2)
    assert stage.tick(SINCE + 1000) == []


def test_a_double_waits_for_a_free_slot() -> None:
    stage = with_a_straggler(1, 1)
    stage.lose("vm-2")
    assert stage.tick(SINCE + 20) == []
    stage.join("vm-2")
    assert len(stage.tick(SINCE + 30)) == 1


def test_until_enough_have_finished_nothing_is_unusual() -> None:
    stragglers = Stragglers()
    for number in range(1, SAMPLES):
        stragglers.ended("work", number, 1, 10.0)
    stragglers.started("work", 99, 1, 0.0)
    assert list(stragglers.due(1e6)) == []
    stragglers.ended("work", SAMPLES, 1, 10.0)
    assert list(stragglers.due(1e6)) == [(99, 1)]


def test_a_straggler_does_not_make_the_next_one_look_usual() -> None:
    stragglers = Stragglers()
    for number in range(20):
        stragglers.ended("work", number, 1, 10.0)
    stragglers.ended("work", 20, 1, 10_000.0)
    stragglers.started("work", 99, 1, 0.0)
    assert list(stragglers.due(30.0)) == [(99, 1)]


def test_an_activity_with_varied_runtimes_is_given_more_time() -> None:
    stragglers = Stragglers()
    for number, took_s in enumerate([2.0, 6.0, 10.0, 14.0, 18.0]):
        stragglers.ended("work", number, 1, took_s)
    stragglers.started("work", 99, 1, 0.0)
    assert list(stragglers.due(20.0)) == []
    assert list(stragglers.due(10 + 2.33 * 6.4)) == [(99, 1)]


# --- who wins -----------------------------------------------------------------------------------


def doubled(max_attempts: int = 1) -> tuple[Stage, Start, Start]:
    stage = with_a_straggler(1, 1, max_attempts=max_attempts)
    first = stage.order(LAST)
    stage.tick(SINCE + 20)
    return stage, first, stage.order(LAST)


def results(stage: Stage) -> list[str]:
    last = stage.created()[LAST].id
    facts = [fact for fact in stage.facts() if isinstance(fact, TupleGenerated)]
    return [fact.row[0] for fact in facts if fact.activation == last]


def causes(stage: Stage) -> list[tuple[int, Cause]]:
    last = stage.created()[LAST].id
    ends = [fact for fact in stage.facts() if isinstance(fact, AttemptEnded)]
    return [(fact.number, fact.cause) for fact in ends if fact.activation == last]


def test_the_doubles_result_counts_when_it_comes_first() -> None:
    stage, first, second = doubled()
    instructions = end_attempt(stage, second, SINCE + 25)
    assert instructions[0] == Cancel("vm-1", first.activation, 1)
    assert instructions[1:] == [Stop("vm-1"), Stop("vm-2")]
    moved = [fact for fact in stage.facts() if isinstance(fact, ActivationMoved)][-1]
    assert (moved.state, moved.vm, moved.moved_because) == (
        ActivationState.FINISHED,
        "vm-2",
        "straggler",
    )
    assert results(stage) == ["of attempt 2"]
    assert causes(stage) == [(2, Cause.FINISHED), (1, Cause.CANCELLED)]
    assert stage.execution.state is RunState.FINISHED


def test_the_first_attempts_result_counts_when_it_comes_first() -> None:
    stage, first, second = doubled()
    assert end_attempt(stage, first, SINCE + 25)[0] == Cancel("vm-2", first.activation, 2)
    assert results(stage) == ["of attempt 1"]
    assert stage.execution.ledger[first.activation].moved_because == ""
    assert end_attempt(stage, second, SINCE + 26) == []  # too late


def test_a_result_of_the_beaten_one_is_fenced_off_while_the_run_goes_on() -> None:
    after = activity("after", Operator.MAP, WORK, "ID")
    stage = with_a_straggler(1, 1)
    spec = replace(stage.workflow, activities=(WORK, after))
    stage = Stage(spec, stage.plan)
    stage.begin("vm-1", "vm-2")
    for n in range(1, SAMPLES + 1):
        end(stage, f"work.{n}", n * 10.0, took_s=10.0)
        end(stage, f"after.{n}", n * 10.0)
    first = stage.order(LAST)
    stage.tick(SINCE + 20)
    second = stage.order(LAST)
    end_attempt(stage, second, SINCE + 25)
    assert stage.states()[f"after.{SAMPLES + 1}"] is ActivationState.RUNNING
    assert end_attempt(stage, first, SINCE + 26) == []
    (fact,) = stage.facts_of_last_event()
    assert isinstance(fact, AttemptEnded)
    assert (fact.number, fact.cause, fact.rows) == (1, Cause.CANCELLED, ())
    assert results(stage) == ["of attempt 2"]


@pytest.mark.parametrize("failing", [0, 1])
def test_when_one_of_them_fails_the_other_goes_on(failing: int) -> None:
    stage, *orders = doubled()
    assert end_attempt(stage, orders[failing], SINCE + 25, cause=Cause.EXIT_CODE) == []
    assert stage.states()[LAST] is ActivationState.RUNNING
    end_attempt(stage, orders[1 - failing], SINCE + 30)
    assert stage.states()[LAST] is ActivationState.FINISHED


def test_when_both_fail_the_activation_has_failed() -> None:
    stage, first, second = doubled()
    end_attempt(stage, first, SINCE + 25, cause=Cause.EXIT_CODE)
    end_attempt(stage, second, SINCE + 26, cause=Cause.EXIT_CODE)
    assert stage.states()[LAST] is ActivationState.FAILED


def test_when_both_fail_and_attempts_are_left_there_is_a_third() -> None:
    stage, first, second = doubled(max_attempts=3)
    end_attempt(stage, first, SINCE + 25, cause=Cause.EXIT_CODE)
    end_attempt(stage, second, SINCE + 26, cause=Cause.EXIT_CODE)
    assert stage.order(LAST).number == 3


@pytest.mark.parametrize("lost", ["vm-1", "vm-2"])
def test_when_the_vm_of_one_is_lost_the_other_goes_on(lost: str) -> None:
    stage, first, second = doubled()
    assert stage.lose(lost) == []
    assert stage.states()[LAST] is ActivationState.RUNNING
    end_attempt(stage, second if lost == "vm-1" else first, SINCE + 30)
    assert stage.execution.state is RunState.FINISHED


def test_cancelling_ends_both() -> None:
    stage, first, second = doubled()
    orders = stage.steer("cancel", "work")
    assert orders == [Cancel("vm-1", first.activation, 1), Cancel("vm-2", first.activation, 2)]
    end_attempt(stage, first, SINCE + 25, cause=Cause.CANCELLED)
    assert stage.states()[LAST] is ActivationState.RUNNING
    end_attempt(stage, second, SINCE + 26, cause=Cause.CANCELLED)
    assert stage.states()[LAST] is ActivationState.CANCELLED


def test_a_stop_ends_both() -> None:
    stage, first, second = doubled()
    assert stage.stop() == [Cancel("vm-1", first.activation, 1), Cancel("vm-2", 6, 2)]
    end_attempt(stage, first, SINCE + 25, cause=Cause.CANCELLED)
    end_attempt(stage, second, SINCE + 25, cause=Cause.CANCELLED)
    assert stage.execution.state is RunState.STOPPED


def test_a_plan_that_is_followed_strictly_does_not_forbid_doubles() -> None:
    stage = with_a_straggler(1, 1, dispatch=Dispatch.STRICT)
    assert len(stage.tick(SINCE + 20)) == 1
