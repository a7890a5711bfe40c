"""What all planners share: their protocol, the check of a problem, the VMs' timetable, the plan.

A planner is pure: no clock, no I/O; its only randomness comes from the seed it is given.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import networkx as nx
import numpy as np

from scicore.errors import UsageError
from scicore.model.cloud import Fleet
from scicore.model.plan import Assignment, Plan
from scicore.model.problem import Problem
from scicore.planners.bounds import lower_bound_s


class Planner(Protocol):
    name: str  # as the user writes it

    def plan(self, problem: Problem, seed: int) -> Plan:
        """Same problem and seed, same plan."""
        ...


@dataclass(frozen=True, slots=True)
class Precedence:
    """The edges of a problem as planners walk them; activations are indices."""

    order: tuple[int, ...]  # topological; of several possible orders, the smallest
    position: tuple[int, ...]  # topological index of each activation, the inverse of `order`
    parents: tuple[tuple[int, ...], ...]
    children: tuple[tuple[int, ...], ...]


class Placement(NamedTuple):
    """Where and when a planner puts an activation."""

    vm: int  # index within the fleet
    start_s: float
    finish_s: float


# -- the check ----------------------------------------------------------------------------------


def validated(problem: Problem) -> Precedence:
    """Refuse what cannot be planned, before any planning; every planner starts with this."""
    _check_fleet(problem.fleet)
    _check_activations(problem)
    _check_runtimes(problem)
    graph = problem.graph()
    try:
        order = tuple(nx.lexicographical_topological_sort(graph))
    except nx.NetworkXUnfeasible as error:
        raise _cycle_error(problem, graph) from error
    position = [0] * len(order)
    for place, index in enumerate(order):
        position[index] = place
    nodes = range(len(order))
    return Precedence(
        order,
        tuple(position),
        parents=tuple(tuple(graph.predecessors(index)) for index in nodes),
        children=tuple(tuple(graph.successors(index)) for index in nodes),
    )


def _check_fleet(fleet: Fleet) -> None:
    if not fleet.vms:
        raise UsageError("the fleet has no VM", "name at least one, e.g. --fleet 2xlocal")
    for vm in fleet.vms:
        if vm.type.slots < 1:
            raise UsageError(f"VM {vm.id}: found {vm.type.slots} slots, expected at least 1")


def _check_activations(problem: Problem) -> None:
    count = len(problem.activations)
    if len(problem.activities) != count:
        raise UsageError(f"found {len(problem.activities)} activity tags for {count} activations")
    if len(set(problem.activations)) != count:
        raise UsageError("two activations have the same name; a plan could not tell them apart")
    for edge in problem.edges:
        if not all(0 <= index < count for index in edge):
            raise UsageError(f"edge {edge}: expected activations between 0 and {count - 1}")


def _check_runtimes(problem: Problem) -> None:
    shape = (len(problem.activations), len(problem.fleet.vms))
    if problem.runtime_s.shape != shape:
        raise UsageError(
            f"the runtimes are a matrix of {problem.runtime_s.shape}, expected {shape}: "
            "one row per activation, one column per VM"
        )
    wrong = np.argwhere(~(np.isfinite(problem.runtime_s) & (problem.runtime_s >= 0)))
    if len(wrong):
        activation, vm = wrong[0]
        raise UsageError(
            f"activation {problem.activations[activation]} on VM {problem.fleet.vms[vm].id}: "
            f"found a runtime of {problem.runtime_s[activation, vm]} s, "
            "expected a finite number of seconds, 0 or more"
        )


def _cycle_error(problem: Problem, graph: nx.DiGraph[int]) -> UsageError:
    cycle = [problem.activations[edge[0]] for edge in nx.find_cycle(graph)]
    shown = " → ".join([*cycle[:8], *(["…"] if len(cycle) > 8 else []), cycle[0]])
    return UsageError(f"the activations wait for each other in a cycle: {shown}")


# -- the timetable ------------------------------------------------------------------------------


class Opening(NamedTuple):
    """The earliest time at which something fits on a VM, and the slot where it does."""

    start_s: float
    slot: int


class _Full(NamedTuple):
    """No interval of some length can start from here on until there."""

    from_s: float
    to_s: float


class Timetable:
    """The idle gaps of every slot of every VM, for planners that insert into them.

    Gaps only ever shrink, so what was found full stays full. The last finding for each length is
    kept: activations of one activity are often estimated alike, and thousands of them must not
    try the same small gaps again.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._slots = [[_Slot() for _ in range(vm.type.slots)] for vm in fleet.vms]
        self._full: list[dict[float, _Full]] = [{} for _ in fleet.vms]  # by length

    def earliest(self, vm: int, ready_s: float, length_s: float) -> Opening:
        """Where an interval of this length can start soonest, over all slots of the VM."""
        full = self._full[vm].get(length_s)
        if full and full.from_s <= ready_s <= full.to_s:
            from_s, search_s = full
        else:
            from_s = search_s = ready_s
        opening = self._search(vm, search_s, length_s)
        self._full[vm][length_s] = _Full(from_s, opening.start_s)
        return opening

    def _search(self, vm: int, ready_s: float, length_s: float) -> Opening:
        best = Opening(math.inf, 0)
        for number, slot in enumerate(self._slots[vm]):
            start_s = slot.earliest(ready_s, length_s, before_s=best.start_s)
            if start_s < best.start_s:
                best = Opening(start_s, number)
                if start_s <= ready_s:
                    break
        return best

    def reserve(self, vm: int, slot: int, start_s: float, finish_s: float) -> None:
        """Take an interval that `earliest` has offered."""
        self._slots[vm][slot].reserve(start_s, finish_s)


