"""A Q table as plain data: kept with a plan, and recalled for another fleet or another input."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from scicore.errors import UsageError
from scicore.kernel.instance import Floats, Ints
from scicore.kernel.reassign_episode import Memory
from scicore.model.plan import Policy
from scicore.model.problem import Problem

KIND = "q-table"
DIGITS = 6  # more say nothing, and a table of 10,000 activations is large enough


def kept(memory: Memory, problem: Problem, order: Ints, vm_of: Ints, makespan_s: float) -> Policy:
    """`order`, `vm_of` and `makespan_s` are those of the best episode, which is kept beside."""
    vms = [vm.id for vm in problem.fleet.vms]
    return {
        "kind": KIND,
        "activations": list(problem.activations),
        "activities": list(problem.activities),
        "vms": vms,
        "vm_types": [vm.type.name for vm in problem.fleet.vms],
        "q": np.round(memory.q, DIGITS).tolist(),
        "executed": memory.executed.tolist(),
        "execution_s": memory.execution_s.tolist(),
        "queue_s": memory.queue_s.tolist(),
        "index_squares": memory.index_squares.tolist(),
        "best_episode": {
            "makespan_s": makespan_s,
            "assignments": [[problem.activations[at], vms[vm_of[at]]] for at in order],
        },
    }


def recalled(policy: Policy | None, problem: Problem, chance: np.random.Generator) -> Memory:
    """What a policy says about this problem; the rest is random, as without a policy.

    An activation is known by its name, or else as the mean of its activity. A VM is known by its
    id and type, or else as the mean of its type.
    """
    shape = (len(problem.activations), len(problem.fleet.vms))
    q = chance.random(shape)
    if policy is None:
        return _memory(q, [np.zeros(shape[1])] * 4)
    if policy.get("kind") != KIND:
        raise UsageError(f"the policy is a {policy.get('kind')!r}, expected a {KIND!r}")
    old: Any = policy
    old_vms = list(zip(old["vms"], old["vm_types"], strict=True))
    new_vms = [(vm.id, vm.type.name) for vm in problem.fleet.vms]
    table = np.array(old["q"], dtype=np.float64).reshape(-1, len(old_vms))
    by_vm = _carried(
        table.T, old_vms, old["vm_types"], new_vms, [vm.type.name for vm in problem.fleet.vms]
    ).T
    old_names = list(zip(old["activations"], old["activities"], strict=True))
    new_names = list(zip(problem.activations, problem.activities, strict=True))
    known = _carried(by_vm, old_names, old["activities"], new_names, problem.activities)
    q[:] = np.where(np.isnan(known), q, known)
    place = {name: at for at, name in enumerate(old_vms)}
    statistics = [
        np.array([old[key][place[vm]] if vm in place else 0.0 for vm in new_vms], dtype=np.float64)
        for key in ("executed", "execution_s", "queue_s", "index_squares")
    ]
    return _memory(q, statistics)


def _memory(q: Floats, statistics: list[Floats]) -> Memory:
    executed, execution_s, queue_s, index_squares = (each.copy() for each in statistics)
    return Memory(q, executed, execution_s, queue_s, index_squares, np.zeros(1))


def _carried(
    rows: Floats,
    old: Sequence[Hashable],
    old_groups: Sequence[str],
    new: Sequence[Hashable],
    new_groups: Sequence[str],
) -> Floats:
    """Rows for the new names: the same name's, or the mean of its group, or not a number."""
    place = {name: at for at, name in enumerate(old)}
    groups = {group: at for at, group in enumerate(dict.fromkeys(old_groups))}
    group_of = np.array([groups[group] for group in old_groups], dtype=np.int64)
    sums = np.zeros((len(groups), rows.shape[1]))
    np.add.at(sums, group_of, rows)
    means = sums / np.bincount(group_of, minlength=len(groups))[:, None]
    carried = np.full((len(new), rows.shape[1]), np.nan)
    for at, (name, group) in enumerate(zip(new, new_groups, strict=True)):
        if name in place:
            carried[at] = rows[place[name]]
        elif group in groups:
            carried[at] = means[groups[group]]
    return carried
