"""A problem as arrays of whole milliseconds: the form in which the kernel works on it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scicore.kernel.jit import suited
from scicore.model.plan import Plan
from scicore.model.problem import Problem, Transfer, bytes_per_ms

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NEVER = -1  # runtime of an activation on a VM that it does not fit


class Instance(NamedTuple):
    """Activations and VMs are indices. Ragged lists are flat: those of i from `_at[i]` on."""

    runtime_ms: Ints  # [activation, VM]; NEVER where it does not fit
    cpus: Ints
    memory_mb: Ints  # 0 = unknown
    parent_at: Ints  # [activation + 1]
    parents: Ints
    parent_bytes: Floats
    child_at: Ints
    children: Ints
    child_bytes: Floats
    order: Ints  # topological; shorter than the activations when they form a cycle
    slot_at: Ints  # [VM + 1]: the VMs' slots, numbered through
    vm_memory_mb: Ints  # 0 = unknown
    vm_type: Ints  # VMs of one type and with one column of runtimes have the same number
    boot_ms: Ints
    bytes_per_ms: Floats
    shared: int  # 1: data goes through a shared storage, 0: from VM to VM
    moves_data: int  # 0: no edge carries bytes, so every VM is equally near


def instance_of(problem: Problem) -> Instance:
    """The problem's shape must have been checked before; its graph may have cycles."""
    count, vms = len(problem.activations), problem.fleet.vms
    edges = np.array(problem.edges, dtype=np.int64).reshape(-1, 2)
    sizes = np.zeros(len(edges)) if problem.transfer is Transfer.NONE else _bytes(problem)
    parent_at, parents, parent_bytes = _ragged(edges[:, 1], edges[:, 0], sizes, count)
    child_at, children, child_bytes = _ragged(edges[:, 0], edges[:, 1], sizes, count)
    cpus = np.array(problem.cpus or (1,) * count, dtype=np.int64)
    memory_mb = np.array(problem.memory_mb or (0,) * count, dtype=np.int64)
    slots = np.array([vm.type.slots for vm in vms], dtype=np.int64)
    vm_memory_mb = np.array([vm.type.memory_mb for vm in vms], dtype=np.int64)
    fits = (cpus[:, None] <= slots) & ((vm_memory_mb == 0) | (memory_mb[:, None] <= vm_memory_mb))
    runtime_ms = np.rint(problem.runtime_s * 1000).astype(np.int64)
    search = suited(topological_order, count + len(edges))
    return Instance(
        runtime_ms=np.ascontiguousarray(np.where(fits, runtime_ms, NEVER)),
        cpus=cpus,
        memory_mb=memory_mb,
        parent_at=parent_at,
        parents=parents,
        parent_bytes=parent_bytes,
        child_at=child_at,
        children=children,
        child_bytes=child_bytes,
        order=search(parent_at, child_at, children),
        slot_at=np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(slots)]),
        vm_memory_mb=vm_memory_mb,
        vm_type=_types(problem),
        boot_ms=np.array(
            [round(vm.type.boot_s * 1000) if problem.boot else 0 for vm in vms], dtype=np.int64
        ),
        bytes_per_ms=np.array([bytes_per_ms(vm.type) for vm in vms], dtype=np.float64),
        shared=int(problem.transfer is Transfer.SHARED),
        moves_data=int(sizes.any()),
    )


def arrays_of(problem: Problem, plan: Plan) -> tuple[Ints, Ints]:
    """The plan's order of activations, and the VM of each, as the kernel takes them.

    It may be a plan for a part of the problem's fleet."""
    index = {name: place for place, name in enumerate(problem.activations)}
    vms = {vm.id: place for place, vm in enumerate(problem.fleet.vms)}
    order = np.array([index[each.activation] for each in plan.assignments], dtype=np.int64)
    vm_of = np.zeros(len(order), dtype=np.int64)
    vm_of[order] = [vms[each.vm] for each in plan.assignments]
    return order, vm_of


def _bytes(problem: Problem) -> Floats:
    return np.array(problem.edge_bytes or (0,) * len(problem.edges), dtype=np.float64)


def _ragged(keys: Ints, values: Ints, sizes: Floats, count: int) -> tuple[Ints, Ints, Floats]:
    """Values and sizes grouped by key, in the order given."""
    by_key = np.argsort(keys, kind="stable")
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(keys, minlength=count), out=starts[1:])
    return starts, np.ascontiguousarray(values[by_key]), np.ascontiguousarray(sizes[by_key])


def _types(problem: Problem) -> Ints:
    """Equal VMs have equal numbers. A planner may swap them without changing a schedule."""
    numbers: dict[tuple[object, bytes], int] = {}
    columns = np.ascontiguousarray(problem.runtime_s.T)
    return np.array(
        [
            numbers.setdefault((vm.type, column.tobytes()), len(numbers))
            for vm, column in zip(problem.fleet.vms, columns, strict=True)
        ],
        dtype=np.int64,
    )


def topological_order(parent_at: Ints, child_at: Ints, children: Ints) -> Ints:
    """First those without parents, in their own order, then each as its last parent is passed."""
    count = len(parent_at) - 1
    order = np.empty(count, dtype=np.int64)
    waiting_for = np.empty(count, dtype=np.int64)
    known = 0
    for index in range(count):
        waiting_for[index] = parent_at[index + 1] - parent_at[index]
        if waiting_for[index] == 0:
            order[known] = index
            known += 1
    passed = 0
    while passed < known:
        index = order[passed]
        passed += 1
        for at in range(child_at[index], child_at[index + 1]):
            child = children[at]
            waiting_for[child] -= 1
            if waiting_for[child] == 0:
                order[known] = child
                known += 1
    return order[:known]
