"""HEFT and the timetable it inserts into."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.model.cloud import Fleet, VmType, parse_fleet
from scicore.model.plan import Plan
from scicore.model.problem import Problem
from scicore.planners.base import Timetable, validated
from scicore.planners.heft import Heft, upward_ranks

ONE = VmType("one", slots=1, memory_mb=1024, speed=1.0, price_usd_per_hour=3.6)
TWO = VmType("two", slots=2, memory_mb=2048, speed=1.0, price_usd_per_hour=7.2)
CATALOG = {"one": ONE, "two": TWO}


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


def test_ten_thousand_activations_on_nine_vms_are_planned_in_seconds() -> None:
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
        began_s = time.process_time()
        assert len(plan(task).assignments) == count
        assert time.process_time() - began_s < 8


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
    ranks = upward_ranks(task, validated(task))
    assert all(ranks[parent] >= ranks[child] for parent, child in forward)


# -- the timetable ------------------------------------------------------------------------------


def test_an_empty_timetable_is_free_at_once() -> None:
    assert Timetable(fleet("1xone")).earliest(0, 3.0, 5.0).start_s == 3.0


def test_an_interval_fits_into_a_gap_of_exactly_its_length() -> None:
    timetable = Timetable(fleet("1xone"))
    timetable.reserve(0, 0, 0.0, 2.0)
    timetable.reserve(0, 0, 5.0, 9.0)
    assert timetable.earliest(0, 0.0, 3.0).start_s == 2.0
    assert timetable.earliest(0, 0.0, 3.5).start_s == 9.0
    assert timetable.earliest(0, 2.5, 3.0).start_s == 9.0


def test_a_finding_of_full_does_not_hide_an_earlier_gap_from_an_earlier_question() -> None:
    timetable = Timetable(fleet("1xone"))
    timetable.reserve(0, 0, 4.0, 9.0)
    assert timetable.earliest(0, 3.0, 2.0).start_s == 9.0
    assert timetable.earliest(0, 0.0, 2.0).start_s == 0.0


@given(
    requests=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5)), max_size=20),
    skipped=st.sets(st.integers(0, 19)),
)
@settings(max_examples=150, deadline=None)
def test_the_timetable_offers_what_trying_every_instant_would(
    requests: list[tuple[int, int]], skipped: set[int]
) -> None:
    """Whole numbers of seconds, so that the reference can try them one by one."""
    timetable = Timetable(fleet("1xtwo"))
    busy: list[set[int]] = [set(), set()]
    for number, (ready, length) in enumerate(requests):
        start_s, slot = timetable.earliest(0, float(ready), float(length))
        assert start_s == _first_fit(busy, ready, length)
        wanted = set(range(int(start_s), int(start_s) + length))
        assert not wanted & busy[slot]
        if number not in skipped:
            timetable.reserve(0, slot, start_s, start_s + length)
            busy[slot] |= wanted


def _first_fit(busy: list[set[int]], ready: int, length: int) -> int:
    start = ready
    while all(_blocked(slot, start, length) for slot in busy):
        start += 1
    return start


def _blocked(slot: set[int], start: int, length: int) -> bool:
    if length == 0:  # an instant is free if the second before or after it is; none is before 0
        return start in slot and (start == 0 or start - 1 in slot)
    return bool(slot & set(range(start, start + length)))
