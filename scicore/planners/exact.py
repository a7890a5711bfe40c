"""The optimum, for small problems: constraint programming by OR-tools' CP-SAT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scicore.errors import UsageError
from scicore.kernel.instance import NEVER, Instance, Ints
from scicore.kernel.strict import decode, lag_ms, lengths_ms, new_lanes, occupy, opening_ms
from scicore.model.parameters import Parameters, setting
from scicore.model.plan import Plan, Policy
from scicore.model.problem import Problem
from scicore.planners.base import (
    Budget,
    Planner,
    Progress,
    Report,
    makespan_of,
    order_by_start,
    to_plan,
    validated,
)
from scicore.planners.bounds import lower_bound_ms
from scicore.planners.heft import schedule

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


@dataclass(frozen=True, slots=True)
class ExactParameters(Parameters):
    effort: float = setting(
        60.0, "deterministic seconds of search when there is no budget", least=0
    )
    workers: int = setting(1, "threads; with more than one, equal seeds may differ", least=1)


class Group(NamedTuple):
    """VMs that the model need not tell apart."""

    vms: tuple[int, ...]
    slots: int


class Exact(Planner[ExactParameters]):
    """Mixed constraint and integer programming.

    Paper
        None of its own. P. Laborie: IBM ILOG CP Optimizer for Detailed Scheduling, CPAIOR 2009,
        explains the optional intervals; L. Perron, F. Didier: CP-SAT, Google OR-tools, solves.

    Idea
        An activation has one start and, for every VM that it fits, an interval that is either
        present or not; exactly one is. Intervals on a VM never hold more than its slots and its
        memory, children start after their parents and the way of the data. The solver makes the
        last finish small until it proves that nothing is smaller, or until its time is up.

    Symbols
        start[a]   start of activation a, in milliseconds
        on[a, g]   whether a runs on group g

    Differences
        - VMs of one type are one group as long as activations take one slot each and data need
          no way: any set of intervals that fits the slots of all of them fits them one by one.
        - Times are counted in the greatest unit that all runtimes are multiples of.
        - It starts from HEFT's plan, so its result is never worse, however short the time.
        - For small problems: beyond some hundred activations the model alone takes seconds.
    """

    name = "exact"
    settable = ExactParameters

    def plan(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Plan:
        instance = validated(problem)
        order, vm_of = schedule(instance)
        makespan_ms = makespan_of(instance, order, vm_of)
        bound_ms = lower_bound_ms(instance, makespan_ms)
        if makespan_ms > bound_ms and not (budget and budget.spent):
            model = _Model(instance, bound_ms, order, vm_of)
            found, proved_ms = model.solve(seed, self.parameters, budget, progress)
            bound_ms = max(bound_ms, proved_ms)
            if found is not None and makespan_of(instance, *found) < makespan_ms:
                order, vm_of = found
        return to_plan(self, seed, problem, instance, order, vm_of, bound_ms=bound_ms)


def _groups(instance: Instance) -> list[Group]:
    slots = np.diff(instance.slot_at)
    simple = (instance.cpus == 1).all() and not instance.memory_mb.any()
    if simple and not instance.moves_data:
        return [
            Group(tuple(vms.tolist()), int(slots[vms].sum()))
            for kind in range(instance.vm_type.max() + 1)
            for vms in [np.flatnonzero(instance.vm_type == kind)]
        ]
    return [Group((vm,), int(slots[vm])) for vm in range(len(slots))]


def _solver_module() -> Any:
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise UsageError(
            "algorithm exact needs OR-tools, which is not installed",
            "pip install 'scicumulus[exact]'",
        ) from error
    return cp_model


class _Model:
    """The problem in the solver's language, with HEFT's plan as a hint."""

    def __init__(self, instance: Instance, bound_ms: int, order: Ints, vm_of: Ints) -> None:
        cp_model = self._cp = _solver_module()
        self._instance = instance
        self._groups = _groups(instance)
        count = len(instance.order)
        start_ms, finish_ms = (np.zeros(count, dtype=np.int64) for _ in range(2))
        horizon = decode(instance, order, vm_of, lengths_ms(instance, vm_of), start_ms, finish_ms)
        unit = self._unit_ms = self._common_unit_ms()
        horizon, bound_ms = horizon // unit, -(-bound_ms // unit)
        model = self._model = cp_model.CpModel()
        self._start = [model.new_int_var(0, horizon, "") for _ in range(count)]
        self._finish = [model.new_int_var(0, horizon, "") for _ in range(count)]
        self._on: list[dict[int, Any]] = []
        self._intervals: list[list[tuple[int, Any]]] = [[] for _ in self._groups]
        for activation in range(count):
            self._add_activation(activation)
            model.add_hint(self._start[activation], int(start_ms[activation]) // unit)
            for group, chosen in self._on[activation].items():
                model.add_hint(chosen, int(vm_of[activation]) in self._groups[group].vms)
        self._add_edges()
        self._add_capacities()
        makespan = model.new_int_var(bound_ms, horizon, "makespan")
        model.add_max_equality(makespan, self._finish)
        model.minimize(makespan)

    def _common_unit_ms(self) -> int:
        """Every time of a schedule is a sum of these; in larger units proofs are much shorter."""
        instance = self._instance
        if instance.moves_data:
            return 1
        lengths = instance.runtime_ms[instance.runtime_ms != NEVER]
        return int(np.gcd.reduce(np.concatenate([lengths, instance.boot_ms]))) or 1

    def _add_activation(self, activation: int) -> None:
        model, on = self._model, {}
        start, finish = self._start[activation], self._finish[activation]
        for number, group in enumerate(self._groups):
            length = int(self._instance.runtime_ms[activation, group.vms[0]])
            if length == NEVER:
                continue
            length //= self._unit_ms
            on[number] = model.new_bool_var("")
            interval = model.new_optional_fixed_size_interval_var(start, length, on[number], "")
            self._intervals[number].append((activation, interval))
            boot = int(self._instance.boot_ms[group.vms[0]]) // self._unit_ms
            model.add(start >= boot).only_enforce_if(on[number])
        model.add_exactly_one(on.values())
        runtimes = self._instance.runtime_ms[activation] // self._unit_ms
        model.add(finish == start + sum(int(runtimes[self._groups[g].vms[0]]) * on[g] for g in on))
        self._on.append(on)

    def _add_edges(self) -> None:
        instance, model = self._instance, self._model
        for child in range(len(self._start)):
            for at in range(instance.parent_at[child], instance.parent_at[child + 1]):
                parent, size = int(instance.parents[at]), instance.parent_bytes[at]
                model.add(self._start[child] >= self._finish[parent])
                if size == 0:
                    continue
                for sender, sends in self._on[parent].items():
                    for receiver, receives in self._on[child].items():
                        way = lag_ms(instance, size, sender, receiver) // self._unit_ms
                        if way:
                            model.add(
                                self._start[child] >= self._finish[parent] + way
                            ).only_enforce_if([sends, receives])

    def _add_capacities(self) -> None:
        instance, model = self._instance, self._model
        for group, members in zip(self._groups, self._intervals, strict=True):
            intervals = [interval for _, interval in members]
            cpus = [int(instance.cpus[activation]) for activation, _ in members]
            model.add_cumulative(intervals, cpus, group.slots)
            memory_mb = [int(instance.memory_mb[activation]) for activation, _ in members]
            if any(memory_mb) and instance.vm_memory_mb[group.vms[0]]:
                model.add_cumulative(intervals, memory_mb, int(instance.vm_memory_mb[group.vms[0]]))

    def solve(
        self, seed: int, parameters: ExactParameters, budget: Budget | None, progress: Report | None
    ) -> tuple[tuple[Ints, Ints] | None, int]:
        """The best order and VMs found, if any, and the proven bound."""
        solver = self._cp.CpSolver()
        solver.parameters.random_seed = seed
        solver.parameters.num_workers = parameters.workers
        if budget is None:
            solver.parameters.max_deterministic_time = parameters.effort
        else:
            solver.parameters.max_time_in_seconds = max(budget.left_s, 0.01)
        watcher = _watcher(progress, self._unit_ms) if progress else None
        status = solver.solve(self._model, watcher)
        bound_ms = int(np.ceil(solver.best_objective_bound - 1e-6)) * self._unit_ms
        if status not in (self._cp.OPTIMAL, self._cp.FEASIBLE):
            return None, bound_ms
        start = [solver.value(each) * self._unit_ms for each in self._start]
        group = [next(g for g in on if solver.value(on[g])) for on in self._on]
        return self._spread(np.array(start, dtype=np.int64), group), bound_ms

    def _spread(self, start_ms: Ints, group: Sequence[int]) -> tuple[Ints, Ints]:
        """One VM of its group for each activation: one that is free when it starts."""
        instance = self._instance
        vm_of = np.array([self._groups[number].vms[0] for number in group], dtype=np.int64)
        finish_ms = start_ms + lengths_ms(instance, vm_of)
        order = order_by_start(instance, start_ms, finish_ms)
        lanes = new_lanes(instance)
        for activation in order:
            vm_of[activation] = vm = min(
                self._groups[group[activation]].vms,
                key=lambda vm: opening_ms(instance, lanes, activation, vm, start_ms[activation]),
            )
            start, finish = int(start_ms[activation]), int(finish_ms[activation])
            occupy(instance, lanes, int(activation), vm, start, finish)
        return order, vm_of


def _watcher(progress: Report, unit_ms: int) -> cp_model.CpSolverSolutionCallback:
    from ortools.sat.python import cp_model

    class Watcher(cp_model.CpSolverSolutionCallback):
        def __init__(self) -> None:
            super().__init__()
            self.solutions = 0

        def on_solution_callback(self) -> None:
            self.solutions += 1
            bound_s = self.best_objective_bound * unit_ms / 1000
            progress(Progress(self.solutions, self.objective_value * unit_ms / 1000, bound_s))

    return Watcher()
