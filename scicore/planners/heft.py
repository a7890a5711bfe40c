"""HEFT: the most urgent activation first, each where it finishes first."""

from __future__ import annotations

import math

from scicore.model.plan import Plan
from scicore.model.problem import Problem
from scicore.planners.base import Placement, Precedence, Timetable, to_plan, validated


class Heft:
    """Heterogeneous Earliest Finish Time.

    Paper
        H. Topcuoglu, S. Hariri, M.-Y. Wu: Performance-Effective and Low-Complexity Task
        Scheduling for Heterogeneous Computing. IEEE Transactions on Parallel and Distributed
        Systems 13(3), 2002, section 5.1.

    Idea
        An activation is as urgent as the work that hangs on it is long: its upward rank is the
        length of the longest path from it to the end. In the order of falling ranks, which is
        a topological one, each activation goes to the VM on which it finishes earliest; it may
        slip into a gap between two activations that were placed before it.

    Symbols
        w_i       mean runtime of activation i over the VMs (w with a bar in the paper)
        rank_u    upward rank, eq. 8
        EST, EFT  earliest start and finish of an activation on a VM, eqs. 5 and 6

    Differences
        - No communication: a problem has no data sizes yet, so c_ij = 0.
        - A processor of the paper is a VM here, with several slots. w_i is the mean over VMs,
          whatever their slots; a gap may be on any slot of the VM.
        - Ties: the paper breaks them at random; here the topological order decides between
          activations and the order of the fleet between VMs, so the seed has no effect.
    """

    name = "heft"

    def plan(self, problem: Problem, seed: int) -> Plan:
        precedence = validated(problem)
        placements = _placements(problem, precedence)
        return to_plan(self.name, seed, problem, precedence, placements)


def upward_ranks(problem: Problem, precedence: Precedence) -> list[float]:
    """rank_u of each activation, from the ends of the workflow upwards."""
    if not problem.activations:
        return []
    rank_u: list[float] = problem.runtime_s.mean(axis=1).tolist()
    for index in reversed(precedence.order):
        # eq. 8 without communication: rank_u(i) = w_i + max over children j of rank_u(j)
        rank_u[index] += max((rank_u[child] for child in precedence.children[index]), default=0.0)
    return rank_u


def _placements(problem: Problem, precedence: Precedence) -> list[Placement]:
    rank_u = upward_ranks(problem, precedence)
    runtime_s: list[list[float]] = problem.runtime_s.tolist()
    timetable = Timetable(problem.fleet)
    placements = [Placement(0, 0.0, 0.0)] * len(problem.activations)
    # The sort is stable: equal ranks (parents that take no time) stay in topological order.
    for index in sorted(precedence.order, key=lambda index: -rank_u[index]):
        ready_s = max((placements[p].finish_s for p in precedence.parents[index]), default=0.0)
        placements[index] = _place(timetable, ready_s, runtime_s[index])
    return placements


def _place(timetable: Timetable, ready_s: float, runtime_s: list[float]) -> Placement:
    """Reserve the opening with the earliest finish time of all VMs."""
    best = Placement(0, 0.0, math.inf)
    best_slot = 0
    for vm, length_s in enumerate(runtime_s):
        if ready_s + length_s >= best.finish_s:
            continue  # even at once, it would not finish earlier there
        start_s, slot = timetable.earliest(vm, ready_s, length_s)
        if start_s + length_s < best.finish_s:
            best, best_slot = Placement(vm, start_s, start_s + length_s), slot
    timetable.reserve(best.vm, best_slot, best.start_s, best.finish_s)
    return best
