"""A run ends when it has taken, or cost, what it may."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scicore.execution.limits import Limits, Meter
from scicore.execution.messages import LimitReached, RunEnded, Stop, VmJoined
from scicore.model.activation import ActivationState, RunState
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.workflow import Operator, Workflow
from tests.unit.execution.building import Stage, activity, fleet, plan, relation, workflow

ID = relation("ids", "ID")
WORK = activity("work", Operator.MAP, ID, "ID")
PRICED = Fleet(
    (
        Vm("vm-1", VmType("cheap", 1, 0, 1.0, price_usd_per_hour=3.6)),  # 0.001 USD per second
        Vm("vm-2", VmType("dear", 1, 0, 1.0, price_usd_per_hour=36.0)),
    ),
    "priced",
)


def limited(count: int, time_s: float = 0.0, cost_usd: float = 0.0) -> Workflow:
    spec = workflow(ID, tuple((f"t{n}",) for n in range(count)), WORK)
    return replace(spec, max_time_s=time_s, max_cost_usd=cost_usd)


def test_when_the_time_is_over_nothing_new_starts_and_what_runs_may_end() -> None:
    stage = Stage(limited(3, time_s=60.0), plan(fleet(1)))
    stage.begin("vm-1")
    assert stage.tick(59.9) == []
    assert stage.tick(60.0) == []
    assert stage.facts_of_last_event() == [LimitReached(60.0, "max_time of 60 s reached")]
    assert stage.execution.state is RunState.RUNNING
    assert stage.finish("work.1", ("x",)) == [Stop("vm-1")]
    assert stage.facts()[-1] == RunEnded(4.0, RunState.STOPPED)
    assert stage.states() == {
        "work.1": ActivationState.FINISHED,
        "work.2": ActivationState.READY,
        "work.3": ActivationState.READY,
    }


def test_a_run_that_nobody_works_on_ends_at_once() -> None:
    stage = Stage(limited(1, time_s=5.0), plan(fleet(1)))
    stage.begin()
    assert stage.tick(5.0) == []
    assert stage.execution.state is RunState.STOPPED


def test_a_run_that_is_done_just_in_time_has_finished() -> None:
    stage = Stage(limited(1, time_s=60.0), plan(fleet(1)))
    stage.begin("vm-1")
    stage.tick(60.0)
    stage.finish("work.1", ("x",))
    assert stage.execution.state is RunState.FINISHED


def test_a_failure_after_the_time_is_not_tried_again() -> None:
    stage = Stage(replace(limited(1, time_s=60.0), max_attempts=3), plan(fleet(1)))
    stage.begin("vm-1")
    stage.tick(60.0)
    assert stage.fail("work.1") == [Stop("vm-1")]
    assert stage.states() == {"work.1": ActivationState.READY}
    assert stage.execution.state is RunState.STOPPED


def test_every_event_tells_the_time_not_only_ticks() -> None:
    stage = Stage(limited(2, time_s=60.0), plan(fleet(1, 1)))
    stage.begin("vm-1")
    assert stage.feed(VmJoined(61.0, "vm-2", "host")) == []
    assert any(isinstance(fact, LimitReached) for fact in stage.facts_of_last_event())


def test_the_limit_is_told_once() -> None:
    stage = Stage(limited(2, time_s=60.0), plan(fleet(1)))
    stage.begin("vm-1")
    stage.tick(60.0)
    stage.tick(61.0)
    assert stage.facts_of_last_event() == []


def test_without_limits_time_may_pass() -> None:
    stage = Stage(limited(2), plan(fleet(1)))
    stage.begin("vm-1")
    stage.tick(1e9)
    assert stage.facts_of_last_event() == []


def test_the_vms_that_are_there_cost_money_by_the_second() -> None:
    stage = Stage(limited(3, cost_usd=1.1), plan(PRICED))
    stage.begin("vm-1", "vm-2")
    assert stage.tick(99.0) == []
    assert stage.facts_of_last_event() == []
    stage.tick(105.0)
    (fact,) = stage.facts_of_last_event()
    assert fact == LimitReached(105.0, "max_financial_cost of 1.1 USD reached")


@pytest.mark.parametrize(
    ("at", "cost_usd"),
    [
        (10.0, 0.06 + 0.6),  # a minute at least
        (100.0, 0.1 + 1.0),
    ],
)
def test_money_is_counted_as_the_provider_bills_it(at: float, cost_usd: float) -> None:
    meter = Meter(Limits(), PRICED)
    meter.start(0.0)
    meter.join("vm-1", 0.0)
    meter.join("vm-2", 0.0)
    assert meter.cost_usd(at) == pytest.approx(cost_usd)


def test_a_vm_that_is_gone_costs_nothing_more_but_what_it_has() -> None:
    meter = Meter(Limits(), PRICED)
    meter.start(0.0)
    meter.join("vm-2", 0.0)
    meter.leave("vm-2", 200.0)
    assert meter.cost_usd(1000.0) == pytest.approx(2.0)


def test_a_vm_that_never_came_costs_nothing() -> None:
    meter = Meter(Limits(), PRICED)
    meter.start(0.0)
    assert meter.cost_usd(1000.0) == 0.0
