"""Adaptive: the plan is a preference that measured times can overrule."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import msgspec
import pytest

from scicore.execution.lanes import Lane, Work
from scicore.execution.messages import AttemptEnded, Instruction, WorkRequested
from scicore.execution.pace import Pace
from scicore.model.activation import Cause, Dispatch
from scicore.model.cloud import VmType
from scicore.model.plan import Assignment
from scicore.model.workflow import Operator, Workflow
from tests.unit.execution.building import Stage, activity, fleet, plan, relation, workflow
from tests.unit.execution.virtual import Played, Runtime, fleet_of, heft_plan, play

ID = relation("ids", "ID")
WORK = activity("work", Operator.MAP, ID, "ID")
TRACE = relation("trace", "NAME", "PARENTS")


def tuples(count: int) -> Workflow:
    return workflow(ID, tuple((f"t{line}",) for line in range(1, count + 1)), WORK)


def planned(spec: Workflow, *assignments: tuple[str, str, float, float]) -> Stage:
    """(name, VM, start, finish) in plan order, on two VMs with a slot each."""
    each = tuple(Assignment(name, "work", *rest) for name, *rest in assignments)  # type: ignore[arg-type]
    makespan_s = max(assignment.finish_s for assignment in each)
    made = replace(plan(fleet(1, 1)), assignments=each, makespan_s=makespan_s)
    return Stage(spec, made)


def finished(stage: Stage, name: str, at: float, took_s: float) -> list[Instruction]:
    order = stage.order(name)
    ended = AttemptEnded(
        order.activation, order.number, Cause.FINISHED, at - took_s, at, rows=(("x",),)
    )
    return stage.feed(WorkRequested(at, order.vm, (ended,)))


# --- why work moves -----------------------------------------------------------------------------


def test_an_idle_vm_takes_over_what_is_late_elsewhere() -> None:
    stage = planned(
        tuples(3),
        ("work.1", "vm-1", 0.0, 10.0),
        ("work.2", "vm-2", 0.0, 1.0),
        ("work.3", "vm-1", 10.0, 20.0),
    )
    stage.begin("vm-1", "vm-2")
    assert finished(stage, "work.2", 3.0, 1.0) == []  # the plan wanted it so
    assert stage.tick(14.0) == []  # work.1 is late, but not yet by half of work.3
    assert stage.started(stage.tick(16.0)) == ["work.3"]
    assert stage.order("work.3").vm == "vm-2"
    moved = stage.execution.ledger[3]
    assert (moved.vm, moved.moved_because) == ("vm-2", "idle vm")


def test_an_idle_vm_does_not_take_back_what_failed_with_it() -> None:
    """One that fails at once is always idle, and what it failed is late by then."""
    stage = planned(
        replace(tuples(2), reliability=0.9, max_attempts=3),
        ("work.1", "vm-1", 0.0, 10.0),
        ("work.2", "vm-2", 0.0, 1.0),
    )
    stage.begin("vm-1", "vm-2")
    stage.fail("work.2")
    assert stage.tick(8.0) == []
    assert stage.started(finished(stage, "work.1", 9.0, 9.0)) == ["work.2"]
    assert stage.order("work.2").vm == "vm-1"


def test_an_idle_vm_helps_even_where_the_plan_expects_that_nothing_takes_time() -> None:
    stage = planned(tuples(9), *((f"work.{line}", "vm-1", 0.0, 0.0) for line in range(1, 10)))
    stage.begin("vm-1", "vm-2")
    finished(stage, "work.1", 0.5, 0.5)
    stage.tick(1.0)
    assert {entry.vm for entry in map(stage.execution.ledger.find, range(1, 10)) if entry} == {
        "vm-1",
        "vm-2",
    }


def test_an_idle_vm_takes_nothing_that_would_finish_later_with_it() -> None:
    slow = VmType("slow", 1, 0, speed=0.1, price_usd_per_hour=0.0)
    stage = planned(
        tuples(3),
        ("work.1", "vm-1", 0.0, 10.0),
        ("work.2", "vm-2", 0.0, 1.0),
        ("work.3", "vm-1", 10.0, 20.0),
    )
    vms = stage.plan.fleet.vms
    others = replace(stage.plan.fleet, vms=(vms[0], replace(vms[1], type=slow)))
    stage = Stage(stage.workflow, replace(stage.plan, fleet=others))
    stage.begin("vm-1", "vm-2")
    finished(stage, "work.2", 1.0, 1.0)
    assert stage.tick(16.0) == []


def test_work_of_a_vm_that_turned_out_slow_goes_elsewhere_as_it_gets_ready() -> None:
    after = activity("after", Operator.MAP, WORK, "ID")
    spec = workflow(ID, tuple((f"t{n}",) for n in range(1, 13)), WORK, after)
    works = [
        Assignment(f"work.{n}", "work", f"vm-{1 + n % 2}", (n - 1) // 2 * 1.0, (n - 1) // 2 + 1.0)
        for n in range(1, 13)
    ]
    late = [Assignment(f"after.{n}", "after", "vm-2", 100.0 + n, 101.0 + n) for n in range(1, 13)]
    made = replace(plan(fleet(1, 1)), assignments=(*works, *late), makespan_s=113.0)
    stage = Stage(spec, made)
    stage.begin("vm-1", "vm-2")
    at = 0.0
    for turn in range(5):
        at += 1.0
        finished(stage, f"work.{2 * turn + 2}", at, 1.0)  # vm-1, as planned
        finished(stage, f"work.{2 * turn + 1}", at, 3.0)  # vm-2, three times slower
    reasons = {entry.moved_because for entry in stage.execution.ledger.entries()}
    assert "slow vm" in reasons


def test_a_fleet_that_is_slower_than_planned_has_no_slow_vm() -> None:
    pace, lanes = Pace(2), (lane(0), lane(1))
    for id in range(20):
        pace.observe(work(id), lanes[id % 2], 50.0)
    assert not pace.is_slow(lanes[0])
    assert not pace.is_slow(lanes[1])
    assert pace.expected_s(work(99), lanes[0]) == pytest.approx(50.0, rel=0.1)


def test_a_bad_estimate_of_an_activity_makes_no_vm_slow() -> None:
    """One VM runs only the activity whose runtimes were guessed ten times too short."""
    pace, lanes = Pace(2), (lane(0), lane(1))
    for id in range(20):
        pace.observe(work(id), lanes[0], 1.0)
        pace.observe(work(id, "other"), lanes[1], 10.0)
    assert not pace.is_slow(lanes[1])


def test_a_vm_that_takes_twice_as_long_is_found_out_soon_and_one_outlier_is_not_enough() -> None:
    pace, lanes = Pace(3), (lane(0), lane(1), lane(2))
    for id in range(4):
        for each in lanes:
            pace.observe(work(id), each, 1.0)
    pace.observe(work(5), lanes[0], 100.0)
    assert not pace.is_slow(lanes[1])
    for id in range(6, 14):
        pace.observe(work(id), lanes[1], 2.0)
        pace.observe(work(id), lanes[0], 1.0)
        pace.observe(work(id), lanes[2], 1.0)
    assert [pace.is_slow(each) for each in lanes] == [False, True, False]


def lane(index: int) -> Lane:
    return Lane(f"vm-{index}", VmType("type", 1, 0, 1.0, 0.0), index)


def work(id: int, activity: str = "work") -> Work:
    made = Work(id, activity)
    made.unit_s = 1.0
    return made


# --- what it brings -----------------------------------------------------------------------------

FLEETS = (
    fleet_of((4, 1, 1.0)),
    fleet_of((8, 1, 1.0), (1, 8, 1.25)),
    fleet_of((3, 1, 1.0), (1, 2, 1.25), (1, 4, 1.6)),
)


def layered(random: Random) -> tuple[Workflow, list[int]]:
    """A random graph of about 120 activations in six layers, and their runtimes in ms."""
    rows: list[tuple[str, str]] = []
    runtimes: list[int] = []
    before: list[str] = []
    for layer in range(6):
        names = [f"t{len(rows) + number}" for number in range(random.randint(6, 34))]
        for name in names:
            parents = random.sample(before, min(len(before), random.choice([1, 1, 2, 3, 8])))
            rows.append((name, " ".join(parents)))
            runtimes.append(int(1000 * 2 ** random.gauss(2, 1) * (1 + layer % 3)))
        before = names
    job = activity("job", Operator.MAP, TRACE, "NAME")
    job = replace(job, id_field="NAME", parents_field="PARENTS")
    return workflow(TRACE, tuple(rows), job), runtimes


def compared(seed: int, slow: float, noise: float) -> float:
    """Makespan of adaptive in parts of strict's, under the same HEFT plan and the same luck."""
    random, vms = Random(seed), FLEETS[seed % len(FLEETS)]
    spec, runtimes = layered(random)
    speeds = {vm.id: vm.type.speed for vm in vms.vms}
    luck = [random.lognormvariate(0, noise) for _ in runtimes]
    slowed = random.choice(vms.vms).id

    def expected(name: str, vm: str) -> int:
        return max(1, round(runtimes[int(name.partition(".")[2]) - 1] / speeds[vm]))

    def real(name: str, vm: str) -> int:
        factor = luck[int(name.partition(".")[2]) - 1] * (slow if vm == slowed else 1.0)
        return max(1, round(expected(name, vm) * factor))

    made, _ = heft_plan(spec, vms, expected)
    makespans = [
        play(spec, made, real, dispatch).makespan_ms
        for dispatch in (Dispatch.ADAPTIVE, Dispatch.STRICT)
    ]
    return makespans[0] / makespans[1]


