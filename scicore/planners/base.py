"""What all planners share: their protocol, their budget, the check of a problem, the plan.

A planner is pure: no I/O, no clock but the one in its budget; its only randomness comes from the
seed it is given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, cast

import numpy as np

from scicore.errors import UsageError
from scicore.kernel.billing import bill_usd, prices_of
from scicore.kernel.instance import NEVER, Floats, Instance, Ints, instance_of
from scicore.kernel.jit import suited
from scicore.kernel.strict import decode, lengths_ms
from scicore.model.cloud import Fleet
from scicore.model.front import Front
from scicore.model.parameters import Parameters, as_texts
from scicore.model.plan import Assignment, Plan, Policy
from scicore.model.problem import Problem
from scicore.planners.bounds import bounds_of

P = TypeVar("P", bound=Parameters)
LONGEST_S = 1e11  # three thousand years; sums of such runtimes still fit into 64 bits of ms


class Progress(NamedTuple):
    """How far a learner has come."""

    episodes: int  # simulated so far
    makespan_s: float  # of the best plan so far
    lower_bound_s: float


Report = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Budget:
    """So many seconds for planning, counted from here on; the best plan by then is returned."""

    seconds: float
    clock: Callable[[], float]  # in seconds, e.g. time.perf_counter; pure code has none of its own
    began_s: float = field(init=False)

    def __post_init__(self) -> None:
        if not self.seconds >= 0:
            raise UsageError(f"found a budget of {self.seconds} s, expected 0 s or more")
        object.__setattr__(self, "began_s", self.clock())

    @property
    def left_s(self) -> float:
        return self.began_s + self.seconds - self.clock()

    @property
    def spent(self) -> bool:
        return self.left_s <= 0


class Planner(ABC, Generic[P]):
    """Made with its parameters; without them it has the defaults."""

    name: ClassVar[str]  # as the user writes it
    settable: ClassVar[type[Parameters]] = Parameters  # the dataclass that P stands for

    def __init__(self, parameters: P | None = None) -> None:
        self.parameters = parameters or cast("P", self.settable())

    @abstractmethod
    def plan(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Plan:
        """Same problem, seed and policy, same plan, unless a budget cuts the learning short.

        `policy` is what an earlier plan for the same workflow has learned (Plan.policy); planners
        that do not learn ignore it, as they ignore budget and progress.
        """

    def front(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Front:
        """Plans that trade time for money.

        A planner that knows only time is asked about parts of the fleet, too: these cost less.
        """
        from scicore.planners.subfleets import front_over_parts  # which uses planners

        return front_over_parts(self, problem, seed, budget, progress, policy)


# -- the check ----------------------------------------------------------------------------------


def validated(problem: Problem) -> Instance:
    """Refuse what cannot be planned, before any planning; every planner starts with this."""
    _check_fleet(problem.fleet)
    _check_activations(problem)
    _check_runtimes(problem)
    instance = instance_of(problem)
    if len(instance.order) < len(problem.activations):
        raise _cycle_error(problem)
    fits = (instance.runtime_ms != NEVER).any(axis=1)
    if not fits.all():
        raise _too_large(problem, int(np.argmin(fits)))
    return instance


def _check_fleet(fleet: Fleet) -> None:
    if not fleet.vms:
        raise UsageError("the fleet has no VM", "name at least one, e.g. --fleet 2xlocal")
    for vm in fleet.vms:
        kind = vm.type
        for what, value, sound, expected in (
            ("slots", kind.slots, kind.slots >= 1, "at least 1"),
            ("MB of memory", kind.memory_mb, kind.memory_mb >= 0, "0 (unknown) or more"),
            ("s of boot", kind.boot_s, 0 <= kind.boot_s < np.inf, "0 or more"),
            ("MB/s", kind.bandwidth_mb_s, 0 < kind.bandwidth_mb_s < np.inf, "more than 0"),
        ):
            if not sound:
                raise UsageError(f"VM {vm.id}: found {value} {what}, expected {expected}")


def _check_activations(problem: Problem) -> None:
    count = len(problem.activations)
    if len(problem.activities) != count:
        raise UsageError(f"found {len(problem.activities)} activity tags for {count} activations")
    if len(set(problem.activations)) != count:
        raise UsageError("two activations have the same name; a plan could not tell them apart")
    for edge in problem.edges:
        if not all(0 <= index < count for index in edge):
            raise UsageError(f"edge {edge}: expected activations between 0 and {count - 1}")
    for what, values, expected, least in (
        ("cpus", problem.cpus, count, 1),
        ("memory_mb", problem.memory_mb, count, 0),
        ("edge_bytes", problem.edge_bytes, len(problem.edges), 0),
    ):
        if values and len(values) != expected:
            raise UsageError(f"{what}: found {len(values)} values, expected {expected} or none")
        if values and not min(values) >= least:
            raise UsageError(f"{what}: found {min(values)}, expected {least} or more")


def _check_runtimes(problem: Problem) -> None:
    shape = (len(problem.activations), len(problem.fleet.vms))
    if problem.runtime_s.shape != shape:
        raise UsageError(
            f"the runtimes are a matrix of {problem.runtime_s.shape}, expected {shape}: "
            "one row per activation, one column per VM"
        )
    wrong = np.argwhere(~((problem.runtime_s >= 0) & (problem.runtime_s < LONGEST_S)))
    if len(wrong):
        activation, vm = wrong[0]
        raise UsageError(
            f"activation {problem.activations[activation]} on VM {problem.fleet.vms[vm].id}: "
            f"found a runtime of {problem.runtime_s[activation, vm]} s, "
            "expected a finite number of seconds, 0 or more"
        )


def _cycle_error(problem: Problem) -> UsageError:
    import networkx as nx  # slow to import

    cycle = [problem.activations[edge[0]] for edge in nx.find_cycle(problem.graph())]
    shown = " → ".join([*cycle[:8], *(["…"] if len(cycle) > 8 else []), cycle[0]])
    return UsageError(f"the activations wait for each other in a cycle: {shown}")


def _too_large(problem: Problem, index: int) -> UsageError:
    cpus = problem.cpus[index] if problem.cpus else 1
    memory_mb = problem.memory_mb[index] if problem.memory_mb else 0
    wanted = f"{cpus} cpus" + (f" and {memory_mb} MB" if memory_mb else "")
    offered = ", ".join(
        sorted(
            {
                f"{vm.type.name} {vm.type.slots} slots"
                + (f" and {vm.type.memory_mb} MB" if vm.type.memory_mb else "")
                for vm in problem.fleet.vms
            }
        )
    )
    return UsageError(
        f"activation {problem.activations[index]} asks for {wanted}, but fits no VM of the fleet "
        f"{problem.fleet.text} ({offered})",
        f"use a larger VM, e.g. --fleet 1xlocal:{cpus}, or let the activity ask for less",
    )


# -- the plan -----------------------------------------------------------------------------------


def no_bias(instance: Instance) -> tuple[Floats, Ints]:
    """For planners that take the earliest finish time as it is: all activations in one row of 0"""
    count, vms = instance.runtime_ms.shape
    return np.zeros((1, vms)), np.zeros(count, dtype=np.int64)


def order_by_start(instance: Instance, start_ms: Ints, finish_ms: Ints) -> Ints:
    """The plan order of a schedule. The strict rule then starts nothing later than it did.

    What takes no time goes before what starts at the same instant: it holds no slot, and its
    parents that start then take no time, either. Among these the topological order decides.
    """
    place = np.empty(len(start_ms), dtype=np.int64)
    place[instance.order] = np.arange(len(start_ms))
    order: Ints = np.lexsort((place, finish_ms > start_ms, start_ms)).astype(np.int64)
    return order


def makespan_of(instance: Instance, order: Ints, vm_of: Ints) -> int:
    """The objective, in one place: what planners make small."""
    start_ms, finish_ms = np.zeros(len(order), dtype=np.int64), np.zeros(len(order), dtype=np.int64)
    run = suited(decode, len(order))
    length_ms = lengths_ms(instance, vm_of)
    return int(run(instance, order, vm_of, length_ms, start_ms, finish_ms))


def to_plan(
    planner: Planner[Any],
    seed: int,
    problem: Problem,
    instance: Instance,
    order: Ints,
    vm_of: Ints,
    policy: Policy | None = None,
    bound_ms: int | None = None,
) -> Plan:
    """A plan from a topological order and a VM for each activation.

    Its times are those of the strict rule, whatever the planner believed while it worked. A
    planner that knows the bound already, or has proved a better one, hands it in.
    """
    count = len(order)
    start_ms, finish_ms = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    length_ms = lengths_ms(instance, vm_of)
    run = suited(decode, count)
    makespan_ms = int(run(instance, order, vm_of, length_ms, start_ms, finish_ms))
    if bound_ms is None:
        bound_ms = bounds_of(instance).makespan_ms
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    rows = np.lexsort((place, start_ms))  # as they start; each VM's own order stays
    return Plan(
        algorithm=planner.name,
        seed=seed,
        fleet=problem.fleet,
        assignments=tuple(
            map(
                Assignment,
                [problem.activations[row] for row in rows],
                [problem.activities[row] for row in rows],
                [problem.fleet.vms[vm].id for vm in vm_of[rows].tolist()],
                (start_ms[rows] / 1000).tolist(),
                (finish_ms[rows] / 1000).tolist(),
            )
        ),
        makespan_s=makespan_ms / 1000,
        cost_usd=cost_of(problem, instance, vm_of, finish_ms),
        lower_bound_s=bound_ms / 1000,
        parameters=as_texts(planner.parameters),
        policy=policy,
    )


def cost_of(problem: Problem, instance: Instance, vm_of: Ints, finish_ms: Ints) -> float:
    """The other objective: what the schedule costs."""
    run = suited(bill_usd, len(vm_of) + len(instance.parents))
    return float(run(instance, prices_of(problem), vm_of, finish_ms))
