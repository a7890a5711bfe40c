"""Which VMs are worth renting, and what parts of a fleet are worth looking at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scicore.errors import UsageError
from scicore.kernel.instance import instance_of
from scicore.model.cloud import Fleet, Vm, VmType, parse_fleet
from scicore.model.front import dominates
from scicore.model.problem import Problem
from scicore.planners import planner
from scicore.planners.mixes import Room, best_mixes, mixed
from scicore.planners.subfleets import parts_of, quick_parts, restricted, text_of, without_idle

CHEAP = VmType("cheap", 1, 1000, 1.0, 1.0)
FAST = VmType("fast", 2, 8000, 4.0, 20.0)
ROBBERY = VmType("robbery", 1, 1000, 1.0, 5.0)  # as good as cheap, and dearer
TYPES = (CHEAP, FAST, ROBBERY)


def problem(
    count: int = 12, memory_mb: int = 0, types: tuple[VmType, ...] = TYPES, each: int = 1
) -> Problem:
    vms = tuple(Vm(f"{kind.name}-{n}", kind) for kind in types for n in range(1, each + 1))
    seconds = np.linspace(100, 400, count)
    return Problem(
        tuple(f"a.{index}" for index in range(count)),
        ("a",) * count,
        (),
        Fleet(vms, text_of(vms)),
        seconds[:, None] / np.array([vm.type.speed for vm in vms]),
        memory_mb=(memory_mb,) * count,
    )


def test_mixes_beat_each_other_in_time_or_money_and_keep_to_the_room() -> None:
    task, room = problem(), Room(vms=5, slots=7)
    mixes = best_mixes(task, room)
    points = [mix.point for mix in mixes]
    assert len(mixes) > 2
    assert not any(dominates(one, other) for one in points for other in points)
    for mix in mixes:
        cheap, fast, robbery = mix.counts
        assert robbery == 0
        assert cheap + fast <= 5
        assert cheap + 2 * fast <= 7
        heft = planner("heft").plan(mixed(task, mix.counts), 0)
        assert (heft.makespan_s, heft.cost_usd) == pytest.approx(mix.point)
    assert mixes[-1].counts[1] == 0  # the cheap ones alone, who never wait
    assert mixes[0].counts[1] == 3  # as many fast ones as the quota allows


def test_a_type_that_has_no_room_for_an_activation_is_not_alone_in_a_mix() -> None:
    mixes = best_mixes(problem(memory_mb=4000), Room(4, 8))
    assert all(mix.counts[1] for mix in mixes)
    with pytest.raises(UsageError, match="at most 4 VMs and 1 vCPUs"):
        best_mixes(problem(memory_mb=4000), Room(4, 1))


def test_a_mix_has_vms_with_names_and_columns_of_its_own() -> None:
    task = mixed(problem(), (2, 1, 0))
    assert task.fleet.text == "2xcheap,1xfast"
    assert [vm.id for vm in task.fleet.vms] == ["cheap-1", "cheap-2", "fast-1"]
    assert task.runtime_s[:, 0].tolist() == task.runtime_s[:, 1].tolist()


# --- parts of a fleet -----------------------------------------------------------------------------


def test_parts_are_numbers_of_equal_vms_and_the_whole_fleet_is_the_first() -> None:
    task = problem(each=4)
    parts = list(parts_of(instance_of(task)))
    assert parts[0] == list(range(12))
    assert len({tuple(part) for part in parts}) == len(parts)
    assert [0] in parts
    assert all(parts)


def test_of_a_fleet_with_many_classes_only_some_parts_are_looked_at() -> None:
    many = tuple(VmType(f"t{n}", 1, 0, 1.0 + n, 1.0) for n in range(12))
    parts = list(parts_of(instance_of(problem(types=many))))
    assert 100 < len(parts) <= 240
    assert max(map(len, parts)) == 12


def test_promising_parts_beat_each_other_and_unused_vms_are_left_out() -> None:
    task = problem(each=2)
    parts = quick_parts(task, instance_of(task))
    points = [part.point for part in parts]
    assert points == sorted(points)
    assert not any(dominates(one, other) for one in points for other in points)
    assert parts[-1].vms == [0, 1]  # the cheap ones
    smallest = restricted(task, parts[-1].vms)
    assert smallest.runtime_s.shape == (12, 2)
    plan = planner("heft").front(task, 0).plans[-1]
    less, trimmed = without_idle(task, plan)
    assert trimmed.fleet == less.fleet
    assert len(less.fleet.vms) == len({each.vm for each in plan.assignments}) < 6
    assert trimmed.cost_usd == plan.cost_usd


def test_vms_that_are_left_are_numbered_as_if_they_had_been_asked_for_alone() -> None:
    task = problem(count=2, types=(CHEAP,), each=3)
    whole = planner("heft").plan(task, 0)
    on_two = replace(
        whole, assignments=tuple(replace(each, vm="cheap-3") for each in whole.assignments)
    )
    less, trimmed = without_idle(task, on_two)
    assert trimmed.fleet == less.fleet == parse_fleet("1xcheap", {"cheap": CHEAP})
    assert {each.vm for each in trimmed.assignments} == {"cheap-1"}


def test_local_vms_are_written_as_the_user_writes_them() -> None:
    local = VmType("local", 4, 0, 1.0, 0.0)
    assert text_of([Vm("local-1", local), Vm("x-1", CHEAP)]) == "1xlocal:4,1xcheap"
