"""What else could have been done with an activation: its finish on every other VM.

Everything else stays where the plan has it; the activation may slip into any gap that is long
enough. So this tells why a single choice was made, not whether the whole plan is the best one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scicore.kernel.instance import NEVER, Instance, Ints, instance_of
from scicore.kernel.jit import suited
from scicore.kernel.strict import ready_ms
from scicore.model.plan import Plan
from scicore.model.problem import Problem


class Option(NamedTuple):
    """An activation on a VM."""

    vm: str
    ready_s: float  # its data are there
    start_s: float
    finish_s: float

    @property
    def runtime_s(self) -> float:
        return self.finish_s - self.start_s


@dataclass(frozen=True, slots=True)
class Choice:
    activation: str
    activity: str
    chosen: Option
    others: tuple[Option, ...]  # VMs that it fits, earliest finish first

    @property
    def margin_s(self) -> float:
        """How much later the best other VM would finish it; negative: it would be earlier."""
        return self.others[0].finish_s - self.chosen.finish_s if self.others else 0.0


class Usage(NamedTuple):
    """Slots in use on each VM over time; those of VM v stand from `at[v]` on, ascending."""

    at: Ints
    from_ms: Ints
    slots: Ints  # from this time on
    memory_mb: Ints


def choices(problem: Problem, plan: Plan, wanted: frozenset[str]) -> list[Choice]:
    """Of the activations `wanted`, by name, in the order of the plan."""
    instance = instance_of(problem)
    index = {name: place for place, name in enumerate(problem.activations)}
    vms = {vm.id: place for place, vm in enumerate(problem.fleet.vms)}
    vm_of = np.zeros(len(index), dtype=np.int64)
    start_ms, finish_ms = np.zeros(len(index), dtype=np.int64), np.zeros(len(index), dtype=np.int64)
    for each in plan.assignments:
        place = index[each.activation]
        vm_of[place] = vms[each.vm]
        start_ms[place], finish_ms[place] = round(each.start_s * 1000), round(each.finish_s * 1000)
    usage = _usage(instance, vm_of, start_ms, finish_ms)
    chosen = np.array(
        [index[each.activation] for each in plan.assignments if each.activation in wanted],
        dtype=np.int64,
    )
    steps = len(chosen) * len(vms) * max(1, len(usage.from_ms) // max(1, len(vms)))
    search = suited(openings, steps)
    ready, start = search(instance, usage, chosen, vm_of, finish_ms)
    return [
        _choice(problem, instance, place, ready[row].tolist(), start[row].tolist(), own)
        for row, place in enumerate(chosen.tolist())
        for own in [(int(vm_of[place]), int(start_ms[place]), int(finish_ms[place]))]
    ]


def _choice(
    problem: Problem,
    instance: Instance,
    activation: int,
    ready_ms: list[int],
    start_ms: list[int],
    planned: tuple[int, int, int],  # VM, start, finish
) -> Choice:
    runtime_ms: list[int] = instance.runtime_ms[activation].tolist()
    names = [vm.id for vm in problem.fleet.vms]
    vm, start, finish = planned
    others = [
        Option(names[other], ready_ms[other] / 1000, begin / 1000, (begin + length) / 1000)
        for other, (begin, length) in enumerate(zip(start_ms, runtime_ms, strict=True))
        if length != NEVER and other != vm
    ]
    return Choice(
        problem.activations[activation],
        problem.activities[activation],
        Option(names[vm], ready_ms[vm] / 1000, start / 1000, finish / 1000),
        tuple(sorted(others, key=lambda option: option.finish_s)),
    )


def _usage(instance: Instance, vm_of: Ints, start_ms: Ints, finish_ms: Ints) -> Usage:
    at, times, slots, memory = [0], [], [], []
    for vm in range(len(instance.boot_ms)):
        own = np.flatnonzero((vm_of == vm) & (finish_ms > start_ms))
        moments = np.concatenate([finish_ms[own], start_ms[own]])
        by_time = np.argsort(moments, kind="stable")  # who ends makes room for who starts then
        cpus, needs_mb = instance.cpus[own], instance.memory_mb[own]
        times.append(moments[by_time])
        slots.append(np.cumsum(np.concatenate([-cpus, cpus])[by_time]))
        memory.append(np.cumsum(np.concatenate([-needs_mb, needs_mb])[by_time]))
        at.append(at[-1] + len(moments))
    return Usage(
        np.array(at, dtype=np.int64),
        np.concatenate(times).astype(np.int64),
        np.concatenate(slots).astype(np.int64),
        np.concatenate(memory).astype(np.int64),
    )


def openings(
    instance: Instance, usage: Usage, chosen: Ints, vm_of: Ints, finish_ms: Ints
) -> tuple[Ints, Ints]:
    """When the data of each chosen activation are on each VM, and when it could start there."""
    vms = len(instance.boot_ms)
    ready = np.zeros((len(chosen), vms), dtype=np.int64)
    start = np.zeros((len(chosen), vms), dtype=np.int64)
    for row in range(len(chosen)):
        activation = chosen[row]
        for vm in range(vms):
            length = instance.runtime_ms[activation, vm]
            if length >= 0:
                there = ready_ms(instance, activation, vm, vm_of, finish_ms)
                ready[row, vm] = there
                earliest = max(there, instance.boot_ms[vm])
                start[row, vm] = gap_ms(instance, usage, activation, vm, earliest, length)
    return ready, start


def gap_ms(
    instance: Instance, usage: Usage, activation: int, vm: int, earliest: int, length: int
) -> int:
    """The first time from `earliest` on at which its slots and memory are free for long enough."""
    slots = instance.slot_at[vm + 1] - instance.slot_at[vm]
    memory_mb = instance.vm_memory_mb[vm]
    begin, end = usage.at[vm], usage.at[vm + 1]
    start = earliest
    step = begin
    while step < end and usage.from_ms[step] <= start:
        step += 1
    step -= 1  # the usage that holds at `start`
    while step < end:
        full = step >= begin and (
            usage.slots[step] + instance.cpus[activation] > slots
            or (
                memory_mb > 0 and usage.memory_mb[step] + instance.memory_mb[activation] > memory_mb
            )
        )
        step += 1
        if full:
            # what takes no time needs room, too, from the moment it starts
            if step < end and usage.from_ms[step] > start:
                start = usage.from_ms[step]
        elif step >= end or usage.from_ms[step] >= start + length:
            return int(start)
    return int(start)
