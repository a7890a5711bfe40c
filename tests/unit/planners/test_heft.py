"""HEFT and the gaps it inserts into."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.kernel.earliest_finish import inserted
from scicore.kernel.jit import compiled
from scicore.model.cloud import Fleet, VmType, parse_fleet
from scicore.model.plan import Plan
from scicore.model.problem import Problem
from scicore.planners.base import no_bias, order_by_start, validated
from scicore.planners.heft import Heft, ranks_ms

ONE = VmType("one", slots=1, memory_mb=1024, speed=1.0, price_usd_per_hour=3.6)
TWO = VmType("two", slots=2, memory_mb=2048, speed=1.0, price_usd_per_hour=7.2)
MANY = VmType("many", slots=99, memory_mb=2048, speed=1.0, price_usd_per_hour=0.0)
CATALOG = {"one": ONE, "two": TWO, "many": MANY}


def fleet(text: str) -> Fleet:
    return parse_fleet(text, CATALOG)


def problem(
    text: str, runtime_s: list[list[float]], edges: tuple[tuple[int, int], ...] = ()
) -> Problem:
    count = len(runtime_s)
    vms = fleet(text)
    return Problem(
        tuple(f"a.{index}" for index in range(count)),
        ("a",) * count,
        edges,
        vms,
        np.array(runtime_s, dtype=np.float64).reshape(count, len(vms.vms)),
    )


def plan(task: Problem) -> Plan:
    return Heft().plan(task, seed=0)


def places(made: Plan) -> list[tuple[str, str, float, float]]:
    return [(item.activation, item.vm, item.start_s, item.finish_s) for item in made.assignments]


# -- HEFT ---------------------------------------------------------------------------------------


def test_the_activation_with_the_longest_way_to_go_is_placed_first() -> None:
    made = plan(problem("1xone", [[1], [5], [2]], edges=((0, 1),)))
    assert places(made) == [
        ("a.0", "one-1", 0, 1),
        ("a.1", "one-1", 1, 6),
        ("a.2", "one-1", 6, 8),
    ]


def test_an_activation_goes_where_it_finishes_first_even_if_it_starts_later_there() -> None:
    made = plan(problem("2xone", [[9, 4], [9, 3]]))
    assert places(made) == [("a.0", "one-2", 0, 4), ("a.1", "one-2", 4, 7)]


def test_equal_finish_times_go_to_the_first_vm() -> None:
    assert plan(problem("2xone", [[3, 3]])).assignments[0].vm == "one-1"


def test_an_urgent_child_leaves_a_gap_and_a_short_activation_slips_into_it() -> None:
    made = plan(problem("2xone", [[100, 4], [3, 100], [2, 100]], edges=((0, 1),)))
    assert ("a.1", "one-1", 4, 7) in places(made)
    assert ("a.2", "one-1", 0, 2) in places(made)


def test_all_slots_of_a_vm_are_used() -> None:
    made = plan(problem("1xtwo", [[5], [5], [5]]))
    assert sorted(item.start_s for item in made.assignments) == [0, 0, 5]
    assert made.makespan_s == 10


def test_a_parent_that_takes_no_time_stands_before_its_child() -> None:
    made = plan(problem("1xone", [[0], [0], [0]], edges=((2, 1), (1, 0))))
    assert [item.activation for item in made.assignments] == ["a.2", "a.1", "a.0"]
    assert (made.makespan_s, made.cost_usd, made.lower_bound_s, made.gap) == (0, 0, 0, 0)


def test_a_vm_is_paid_until_its_last_finish_and_an_unused_one_is_not_paid() -> None:
    made = plan(problem("2xone,1xtwo", [[100, 500, 500], [50, 500, 500]]))
    assert made.cost_usd == pytest.approx(0.150)


def test_ten_thousand_activations_on_nine_vms_are_no_trouble() -> None:
    """A layered workflow, then one whose chain leaves thousands of gaps that nothing fits into."""
    count, rng = 10_000, np.random.default_rng(1)
    layered = tuple((int(rng.integers(i - 100, i)), i) for i in range(100, count) for _ in "123")
    chain = tuple((i, i + 1) for i in range(count // 2 - 1))
    alternating = np.full((count, 9), 1e6)
    alternating[: count // 2 : 2, 0] = 1.0
    alternating[1 : count // 2 : 2, 1] = 1.0
    alternating[count // 2 :, :2] = 1.5
    for runtime_s, edges in ((rng.lognormal(2, 1, (count, 9)), layered), (alternating, chain)):
        task = problem("4xone,5xtwo", runtime_s.tolist(), edges)
        assert len(plan(task).assignments) == count


# -- upward ranks -------------------------------------------------------------------------------


@given(
    runtime_s=st.lists(st.floats(0, 1e6), min_size=2, max_size=8),
    edges=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=12),
)
@settings(max_examples=60, deadline=None)
def test_a_parent_never_ranks_below_its_child(
    runtime_s: list[float], edges: list[tuple[int, int]]
) -> None:
    count = len(runtime_s)
    forward = tuple((a, b) for a, b in edges if a < b < count)
    task = problem("1xone", [[value] for value in runtime_s], forward)
    ranks = ranks_ms(validated(task))
    assert all(ranks[parent] >= ranks[child] for parent, child in forward)


# -- gaps ---------------------------------------------------------------------------------------


@given(
    requests=st.lists(
        st.tuples(st.integers(0, 12), st.integers(0, 5), st.integers(1, 2)), max_size=20
    ),
    with_numba=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_insertion_finds_what_trying_every_instant_would(
    requests: list[tuple[int, int, int]], with_numba: bool
) -> None:
    """A parent on a VM of its own sets the time from which on each activation may start."""
    runtime_s = [[1e6, float(ready)] for ready, _, _ in requests]
    runtime_s += [[float(length), 1e6] for _, length, _ in requests]
    count = len(requests)
    task = dataclasses.replace(
        problem("1xtwo,1xmany", runtime_s, tuple((i, count + i) for i in range(count))),
        cpus=(1,) * count + tuple(cpus for _, _, cpus in requests),
    )
    instance = validated(task)
    vm_of, start_ms, finish_ms = (np.zeros(2 * count, dtype=np.int64) for _ in range(3))
    insert = compiled(inserted) if with_numba else inserted
    insert(instance, instance.order, *no_bias(instance), vm_of, start_ms, finish_ms)
    busy: list[set[int]] = [set(), set()]
    for number, (ready, length, cpus) in enumerate(requests):
        start = _first_fit(busy, ready, length, cpus)
        assert start_ms[count + number] == 1000 * start
        for slot in [slot for slot in busy if not _blocked(slot, start, length)][:cpus]:
            slot |= set(range(start, start + length))


def _first_fit(busy: list[set[int]], ready: int, length: int, cpus: int) -> int:
    start = ready
    while sum(not _blocked(slot, start, length) for slot in busy) < cpus:
        start += 1
    return start


def _blocked(slot: set[int], start: int, length: int) -> bool:
    if length == 0:  # an instant is free if the second before or after it is; none is before 0
        return start in slot and (start == 0 or start - 1 in slot)
    return bool(slot & set(range(start, start + length)))


def test_what_takes_no_time_keeps_nobody_waiting() -> None:
    """It starts at the same instant as another on the only slot, and goes first."""
    start_ms, finish_ms = np.array([5000, 5000, 0]), np.array([9000, 5000, 5000])
    instance = validated(problem("1xone", [[4], [0], [5]]))
    assert order_by_start(instance, start_ms, finish_ms).tolist() == [2, 1, 0]