def test_without_noise_hardly_anything_is_lost() -> None:
    ratios = [compared(seed, slow=1.0, noise=0.0) for seed in range(9)]
    assert sum(ratios) / len(ratios) < 1.03
    assert max(ratios) < 1.1


def test_a_vm_that_is_slowed_twice_costs_much_less_than_under_strict() -> None:
    ratios = [compared(seed, slow=2.0, noise=0.0) for seed in range(9)]
    assert sum(ratios) / len(ratios) < 0.8
    assert max(ratios) < 1.05


def test_chance_costs_less_than_under_strict() -> None:
    ratios = [compared(seed, slow=1.0, noise=0.3) for seed in range(9)]
    assert sum(ratios) / len(ratios) < 0.97


def test_the_same_world_gives_the_same_run() -> None:
    def run() -> Played:
        spec, runtimes = layered(Random(5))
        runtime: Runtime = lambda name, vm: runtimes[int(name.partition(".")[2]) - 1]  # noqa: E731
        made, _ = heft_plan(spec, FLEETS[2], runtime)
        doubled: Runtime = lambda name, vm: runtime(name, vm) * (1 + vm.endswith("1"))  # noqa: E731
        return play(spec, made, doubled, Dispatch.ADAPTIVE)

    assert msgspec.json.encode(run().facts) == msgspec.json.encode(run().facts)
