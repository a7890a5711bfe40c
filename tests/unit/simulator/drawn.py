"""Any small problem with any plan for it, made up by hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from scicore.kernel.instance import NEVER, instance_of
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.plan import Plan
from scicore.model.problem import Problem, Transfer
from scicore.planners.base import to_plan
from scicore.planners.fcfs import Fcfs

TYPES = st.builds(
    VmType,
    name=st.sampled_from(["small", "large"]),
    slots=st.integers(1, 3),
    memory_mb=st.sampled_from([0, 100, 250]),
    speed=st.just(1.0),
    price_usd_per_hour=st.sampled_from([0.1, 2.0]),
    boot_s=st.sampled_from([0.0, 0.005, 30.0]),
    bandwidth_mb_s=st.sampled_from([0.3, 20.0, 125.0]),
)
ROOMY = VmType("roomy", 3, 250, 1.0, 0.5)  # whatever is drawn fits there


@st.composite
def problems(draw: st.DrawFn, most: int = 12) -> Problem:
    kinds = [*draw(st.lists(TYPES, max_size=3)), ROOMY]
    vms = tuple(Vm(f"vm-{number}", kind) for number, kind in enumerate(kinds))
    count = draw(st.integers(0, most))
    order = draw(st.permutations(range(count)))
    pairs = st.tuples(st.integers(0, most - 1), st.integers(0, most - 1))
    drawn = draw(st.lists(pairs, max_size=2 * most))
    edges = tuple(dict.fromkeys((order[a], order[b]) for a, b in drawn if a < b < count))
    runtime_ms = st.sampled_from([0, 1, 2, 3, 5, 10, 20_000])
    return Problem(
        activations=tuple(f"{draw(st.sampled_from('ab'))}.{index}.7" for index in range(count)),
        activities=tuple(draw(st.sampled_from(["a", "b"])) for _ in range(count)),
        edges=edges,
        fleet=Fleet(vms, "drawn"),
        runtime_s=np.array([[draw(runtime_ms) / 1000 for _ in vms] for _ in range(count)]).reshape(
            count, len(vms)
        ),
        edge_bytes=tuple(draw(st.sampled_from([0, 100, 3000, 10**6])) for _ in edges),
        cpus=tuple(draw(st.integers(1, 3)) for _ in range(count)),
        memory_mb=tuple(draw(st.sampled_from([0, 50, 120])) for _ in range(count)),
        transfer=draw(st.sampled_from(Transfer)),
        boot=draw(st.booleans()),
    )


@st.composite
def planned(draw: st.DrawFn, most: int = 12) -> tuple[Problem, Plan]:
    """Activations in any topological order, each on any VM that it fits."""
    problem = draw(problems(most))
    instance = instance_of(problem)
    count = len(problem.activations)
    urgency = np.array([draw(st.integers(0, 3)) for _ in range(count)])
    order = topological(problem, urgency.tolist())
    vm_of = np.array(
        [
            draw(st.sampled_from(np.flatnonzero(row != NEVER).tolist()))
            for row in instance.runtime_ms
        ],
        dtype=np.int64,
    )
    return problem, to_plan(Fcfs(), 0, problem, instance, np.array(order, dtype=np.int64), vm_of)


def topological(problem: Problem, urgency: list[int]) -> list[int]:
    waits = [0] * len(urgency)
    for _, child in problem.edges:
        waits[child] += 1
    order: list[int] = []
    ready = [index for index, count in enumerate(waits) if not count]
    while ready:
        ready.sort(key=lambda index: (urgency[index], index))
        done = ready.pop()
        order.append(done)
        for parent, child in problem.edges:
            if parent == done:
                waits[child] -= 1
                if not waits[child]:
                    ready.append(child)
    return order
