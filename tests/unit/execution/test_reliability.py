"""A VM on which attempts fail too often gets no more work; a failing program empties no fleet."""

from __future__ import annotations

from dataclasses import replace

from scicore.execution.messages import VmChanged, VmNoticed
from scicore.execution.reliability import Reliability
from scicore.model.activation import ActivationState, RunState
from scicore.model.workflow import Operator
from tests.unit.execution.building import Stage, activity, fleet, plan, relation, workflow

ID = relation("ids", "ID")
WORK = activity("work", Operator.MAP, ID, "ID")


def counted(*vms: tuple[int, int], activity: str = "work") -> Reliability:
    """(attempts, of which failed) of vm-1, vm-2, …"""
    reliability = Reliability(0.9)
    add(reliability, *vms, activity=activity)
    return reliability


def add(reliability: Reliability, *vms: tuple[int, int], activity: str) -> None:
    for number, (attempts, failures) in enumerate(vms, start=1):
        for each in range(attempts):
            reliability.add(f"vm-{number}", activity, failed=each < failures)


# --- the verdict --------------------------------------------------------------------------------


def test_a_vm_that_fails_much_more_often_than_the_others_is_found_out() -> None:
    told = counted((6, 6), (20, 0), (20, 1)).verdict("vm-1")
    assert told.startswith("6 of 6 attempts failed, more than on the other VMs")


def test_a_program_that_fails_everywhere_is_nobodys_fault_but_its_own() -> None:
    reliability = counted((10, 10), (10, 10), (10, 10))
    assert [reliability.verdict(f"vm-{number}") for number in (1, 2, 3)] == ["", "", ""]


def test_a_program_that_ran_on_one_vm_only_says_nothing_about_the_vm() -> None:
    reliability = counted((0, 0), (30, 0))
    add(reliability, (30, 30), activity="broken")
    assert reliability.verdict("vm-1") == ""


def test_few_attempts_say_nothing() -> None:
    assert counted((4, 4), (50, 0)).verdict("vm-1") == ""


def test_a_vm_that_is_as_reliable_as_wanted_may_fail_more_often_than_others() -> None:
    assert counted((100, 9), (1000, 0)).verdict("vm-1") == ""


def test_what_may_be_chance_is_taken_for_chance() -> None:
    assert counted((10, 2), (10, 0), (10, 1)).verdict("vm-1") == ""


# --- in a run -----------------------------------------------------------------------------------


def stage_of(count: int, *slots: int, reliability: float = 0.9, max_attempts: int = 3) -> Stage:
    spec = workflow(ID, tuple((f"t{n}",) for n in range(count)), WORK, max_attempts=max_attempts)
    vms = fleet(*slots)
    names = [vm.id for vm in vms.vms]
    order = {f"work.{n}": names[n % len(names)] for n in range(1, count + 1)}
    stage = Stage(replace(spec, reliability=reliability), plan(vms, order))
    stage.begin(*names)
    return stage


def play(stage: Stage, *bad: str) -> None:
    """Attempts on these VMs fail, all others finish."""
    while running := stage.in_state(ActivationState.RUNNING):
        name = running[0]
        if stage.order(name).vm in bad:
            stage.fail(name)
        else:
            stage.finish(name, ("x",))


def drained(stage: Stage) -> list[tuple[str, str]]:
    changes = [fact for fact in stage.facts() if isinstance(fact, VmChanged)]
    return [(fact.vm, fact.reason) for fact in changes if fact.state == "drained"]


def test_a_bad_vm_is_drained_and_its_work_is_done_by_the_others() -> None:
    stage = stage_of(60, 1, 1, 1)
    play(stage, "vm-2")
    ((vm, reason),) = drained(stage)
    assert vm == "vm-2"
    assert "a reliability of 0.9 is wanted" in reason
    assert stage.execution.state is RunState.FINISHED
    assert "drained" in {entry.moved_because for entry in stage.execution.ledger.entries()}


def test_what_failed_on_a_doubtful_vm_is_tried_on_another() -> None:
    stage = stage_of(2, 1, 1)
    stage.finish("work.2", ("x",))
    stage.fail("work.1")
    assert stage.order("work.1").vm == "vm-1"  # it was vm-2's
    assert stage.execution.ledger[1].moved_because == "failed there"


def test_what_failed_on_one_vm_and_then_on_another_goes_to_a_third() -> None:
    stage = stage_of(3, 1, 1, 1)
    ran = [stage.order("work.1").vm]
    stage.finish("work.2", ("x",))
    stage.finish("work.3", ("x",))
    for _ in range(2):
        stage.fail("work.1")
        ran.append(stage.order("work.1").vm)
    assert sorted(ran) == ["vm-1", "vm-2", "vm-3"]


def test_without_a_wish_for_reliability_nobody_is_drained() -> None:
    stage = stage_of(60, 1, 1, 1, reliability=0.0)
    play(stage, "vm-2")
    assert drained(stage) == []
    assert stage.execution.state is RunState.FAILED


def test_a_failing_program_drains_nobody() -> None:
    stage = stage_of(60, 1, 1, 1, max_attempts=3)
    play(stage, "vm-1", "vm-2", "vm-3")
    assert drained(stage) == []
    assert len(stage.in_state(ActivationState.FAILED)) == 60


def test_the_last_vm_is_never_drained() -> None:
    stage = stage_of(60, 1, 1)
    stage.lose("vm-1")
    play(stage, "vm-2")
    assert drained(stage) == []


def test_a_drained_vm_works_again_when_no_other_is_left() -> None:
    stage = stage_of(80, 1, 1)
    while not drained(stage):
        name = stage.in_state(ActivationState.RUNNING)[0]
        if stage.order(name).vm == "vm-2":
            stage.fail(name)
        else:
            stage.finish(name, ("x",))
    stage.lose("vm-1")
    back = VmChanged(stage.now - 1, "vm-2", "joined", "", "no other VM is left")
    assert back in stage.facts_of_last_event()
    play(stage)
    assert stage.execution.state is RunState.FINISHED


# --- a VM that is taken back --------------------------------------------------------------------


def test_a_vm_that_is_taken_back_ends_what_it_runs_and_gets_nothing_more() -> None:
    stage = stage_of(8, 1, 1, reliability=0.0, max_attempts=1)
    stage.feed(VmNoticed(stage.now, "vm-1", "terminate at noon"))
    assert drained(stage) == [("vm-1", "taken back by the provider: terminate at noon")]
    there = [
        name for name in stage.in_state(ActivationState.RUNNING) if vm_of(stage, name) == "vm-1"
    ]
    assert len(there) == 1
    stage.finish(there[0])
    assert {vm_of(stage, name) for name in stage.in_state(ActivationState.RUNNING)} == {"vm-2"}
    stage.feed(VmNoticed(stage.now, "vm-1", "terminate at noon"))  # it is told again and again
    assert len(drained(stage)) == 1
    play(stage)
    assert stage.execution.state is RunState.FINISHED


def test_what_a_vm_that_was_taken_back_did_not_end_goes_back_without_counting() -> None:
    stage = stage_of(4, 1, 1, reliability=0.0, max_attempts=1)
    stage.feed(VmNoticed(stage.now, "vm-1", "terminate at noon"))
    stage.lose("vm-1")
    play(stage)
    assert stage.execution.state is RunState.FINISHED


def test_the_last_vm_works_on_until_it_is_taken() -> None:
    stage = stage_of(2, 1, reliability=0.0)
    stage.feed(VmNoticed(stage.now, "vm-1", "terminate at noon"))
    assert drained(stage) == []


def vm_of(stage: Stage, name: str) -> str:
    return stage.order(name).vm
