"""ReASSIGN-Pareto: its front, its archive and its episodes."""

from __future__ import annotations

import numpy as np
import pytest

from scicore.kernel.billing import bill_usd, prices_of
from scicore.kernel.instance import instance_of
from scicore.kernel.strict import decode, lengths_ms
from scicore.kernel.trading import (
    DRAWS,
    Aim,
    Archive,
    change,
    energy,
    new_archive,
    offer,
    play_on,
    schedule_of,
    trade,
)
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.front import non_dominated
from scicore.model.problem import Problem
from scicore.planners import planner
from scicore.planners.base import Progress


def problem(count: int = 30, seed: int = 0) -> Problem:
    random = np.random.default_rng(seed)
    kinds = (VmType("slow", 1, 0, 1.0, 1.0), VmType("fast", 2, 0, 3.0, 10.0))
    vms = tuple(Vm(f"{kind.name}-{n}", kind) for kind in kinds for n in (1, 2, 3))
    edges = {
        (parent, child)
        for child in range(1, count)
        for parent in random.integers(0, child, 2).tolist()
    }
    return Problem(
        tuple(f"a.{index}" for index in range(count)),
        ("a",) * count,
        tuple(sorted(edges)),
        Fleet(vms, "3xslow,3xfast"),
        random.uniform(50, 500, count)[:, None] / np.array([vm.type.speed for vm in vms]),
        edge_bytes=tuple(random.integers(0, 10**9, len(edges)).tolist()),
    )


def test_its_front_holds_more_than_any_other_planners() -> None:
    task = problem()
    ours = planner("reassign-pareto", {"episodes": "20000"}).front(task, 0)
    reference = 10 * ours.points[-1][0], 10 * ours.points[0][1]
    for name in ("heft", "min-min", "reassign-plus"):
        theirs = planner(name, {"episodes": "500"} if name == "reassign-plus" else None)
        assert ours.hypervolume(reference) > theirs.front(task, 0).hypervolume(reference)
    assert len(ours) > 5


def test_more_episodes_never_make_the_front_worse_by_much_and_a_front_has_a_most() -> None:
    task = problem()
    few, many = (
        planner("reassign-pareto", {"episodes": str(count)}).front(task, 0)
        for count in (200, 20_000)
    )
    reference = 2 * few.points[-1][0], 2 * few.points[0][1]
    assert many.hypervolume(reference) > few.hypervolume(reference)
    short = planner("reassign-pareto", {"episodes": "5000", "plans": "4"}).front(task, 0)
    assert 2 <= len(short) <= 4


@pytest.mark.parametrize(("prefer", "place"), [("makespan", 0), ("cost", -1)])
def test_the_one_plan_is_the_end_of_the_front_that_is_preferred(prefer: str, place: int) -> None:
    settings = {"episodes": "500", "prefer": prefer}
    made = planner("reassign-pareto", settings)
    assert made.plan(problem(), 3) == made.front(problem(), 3).plans[place]


def test_it_tells_how_far_it_has_come() -> None:
    told: list[Progress] = []
    planner("reassign-pareto", {"episodes": "3000"}).front(problem(), 0, progress=told.append)
    assert told[-1].episodes >= 3000
    assert [each.makespan_s for each in told] == sorted(
        (each.makespan_s for each in told), reverse=True
    )


# --- the kernel below -----------------------------------------------------------------------------


def points_of(archive: Archive) -> list[tuple[int, float]]:
    rows = range(int(archive.size[0]))
    return sorted((int(archive.makespan_ms[row]), float(archive.usd[row])) for row in rows)


def test_an_archive_keeps_what_none_beats_and_when_full_what_matters() -> None:
    random = np.random.default_rng(1)
    drawn = ((int(a), float(1000 / a + b)) for a, b in random.integers(1, 60, (400, 2)))
    points = list(drawn)
    large, small = new_archive(100, 1), new_archive(5, 1)
    row = np.zeros(1, dtype=np.int64)
    for point in points:
        offer(large, *point, row, row)
        offer(small, *point, row, row)
    best = sorted(points[index] for index in non_dominated(points))
    assert points_of(large) == best
    kept = points_of(small)
    assert len(kept) == 5 < len(best)
    assert (kept[0], kept[-1]) == (best[0], best[-1])


def test_moves_keep_parents_first_and_playing_on_gives_what_playing_all_gives() -> None:
    task = problem()
    instance = instance_of(task)
    random = np.random.default_rng(2)
    vm_of = np.zeros(30, dtype=np.int64)
    schedule = schedule_of(instance.order, vm_of)
    play_on(instance, schedule, 0)
    moved = 0
    for draw in random.random((2000, DRAWS)):
        begin = change(instance, schedule, draw)
        if begin < 0:
            continue
        moved += 1
        makespan_ms = play_on(instance, schedule, begin)
        assert (schedule.order[schedule.place] == np.arange(30)).all()
        assert all(schedule.place[one] < schedule.place[two] for one, two in task.edges)
        start_ms, finish_ms = np.zeros((2, 30), dtype=np.int64)
        length_ms = lengths_ms(instance, schedule.vm_of)
        whole = decode(instance, schedule.order, schedule.vm_of, length_ms, start_ms, finish_ms)
        assert makespan_ms == whole
        assert (schedule.finish_ms == finish_ms).all()
    assert moved > 1000


def test_trading_goes_downhill_when_it_is_cold() -> None:
    task = problem()
    instance, prices = instance_of(task), prices_of(task)
    archive = new_archive(50, 30)
    current = schedule_of(instance.order, np.arange(30) % 6)
    play_on(instance, current, 0)
    before = bill_usd(instance, prices, current.vm_of, current.finish_ms)
    draws = np.random.default_rng(3).random((1500, DRAWS))
    trade(instance, prices, archive, current, Aim(0.0, 1e12), 1e-9, draws)
    after = bill_usd(instance, prices, current.vm_of, current.finish_ms)
    assert after < 0.8 * before
    assert archive.usd[: archive.size[0]].min() == pytest.approx(after)


def test_being_late_counts_more_than_being_dear() -> None:
    aim = Aim(0.05, 1000.0)
    assert energy(1000, 1.0, aim) < energy(1100, 1.0, aim)
    assert energy(1000, 1.2, aim) < energy(1100, 1.0, aim)
    assert energy(900, 1.0, aim) < energy(1000, 1.0, aim) < energy(900, 1.2, aim)
