"""What no schedule can beat. A plan's distance from the bound says how good it surely is."""

from __future__ import annotations

import math

import networkx as nx

from scicore.model.problem import Problem


def lower_bound_s(problem: Problem) -> float:
    """The larger of the two bounds; the problem has been validated."""
    fastest_s = fastest_runtimes_s(problem)
    return max(critical_path_s(problem, fastest_s), area_s(problem, fastest_s))


def fastest_runtimes_s(problem: Problem) -> list[float]:
    """Of each activation, its runtime on the VM that runs it fastest."""
    if not problem.activations:
        return []
    fastest_s: list[float] = problem.runtime_s.min(axis=1).tolist()
    return fastest_s


def critical_path_s(problem: Problem, fastest_s: list[float]) -> float:
    """The longest path, every activation on its fastest VM.

    Valid: the activations of a path run one after the other in any schedule, and none of them
    takes less than its fastest runtime, on whatever VM it is.
    """
    graph = problem.graph()
    finish_s = [0.0] * len(fastest_s)
    for index in nx.topological_sort(graph):
        ready_s = max((finish_s[parent] for parent in graph.predecessors(index)), default=0.0)
        finish_s[index] = ready_s + fastest_s[index]
    return max(finish_s, default=0.0)


def area_s(problem: Problem, fastest_s: list[float]) -> float:
    """All fastest runtimes, spread evenly over all slots.

    Valid on heterogeneous fleets: an activation occupies one slot for its runtime on the VM it
    is given to, which is at least its fastest runtime. So any schedule of makespan M fills at
    least the sum of the fastest runtimes, and the fleet's slots offer M each until then:
    M >= sum / slots. Slow slots only fill more, so the bound may be loose but is never wrong.
    """
    return math.fsum(fastest_s) / problem.fleet.slots
