"""The meaning of a plan, by hand and beside a reference that tries every millisecond."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.kernel.earliest_finish import appended
from scicore.kernel.instance import instance_of
from scicore.kernel.jit import compiled
from scicore.kernel.ranking import mean_ms_per_byte, order_by_priority
from scicore.kernel.strict import decode, decode_noisy, lengths_ms
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.problem import Problem, Transfer, transfer_ms

ONE = VmType("one", 1, 0, 1.0, 0.0, bandwidth_mb_s=1.0)
TWO = VmType("two", 2, 100, 1.0, 0.0, boot_s=0.003, bandwidth_mb_s=0.5)


def problem(
    types: Sequence[VmType], runtime_ms: Sequence[int], edges: tuple[tuple[int, int], ...] = ()
) -> Problem:
    count = len(runtime_ms)
    return Problem(
        tuple(f"a.{index}" for index in range(count)),
        ("a",) * count,
        edges,
        Fleet(tuple(Vm(f"vm-{number}", kind) for number, kind in enumerate(types)), "made"),
        np.array([[ms / 1000] * len(types) for ms in runtime_ms]).reshape(count, len(types)),
    )


def starts_ms(task: Problem, order: Sequence[int], vm_of: Sequence[int]) -> list[int]:
    instance = instance_of(task)
    vms = np.array(vm_of, dtype=np.int64)
    start, finish = (np.zeros(len(vms), dtype=np.int64) for _ in range(2))
    length = lengths_ms(instance, vms)
    makespan = decode(instance, np.array(order, dtype=np.int64), vms, length, start, finish)
    assert makespan == max(finish, default=0)
    return [int(ms) for ms in start]


# -- by hand ------------------------------------------------------------------------------------


def test_a_vm_starts_its_own_strictly_in_order_even_if_a_later_one_is_ready() -> None:
    task = problem([ONE, ONE], [5, 2, 1], edges=((0, 1),))
    assert starts_ms(task, [0, 1, 2], [0, 1, 1]) == [0, 5, 7]


def test_slots_of_a_vm_work_side_by_side_after_its_boot() -> None:
    assert starts_ms(problem([TWO], [5, 2, 1]), [0, 1, 2], [0, 0, 0]) == [3, 3, 5]


def test_without_boot_a_vm_is_there_at_once() -> None:
    task = dataclasses.replace(problem([TWO], [5]), boot=False)
    assert starts_ms(task, [0], [0]) == [0]


def test_an_activation_waits_until_all_its_cpus_are_free() -> None:
    task = dataclasses.replace(problem([TWO], [5, 2, 1]), cpus=(1, 2, 1))
    assert starts_ms(task, [0, 1, 2], [0, 0, 0]) == [3, 8, 10]


def test_an_activation_waits_until_its_memory_is_free() -> None:
    task = dataclasses.replace(problem([TWO], [5, 2, 1]), memory_mb=(60, 50, 0))
    assert starts_ms(task, [0, 1, 2], [0, 0, 0]) == [3, 8, 8]


def test_where_memory_is_unknown_nothing_waits_for_it() -> None:
    two = dataclasses.replace(TWO, memory_mb=0)
    task = dataclasses.replace(problem([two], [5, 2]), memory_mb=(60, 50))
    assert starts_ms(task, [0, 1], [0, 0]) == [3, 3]


@pytest.mark.parametrize(
    ("transfer", "same_vm_ms", "other_vm_ms"),
    [(Transfer.NONE, 0, 0), (Transfer.EDGE, 0, 2), (Transfer.SHARED, 2, 3)],
)
def test_data_takes_its_way(transfer: Transfer, same_vm_ms: int, other_vm_ms: int) -> None:
    """1000 bytes: 1 ms at 1 MB/s, 2 ms at 0.5 MB/s."""
    task = dataclasses.replace(
        problem([ONE, TWO], [5, 1], edges=((0, 1),)), edge_bytes=(1000,), transfer=transfer
    )
    assert starts_ms(task, [0, 1], [0, 0])[1] == 5 + same_vm_ms
    assert starts_ms(task, [0, 1], [0, 1])[1] == 5 + other_vm_ms


def test_a_begun_millisecond_of_transfer_counts() -> None:
    assert transfer_ms(1001, ONE, ONE, shared=False) == 2
    assert transfer_ms(0, ONE, ONE, shared=True) == 0


def test_the_mean_way_of_a_byte_is_over_pairs_of_different_vms() -> None:
    instance = instance_of(problem([ONE, TWO, ONE], [1]))
    per_byte = mean_ms_per_byte(instance)
    assert per_byte == pytest.approx((1 / 1000 + 1 / 500 + 1 / 500) / 3)
    assert mean_ms_per_byte(instance_of(problem([ONE], [1]))) == 0


# -- laws ---------------------------------------------------------------------------------------


@st.composite
def planned(draw: st.DrawFn) -> tuple[Problem, list[int], list[int]]:
    """A problem, a topological order (the numbers ascend) and a VM for each activation."""
    kinds = st.builds(
        VmType,
        name=st.just("t"),
        slots=st.integers(2, 3),
        memory_mb=st.sampled_from([0, 100]),
        speed=st.just(1.0),
        price_usd_per_hour=st.just(0.0),
        boot_s=st.sampled_from([0.0, 0.002]),
        bandwidth_mb_s=st.sampled_from([0.25, 1.0]),
    )
    types = draw(st.lists(kinds, min_size=1, max_size=3))
    runtimes = draw(st.lists(st.integers(0, 6), max_size=10))
    count = len(runtimes)
    pairs = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12))
    edges = tuple((a, b) for a, b in pairs if a < b < count)
    task = dataclasses.replace(
        problem(types, runtimes, edges),
        edge_bytes=tuple(draw(st.integers(0, 3000)) for _ in edges),
        cpus=tuple(draw(st.integers(1, 2)) for _ in runtimes),
        memory_mb=tuple(draw(st.sampled_from([0, 40, 70])) for _ in runtimes),
        transfer=draw(st.sampled_from(Transfer)),
    )
    vm_of = [draw(st.integers(0, len(types) - 1)) for _ in runtimes]
    return task, list(range(count)), vm_of


def reference_starts_ms(task: Problem, order: Sequence[int], vm_of: Sequence[int]) -> list[int]:
    """Millisecond by millisecond, each VM starts the head of its queue while it can."""
    types = [vm.type for vm in task.fleet.vms]
    queues = [[index for index in order if vm_of[index] == vm] for vm in range(len(types))]
    length = [round(1000 * task.runtime_s[i, vm]) for i, vm in enumerate(vm_of)]
    start: dict[int, int] = {}

    def there_ms(child: int) -> int | None:
        latest = 0
        for (parent, to), size in zip(task.edges, task.edge_bytes, strict=True):
            if to != child:
                continue
            if parent not in start:
                return None
            sender, receiver = vm_of[parent], vm_of[child]
            moved = task.transfer is Transfer.SHARED or sender != receiver
            size = size if moved and task.transfer is not Transfer.NONE else 0
            shared = task.transfer is Transfer.SHARED
            way = transfer_ms(size, types[sender], types[receiver], shared)
            latest = max(latest, start[parent] + length[parent] + way)
        return latest

    now = 0
    while any(queues):
        moved = True
        while moved:
            moved = False
            for vm, queue in enumerate(queues):
                if not queue or now < round(1000 * types[vm].boot_s):
                    continue
                head = queue[0]
                running = [i for i in start if vm_of[i] == vm and start[i] + length[i] > now]
                ready = there_ms(head)
                cpus = sum(task.cpus[i] for i in running) + task.cpus[head]
                known_mb = sum(task.memory_mb[i] for i in running) + task.memory_mb[head]
                wants_mb = task.memory_mb[head] and types[vm].memory_mb
                if ready is None or ready > now or cpus > types[vm].slots:
                    continue
                if wants_mb and known_mb > types[vm].memory_mb:
                    continue
                start[head] = now
                queue.pop(0)
                moved = True
        now += 1
    return [start[index] for index in range(len(vm_of))]


@given(planned())
@settings(max_examples=150, deadline=None)
def test_decoding_is_what_trying_every_millisecond_gives(
    case: tuple[Problem, list[int], list[int]],
) -> None:
    assert starts_ms(*case) == reference_starts_ms(*case)


@given(planned(), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_compiled_functions_do_what_the_plain_ones_do(
    case: tuple[Problem, list[int], list[int]], seed: int
) -> None:
    task, order, vms = case
    instance = instance_of(task)
    sequence, vm_of = np.array(order, dtype=np.int64), np.array(vms, dtype=np.int64)
    generator = np.random.default_rng(seed)
    factors = generator.lognormal(0, 0.3, (3, len(order)))
    plain = decode_noisy(instance, sequence, vm_of, factors)
    assert plain.tolist() == compiled(decode_noisy)(instance, sequence, vm_of, factors).tolist()
    priority = generator.integers(0, 3, len(order)).astype(np.float64)
    chosen = order_by_priority(instance, priority)
    assert chosen.tolist() == compiled(order_by_priority)(instance, priority).tolist()
    bias = generator.normal(0, 3, (len(order), len(task.fleet.vms)))
    results = []
    for function in (appended, compiled(appended)):
        times = [np.zeros(len(order), dtype=np.int64) for _ in range(3)]
        function(instance, chosen, bias, np.arange(len(order)), *times)
        results.append([each.tolist() for each in times])
    assert results[0] == results[1]
    assert starts_ms(task, chosen.tolist(), results[0][0]) == results[0][1]


@given(planned(), st.lists(st.floats(-5, 5), min_size=10, max_size=10))
@settings(max_examples=60, deadline=None)
def test_an_order_by_priority_is_topological_and_highest_first(
    case: tuple[Problem, list[int], list[int]], values: list[float]
) -> None:
    task, numbers, _ = case
    priority = np.array(values[: len(numbers)], dtype=np.float64)
    order = order_by_priority(instance_of(task), priority).tolist()
    assert sorted(order) == numbers
    passed: set[int] = set()
    for index in order:
        free = [
            other
            for other in numbers
            if other not in passed and all(p in passed for p, c in task.edges if c == other)
        ]
        assert index in free
        assert priority[index] == max(priority[other] for other in free)
        passed.add(index)


def test_noise_of_factor_one_changes_nothing_and_of_factor_two_doubles_a_chain() -> None:
    task = problem([ONE], [5, 7], edges=((0, 1),))
    instance = instance_of(task)
    order, vm_of = np.array([0, 1]), np.array([0, 0])
    factors = np.array([[1.0, 1.0], [2.0, 2.0]])
    assert decode_noisy(instance, order, vm_of, factors).tolist() == [12, 24]
