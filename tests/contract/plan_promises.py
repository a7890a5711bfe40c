"""What is true of every plan, whoever made it."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from scicore.kernel.strict import decode, lengths_ms
from scicore.model.plan import Plan
from scicore.model.problem import Problem, Transfer, milliseconds, transfer_ms
from scicore.planners.base import validated
from scicore.planners.bounds import bounds_of


def assert_every_promise_is_kept(plan: Plan, task: Problem) -> None:
    assert_every_activation_is_assigned_once(plan, task)
    assert_times_follow_from_the_runtimes(plan, task)
    assert_no_child_starts_before_its_data_are_there(plan, task)
    assert_no_vm_is_over_committed(plan, task)
    assert_the_times_are_those_of_the_strict_rule(plan, task)
    assert_objectives_follow_from_the_assignments(plan, task)
    assert_it_is_not_slower_than_one_after_the_other(plan, task)


def assert_every_activation_is_assigned_once(plan: Plan, task: Problem) -> None:
    assert Counter(item.activation for item in plan.assignments) == Counter(task.activations)
    activity_of = dict(zip(task.activations, task.activities, strict=True))
    assert all(item.activity == activity_of[item.activation] for item in plan.assignments)
    assert {item.vm for item in plan.assignments} <= {vm.id for vm in task.fleet.vms}


def assert_times_follow_from_the_runtimes(plan: Plan, task: Problem) -> None:
    column = {vm.id: number for number, vm in enumerate(task.fleet.vms)}
    row = {name: number for number, name in enumerate(task.activations)}
    for item in plan.assignments:
        vm = column[item.vm]
        assert item.start_s >= (task.fleet.vms[vm].type.boot_s if task.boot else 0)
        runtime_ms = milliseconds(task.runtime_s[row[item.activation], vm])
        assert milliseconds(item.finish_s) == milliseconds(item.start_s) + runtime_ms


def assert_no_child_starts_before_its_data_are_there(plan: Plan, task: Problem) -> None:
    assigned = {item.activation: item for item in plan.assignments}
    place = {item.activation: number for number, item in enumerate(plan.assignments)}
    type_of = {vm.id: vm.type for vm in task.fleet.vms}
    for number, edge in enumerate(task.edges):
        parent, child = (assigned[task.activations[index]] for index in edge)
        size = task.edge_bytes[number] if task.edge_bytes else 0
        if task.transfer is Transfer.NONE or (
            task.transfer is Transfer.EDGE and parent.vm == child.vm
        ):
            size = 0
        shared = task.transfer is Transfer.SHARED
        way_ms = transfer_ms(size, type_of[parent.vm], type_of[child.vm], shared)
        assert milliseconds(child.start_s) >= milliseconds(parent.finish_s) + way_ms
        assert place[parent.activation] < place[child.activation]
    starts_s = [item.start_s for item in plan.assignments]
    assert starts_s == sorted(starts_s)


def assert_no_vm_is_over_committed(plan: Plan, task: Problem) -> None:
    row = {name: number for number, name in enumerate(task.activations)}
    for vm in plan.fleet.vms:
        changes: list[tuple[float, int, int]] = []
        for item in plan.assignments:
            index = row[item.activation]
            cpus = task.cpus[index] if task.cpus else 1
            memory_mb = task.memory_mb[index] if task.memory_mb else 0
            if item.vm == vm.id:
                assert cpus <= vm.type.slots
                assert memory_mb <= (vm.type.memory_mb or math.inf)
            if item.vm == vm.id and item.finish_s > item.start_s:
                changes += [(item.start_s, cpus, memory_mb), (item.finish_s, -cpus, -memory_mb)]
        running = used_mb = 0
        for _, cpus, memory_mb in sorted(changes):  # at the same instant, what ends goes first
            running += cpus
            used_mb += memory_mb
            assert running <= vm.type.slots
            assert used_mb <= (vm.type.memory_mb or math.inf)


def assert_the_times_are_those_of_the_strict_rule(plan: Plan, task: Problem) -> None:
    """Order and VMs are all that a plan decides; its times follow from them."""
    instance = validated(task)
    row = {name: number for number, name in enumerate(task.activations)}
    column = {vm.id: number for number, vm in enumerate(task.fleet.vms)}
    order = np.array([row[item.activation] for item in plan.assignments], dtype=np.int64)
    vm_of, start_ms, finish_ms = (np.zeros(len(order), dtype=np.int64) for _ in range(3))
    vm_of[order] = [column[item.vm] for item in plan.assignments]
    makespan_ms = decode(instance, order, vm_of, lengths_ms(instance, vm_of), start_ms, finish_ms)
    assert makespan_ms == milliseconds(plan.makespan_s)
    for index, item in zip(order, plan.assignments, strict=True):
        assert start_ms[index] == milliseconds(item.start_s)
        assert finish_ms[index] == milliseconds(item.finish_s)


def assert_objectives_follow_from_the_assignments(plan: Plan, task: Problem) -> None:
    assert plan.makespan_s == max((item.finish_s for item in plan.assignments), default=0)
    assert bounds_of(validated(task)).makespan_ms / 1000 <= plan.lower_bound_s <= plan.makespan_s
    released_s: dict[str, float] = {}
    for item in plan.assignments:
        released_s[item.vm] = max(released_s.get(item.vm, 0.0), item.finish_s)
    type_of = {vm.id: vm.type for vm in task.fleet.vms}
    costs_usd = [type_of[vm].cost_usd(seconds) for vm, seconds in released_s.items()]
    assert plan.cost_usd == pytest.approx(sum(costs_usd))


def assert_it_is_not_slower_than_one_after_the_other(plan: Plan, task: Problem) -> None:
    """No planner may be worse than all activations in a row, each with all its data moved, on
    whatever VMs it has chosen."""
    column = {vm.id: number for number, vm in enumerate(task.fleet.vms)}
    row = {name: number for number, name in enumerate(task.activations)}
    serial_ms = sum(
        milliseconds(task.runtime_s[row[item.activation], column[item.vm]])
        for item in plan.assignments
    )
    slowest = min((vm.type for vm in task.fleet.vms), key=lambda kind: kind.bandwidth_mb_s)
    moved_ms = sum(transfer_ms(size, slowest, slowest, True) for size in task.edge_bytes)
    boot_ms = max(milliseconds(vm.type.boot_s) for vm in task.fleet.vms)
    assert milliseconds(plan.makespan_s) <= serial_ms + moved_ms + boot_ms