class _Slot:
    """The gaps of one slot: disjoint, ascending, the last one without end.

    Gaps are kept rather than reservations, because schedules have few of them: most reservations
    follow one another closely.
    """

    __slots__ = ("_ends_s", "_starts_s")

    def __init__(self) -> None:
        self._starts_s = [0.0]
        self._ends_s = [math.inf]

    def earliest(self, ready_s: float, length_s: float, before_s: float) -> float:
        """The earliest start; infinite as soon as none before `before_s` is possible."""
        gap = bisect_left(self._ends_s, ready_s + length_s)
        while True:
            start_s = max(self._starts_s[gap], ready_s)
            if start_s >= before_s:
                return math.inf
            if start_s + length_s <= self._ends_s[gap]:
                return start_s
            gap += 1

    def reserve(self, start_s: float, finish_s: float) -> None:
        if finish_s <= start_s:
            return  # what takes no time leaves the gap whole
        gap = bisect_right(self._starts_s, start_s) - 1
        end_s = self._ends_s[gap]
        left = [(self._starts_s[gap], start_s)] if self._starts_s[gap] < start_s else []
        right = [(finish_s, end_s)] if finish_s < end_s else []
        self._starts_s[gap : gap + 1] = [start for start, _ in left + right]
        self._ends_s[gap : gap + 1] = [end for _, end in left + right]


# -- the plan -----------------------------------------------------------------------------------


def to_plan(
    algorithm: str,
    seed: int,
    problem: Problem,
    precedence: Precedence,
    placements: Sequence[Placement],
) -> Plan:
    """A plan from the placement of each activation, in the order of the activations.

    Assignments are ordered by start; at the same start the topological index decides, so that
    a parent that takes no time stands before its child.
    """
    order = sorted(
        range(len(placements)),
        key=lambda index: (placements[index].start_s, precedence.position[index]),
    )
    makespan_s = max((placement.finish_s for placement in placements), default=0.0)
    return Plan(
        algorithm=algorithm,
        seed=seed,
        fleet=problem.fleet,
        assignments=tuple(_assignment(problem, index, placements[index]) for index in order),
        makespan_s=makespan_s,
        cost_usd=_cost_usd(problem.fleet, placements),
        # The bound adds up in another order; a rounding error must not put it above the plan.
        lower_bound_s=min(lower_bound_s(problem), makespan_s),
    )


def _assignment(problem: Problem, index: int, placement: Placement) -> Assignment:
    return Assignment(
        activation=problem.activations[index],
        activity=problem.activities[index],
        vm=problem.fleet.vms[placement.vm].id,
        start_s=placement.start_s,
        finish_s=placement.finish_s,
    )


def _cost_usd(fleet: Fleet, placements: Sequence[Placement]) -> float:
    """Every VM is paid from the start of the run to its last finish."""
    released_s = [0.0] * len(fleet.vms)
    for placement in placements:
        released_s[placement.vm] = max(released_s[placement.vm], placement.finish_s)
    return sum(vm.type.cost_usd(seconds) for vm, seconds in zip(fleet.vms, released_s, strict=True))
