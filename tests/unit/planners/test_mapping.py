"""Round robin, MCT, Min-Min and Max-Min: what makes each of them what it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from scicore.kernel.instance import Instance, Ints
from scicore.kernel.jit import compiled
from scicore.kernel.mapping import FIRST, LONGEST, SHORTEST, in_batches, on_arrival, when_idle
from scicore.model.cloud import Fleet, VmType, parse_fleet
from scicore.model.problem import Problem
from scicore.planners import planner
from scicore.planners.base import validated

Way = Callable[[Instance, int, Ints, Ints], None]

CATALOG = {
    "one": VmType("one", slots=1, memory_mb=0, speed=1.0, price_usd_per_hour=0.0),
    "two": VmType("two", slots=2, memory_mb=0, speed=1.0, price_usd_per_hour=0.0),
}


def fleet(text: str) -> Fleet:
    return parse_fleet(text, CATALOG)


def problem(
    text: str, runtime_s: list[list[float]], edges: tuple[tuple[int, int], ...] = ()
) -> Problem:
    count = len(runtime_s)
    return Problem(
        tuple(f"a.{index}" for index in range(count)),
        ("a",) * count,
        edges,
        fleet(text),
        np.array(runtime_s, dtype=np.float64),
    )


def placed(name: str, task: Problem, **settings: str) -> list[tuple[str, str, float]]:
    """Activation, VM and start, in plan order."""
    made = planner(name, settings).plan(task, 0)
    return [(item.activation, item.vm, item.start_s) for item in made.assignments]


def vms(name: str, task: Problem, **settings: str) -> dict[str, str]:
    return {activation: vm for activation, vm, _ in placed(name, task, **settings)}


# -- round robin ----------------------------------------------------------------------------------


def test_vms_take_turns_whatever_their_slots_and_runtimes() -> None:
    task = problem("1xone,1xtwo", [[1.0, 9.0]] * 4)
    assert vms("round-robin", task) == {
        "a.0": "one-1",
        "a.1": "two-1",
        "a.2": "one-1",
        "a.3": "two-1",
    }


def test_a_vm_that_is_too_small_misses_its_turn() -> None:
    task = dataclasses.replace(problem("2xone,1xtwo", [[1.0] * 3] * 4), cpus=(1, 2, 1, 1))
    assert vms("round-robin", task) == {
        "a.0": "one-1",
        "a.1": "two-1",  # it was one-2's turn
        "a.2": "one-1",
        "a.3": "one-2",
    }


def test_turns_follow_readiness() -> None:
    """a.1 waits for a.0, so a.2 comes first."""
    task = problem("3xone", [[1.0] * 3] * 3, edges=((0, 1),))
    assert vms("round-robin", task) == {"a.0": "one-1", "a.2": "one-2", "a.1": "one-3"}


# -- MCT ------------------------------------------------------------------------------------------


def test_mct_waits_for_a_busy_vm_if_that_completes_earlier() -> None:
    task = problem("2xone", [[1.0, 9.0], [1.0, 9.0], [5.0, 4.0]])
    assert placed("mct", task) == [("a.0", "one-1", 0), ("a.2", "one-2", 0), ("a.1", "one-1", 1)]


def test_mct_sees_what_moving_data_costs() -> None:
    """10 MB at 125 MB/s take 80 ms; the faster VM gains less."""
    slow_or_fast = problem("2xone", [[1.0, 2.0], [1.0, 0.95]], edges=((0, 1),))
    assert vms("mct", slow_or_fast)["a.1"] == "one-2"
    heavy = dataclasses.replace(slow_or_fast, edge_bytes=(10_000_000,))
    assert vms("mct", heavy)["a.1"] == "one-1"


# -- Min-Min and Max-Min --------------------------------------------------------------------------

MIXED = problem("2xone", [[4.0, 4.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])


def test_min_min_gives_the_shortest_first() -> None:
    assert placed("min-min", MIXED) == [
        ("a.1", "one-1", 0),
        ("a.2", "one-2", 0),
        ("a.3", "one-1", 1),
        ("a.0", "one-2", 2),
    ]


def test_max_min_gives_the_longest_first() -> None:
    assert placed("max-min", MIXED) == [
        ("a.0", "one-1", 0),
        ("a.3", "one-2", 0),
        ("a.2", "one-2", 3),
        ("a.1", "one-1", 4),
    ]


@pytest.mark.parametrize("name", ["min-min", "max-min"])
def test_a_batch_may_wait_for_the_fast_vm_and_idle_only_may_not(name: str) -> None:
    """Two that take 5 s on the fast VM and 10 or 11 s on the slow one: both wait for the fast."""
    task = problem("2xone", [[10.0, 5.0], [11.0, 5.0]])
    assert planner(name).plan(task, 0).makespan_s == 10
    assert planner(name, {"only_idle": "true"}).plan(task, 0).makespan_s == 11


def test_a_child_is_in_a_later_batch_than_its_parent() -> None:
    """a.1 is short but comes after a.0's whole batch, though it could complete before a.2."""
    task = problem("1xone", [[1.0], [1.0], [5.0]], edges=((0, 1),))
    assert [name for name, _, _ in placed("min-min", task)] == ["a.0", "a.2", "a.1"]
    idle = placed("min-min", task, only_idle="true")
    assert [name for name, _, _ in idle] == ["a.0", "a.1", "a.2"]


def test_the_first_idle_vm_of_the_fleet_serves_the_first_that_came() -> None:
    instance = validated(problem("2xone", [[1.0, 1.0], [3.0, 3.0], [1.0, 1.0], [1.0, 1.0]]))
    order, vm_of = np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64)
    when_idle(instance, FIRST, order, vm_of)
    assert order.tolist() == [0, 1, 2, 3]
    assert vm_of.tolist() == [0, 1, 0, 0]


# -- compiled -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "rules"),
    [
        (on_arrival, (0, 1)),
        (when_idle, (FIRST, SHORTEST, LONGEST)),
        (in_batches, (SHORTEST, LONGEST)),
    ],
)
def test_compiled_and_plain_decide_alike(way: Way, rules: tuple[int, ...]) -> None:
    chance = np.random.default_rng(3)
    edges = tuple(
        (int(parent), child) for child in range(5, 40) for parent in chance.choice(child, 2)
    )
    task = dataclasses.replace(
        problem("2xone,2xtwo", chance.integers(1, 9, (40, 4)).astype(float).tolist(), edges),
        edge_bytes=tuple(chance.integers(0, 10**9, len(edges)).tolist()),
        cpus=(*((1,) * 39), 2),
    )
    instance = validated(task)
    for rule in rules:
        outcomes = []
        for function in (way, compiled(way)):
            order, vm_of = np.zeros(40, dtype=np.int64), np.zeros(40, dtype=np.int64)
            function(instance, rule, order, vm_of)
            outcomes.append((order.tolist(), vm_of.tolist()))
        assert outcomes[0] == outcomes[1]
