"""Why a VM was chosen: what every other VM would have offered."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from scicore.kernel.instance import NEVER, instance_of
from scicore.kernel.strict import ready_ms
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.plan import Plan
from scicore.model.problem import Problem, milliseconds
from scicore.planners.alternatives import choices
from scicore.planners.heft import Heft
from tests.unit.simulator.drawn import planned

FAST = VmType("fast", 1, 0, 2.0, 0.1, bandwidth_mb_s=1.0)
SLOW = VmType("slow", 1, 0, 1.0, 0.1, bandwidth_mb_s=1.0)


def test_the_faster_vm_is_better_until_it_is_taken() -> None:
    problem = Problem(
        ("a.1", "a.2"),
        ("a", "a"),
        (),
        Fleet((Vm("fast-1", FAST), Vm("slow-1", SLOW)), "1xfast,1xslow"),
        np.array([[5.0, 10.0], [5.0, 10.0]]),
    )
    plan = Heft().plan(problem, seed=0)
    first, second = choices(problem, plan, frozenset({"a.1", "a.2"}))
    assert (first.chosen.vm, first.others[0].vm, first.margin_s) == ("fast-1", "slow-1", 5.0)
    assert (second.chosen.vm, second.chosen.start_s) == ("fast-1", 5.0)
    assert second.margin_s == 0.0  # slow-1 would finish it at 10 s as well


def test_only_what_is_wanted_is_looked_at() -> None:
    problem = Problem(
        ("a.1", "a.2"), ("a", "a"), (), Fleet((Vm("v", FAST),), "1xfast"), np.ones((2, 1))
    )
    (only,) = choices(problem, Heft().plan(problem, seed=0), frozenset({"a.2"}))
    assert (only.activation, only.others, only.margin_s) == ("a.2", (), 0.0)


def reference_ms(problem: Problem, plan: Plan, index: int, vm: int) -> int:
    """The earliest start on another VM, found by trying every millisecond."""
    instance = instance_of(problem)
    names = {name: place for place, name in enumerate(problem.activations)}
    vms = {each.id: place for place, each in enumerate(problem.fleet.vms)}
    vm_of = np.zeros(len(names), dtype=np.int64)
    finish = np.zeros(len(names), dtype=np.int64)
    spans = []
    for each in plan.assignments:
        place = names[each.activation]
        vm_of[place], finish[place] = vms[each.vm], milliseconds(each.finish_s)
        if vms[each.vm] == vm:
            spans.append((milliseconds(each.start_s), milliseconds(each.finish_s), place))
    slots = problem.fleet.vms[vm].type.slots
    memory_mb = problem.fleet.vms[vm].type.memory_mb
    length = int(instance.runtime_ms[index, vm])
    start = max(ready_ms(instance, index, vm, vm_of, finish), int(instance.boot_ms[vm]))
    moments = sorted({start, *(end for _, end, _ in spans if end > start)})
    for moment in moments:
        inside = {moment, *(begin for begin, _, _ in spans if moment < begin < moment + length)}
        fits = True
        for instant in inside:
            running = [place for begin, end, place in spans if begin <= instant < end]
            held = sum(problem.cpus[place] for place in running)
            used_mb = sum(problem.memory_mb[place] for place in running)
            fits &= held + problem.cpus[index] <= slots
            fits &= not memory_mb or used_mb + problem.memory_mb[index] <= memory_mb
        if fits:
            return moment
    raise AssertionError("after the last one there is room")


@given(planned(most=7))
@settings(max_examples=80, deadline=None)
def test_an_alternative_is_the_first_gap_that_is_long_enough(case: tuple[Problem, Plan]) -> None:
    problem, plan = case
    runtime_ms = instance_of(problem).runtime_ms
    vms = {each.id: place for place, each in enumerate(problem.fleet.vms)}
    for choice in choices(problem, plan, frozenset(problem.activations)):
        index = problem.activations.index(choice.activation)
        assert {choice.chosen.vm, *(other.vm for other in choice.others)} == {
            vm for vm, place in vms.items() if runtime_ms[index, place] != NEVER
        }
        for other in choice.others:
            if runtime_ms[index, vms[other.vm]] > 0:
                expected = reference_ms(problem, plan, index, vms[other.vm])
                assert milliseconds(other.start_s) == expected
