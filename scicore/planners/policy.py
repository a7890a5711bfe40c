"""What ReASSIGN+ learns and keeps: when activations go, and which VM types their activities like.

A policy is plain data, keyed by names, so that it can be stored and used again when the fleet or
the input has changed: what it knows is used, the rest falls back on HEFT's ranks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from scicore.kernel.arena import Arena
from scicore.kernel.instance import Floats, Instance, Ints
from scicore.kernel.jit import suited
from scicore.kernel.ranking import order_by_priority
from scicore.kernel.search import roll_out
from scicore.model.plan import Policy
from scicore.model.problem import Problem

NAMES_UP_TO = 20_000  # activations that are remembered one by one
BIGGEST = 10.0  # bias, in makespans


class Mind(NamedTuple):
    """A policy as arrays, for one problem."""

    priority: Floats  # [activation]: higher goes first
    bias_ms: Floats  # [activity, class]: added to the finish time when classes are compared


class Episode(NamedTuple):
    """What came of following a policy once."""

    order: Ints
    class_of: Ints
    start_ms: Ints
    makespan_ms: int


class World:
    """The problem as the agent meets it: it acts by a policy, and is told the makespan."""

    def __init__(self, problem: Problem, instance: Instance, arena: Arena) -> None:
        self.problem, self.instance, self.arena = problem, instance, arena
        count, kinds = arena.runtime_ms.shape
        self.tags = tuple(dict.fromkeys(problem.activities))
        number = {tag: index for index, tag in enumerate(self.tags)}
        self.activity_of = np.array([number[tag] for tag in problem.activities], dtype=np.int64)
        _, first = np.unique(instance.vm_type, return_index=True)
        self.type_names = [problem.fleet.vms[vm].type.name for vm in first]
        self._order = suited(order_by_priority, count * kinds * 50)
        self._roll_out = suited(roll_out, count * kinds * 50)

    def play(self, mind: Mind) -> Episode:
        count = len(self.activity_of)
        class_of, start_ms = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        order = self._order(self.instance, mind.priority)
        makespan_ms = self._roll_out(
            self.arena, order, self.activity_of, mind.bias_ms, class_of, start_ms
        )
        return Episode(order, class_of, start_ms, int(makespan_ms))


def neutral(world: World, rank_u: Floats) -> Mind:
    """Before anything is learned: HEFT's ranks, and the earliest finish without bias."""
    return Mind(rank_u, np.zeros((len(world.tags), len(world.type_names))))


def remembered(world: World, rank_u: Floats, makespan_ms: int, stored: Policy) -> list[Mind]:
    """What an earlier policy says here: its biases alone, and with its priorities where known.

    Whatever is not as we would have written it is passed over: a policy can only help.
    """
    bias_ms = np.zeros((len(world.tags), len(world.type_names)))
    biases = stored.get("bias")
    for row, tag in enumerate(world.tags):
        likes = biases.get(tag) if isinstance(biases, Mapping) else None
        for column, name in enumerate(world.type_names):
            value = _number(likes.get(name)) if isinstance(likes, Mapping) else None
            if value is not None:
                bias_ms[row, column] = np.clip(value, -BIGGEST, BIGGEST) * makespan_ms
    minds = [Mind(rank_u, bias_ms)]
    priority = _priorities(world, stored.get("priority"))
    if priority is not None:
        minds.append(Mind(priority, bias_ms))
    return minds


def _priorities(world: World, stored: object) -> Floats | None:
    """What is new, because there is more input now, goes with the others of its activity."""
    if not isinstance(stored, Mapping):
        return None
    told = [_number(stored.get(name)) for name in world.problem.activations]
    priority = np.array([math.nan if value is None else value for value in told])
    for activity in range(len(world.tags)):
        own = world.activity_of == activity
        known = priority[own & ~np.isnan(priority)]
        if not len(known):
            return None
        priority[own & np.isnan(priority)] = known.mean()
    return priority


def to_data(world: World, mind: Mind, start_ms: Ints, makespan_ms: int) -> Policy:
    """Priorities are taken from the best plan: what starts earlier goes first."""
    bias = mind.bias_ms / max(makespan_ms, 1)
    data: dict[str, object] = {
        "bias": {
            tag: {
                name: round(float(value), 6)
                for name, value in zip(world.type_names, row, strict=True)
            }
            for tag, row in zip(world.tags, bias, strict=True)
        }
    }
    if len(start_ms) <= NAMES_UP_TO:
        early = 1 - start_ms / max(makespan_ms, 1)
        data["priority"] = {
            name: round(float(value), 6)
            for name, value in zip(world.problem.activations, early, strict=True)
        }
    return data


def varied(world: World, mind: Mind, scale_ms: float, random: np.random.Generator) -> Mind:
    """A policy nearby: another bias of one activity, other priorities, or both."""
    priority, bias_ms = mind
    which = random.random()
    if which < 0.6:
        bias_ms = bias_ms.copy()
        row, column = random.integers(bias_ms.shape[0]), random.integers(bias_ms.shape[1])
        bias_ms[row, column] += random.normal() * scale_ms * 10 ** random.uniform(-1, 1.5)
    if which > 0.45:
        spread = 10 ** random.uniform(-3, -0.5)
        if random.random() < 0.3:  # whole activities
            factors = np.exp(random.normal(0, spread, len(world.tags)))[world.activity_of]
        else:
            factors = np.exp(random.normal(0, spread, len(priority)))
            factors[random.random(len(priority)) > random.choice([0.05, 0.3, 1.0])] = 1.0
        priority = priority * factors
    return Mind(priority, bias_ms)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
