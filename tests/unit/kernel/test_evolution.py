"""A generation by hand: who is how fit, what offspring inherit, what mutation changes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from scicore.kernel.billing import prices_of
from scicore.kernel.evolution import (
    PAIRING,
    Population,
    Rules,
    cross,
    fitness,
    new_population,
    next_generation,
    some_vm,
    spin,
)
from scicore.kernel.instance import Instance, instance_of
from scicore.kernel.jit import compiled
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.problem import Problem

RULES = Rules(
    hour_usd=1.0, by_work=0, mu=0.3, elite=2, crossover=0.85, mutation=0.03, by_gene=0, survival=0
)
NOTHING = np.empty((0, 12), dtype=np.int64)


def lattice() -> Problem:
    """Twelve activations in three rows of four; each has two parents in the row above. The third
    VM is too small for the last one."""
    edges = tuple(
        (4 * row + column, 4 * row + 4 + (column + step) % 4)
        for row in range(2)
        for column in range(4)
        for step in (0, 1)
    )
    kinds = [VmType(f"k{slots}", slots, 0, 1.0, 0.1 * slots) for slots in (1, 2, 1)]
    runtime_s = default_rng(0).uniform(1, 9, (12, 3))
    return Problem(
        tuple(f"a.{index}" for index in range(12)),
        ("a",) * 12,
        edges,
        Fleet(tuple(Vm(f"vm-{number}", kind) for number, kind in enumerate(kinds)), "some"),
        runtime_s,
        edge_bytes=(10**8,) * len(edges),
        cpus=(1,) * 11 + (2,),
    )


PROBLEM = lattice()
INSTANCE, PRICES = instance_of(PROBLEM), prices_of(PROBLEM)


def first(size: int = 10, rules: Rules = RULES) -> Population:
    numbers = default_rng(1).random((size, 12, 2))
    return new_population(INSTANCE, PRICES, rules, numbers, NOTHING, NOTHING)


def assert_feasible(instance: Instance, made: Population) -> None:
    for order, vm_of in zip(made.order.tolist(), made.vm_of, strict=True):
        assert sorted(order) == list(range(12))
        place = {activation: number for number, activation in enumerate(order)}
        assert all(place[parent] < place[child] for parent, child in PROBLEM.edges)
        assert (instance.runtime_ms[np.arange(12), vm_of] >= 0).all()


# -- selection ------------------------------------------------------------------------------------


def test_the_best_has_a_slice_of_one_and_mu_the_worst_of_mu() -> None:
    assert fitness(np.array([2.0, 3.0, 6.0]), 0.3).tolist() == pytest.approx([1.3, 1.05, 0.3])


def test_where_all_are_equal_nobody_is_preferred() -> None:
    assert fitness(np.array([2.0, 2.0]), 0.3).tolist() == [1, 1]


@pytest.mark.parametrize(("number", "who"), [(0.0, 0), (0.49, 0), (0.5, 1), (0.99, 1)])
def test_the_wheel_stops_at_whoever_has_that_slice(number: float, who: int) -> None:
    assert spin(np.array([1.3, 2.6]), number) == who


# -- crossover ------------------------------------------------------------------------------------


def test_offspring_begin_like_one_parent_and_get_what_is_missing_as_the_other_has_it() -> None:
    parents = Population(
        np.array([[0, 1, 2, 3], [3, 0, 2, 1]]),
        np.array([[0, 0, 0, 0], [1, 1, 1, 1]]),
        *(np.zeros(2, dtype=np.int64), np.zeros(2), np.zeros(2)),
    )
    made = Population(
        np.full((2, 4), -1),
        np.full((2, 4), -1),
        *(np.zeros(2, dtype=np.int64), np.zeros(2), np.zeros(2)),
    )
    cross(parents, 0, 1, 2, made, 0)
    cross(parents, 1, 0, 2, made, 1)
    # A plain cut would give 0 1 2 1 and 3 0 2 3: one twice, one missing.
    assert made.order.tolist() == [[0, 1, 3, 2], [3, 0, 1, 2]]
    assert made.vm_of.tolist() == [[0, 0, 1, 1], [1, 0, 0, 1]]


def test_whatever_is_crossed_and_mutated_stays_feasible() -> None:
    chance = default_rng(2)
    wild = RULES._replace(crossover=1.0, mutation=0.5, by_gene=1)
    population = first(rules=wild)
    assert_feasible(INSTANCE, population)
    for _ in range(20):
        numbers = chance.random((4, PAIRING)), chance.random((8, 24))
        population = next_generation(INSTANCE, PRICES, wild, population, *numbers)
        assert_feasible(INSTANCE, population)


# -- mutation -------------------------------------------------------------------------------------


def test_mutation_takes_another_vm_that_the_activation_fits() -> None:
    assert {some_vm(INSTANCE, 0, number, 1) for number in (0.0, 0.4, 0.6, 0.99)} == {0, 2}
    assert some_vm(INSTANCE, 11, 0.5, 1) == 1  # it fits nowhere else


# -- the next generation --------------------------------------------------------------------------


@pytest.mark.parametrize("survival", [0, 1])
def test_the_best_is_never_lost(survival: int) -> None:
    chance = default_rng(3)
    rules = RULES._replace(survival=survival, mutation=1.0)
    population = first(rules=rules)
    for _ in range(30):
        numbers = chance.random((4, PAIRING)), chance.random((8, 3))
        after = next_generation(INSTANCE, PRICES, rules, population, *numbers)
        assert after.order.shape == population.order.shape
        assert after.value[0] <= population.value[0]
        assert (np.diff(after.value) >= 0).all()
        if survival:  # nobody is replaced by somebody weaker
            assert (after.value <= population.value).all()
        population = after


def test_without_crossover_and_mutation_offspring_are_their_parents() -> None:
    chance = default_rng(4)
    still = RULES._replace(crossover=0.0, mutation=0.0)
    before = first()
    numbers = chance.random((4, PAIRING)), chance.random((8, 3))
    after = next_generation(INSTANCE, PRICES, still, before, *numbers)
    assert set(after.value.tolist()) <= set(before.value.tolist())


def test_an_individual_is_worth_its_cost_and_its_makespan() -> None:
    rented, worked = first(), first(rules=RULES._replace(by_work=1))
    assert rented.value.tolist() == pytest.approx(
        (rented.cost_usd + rented.makespan_ms / 3_600_000).tolist()
    )
    one = worked.vm_of[0]
    share = np.array([1.0] * 11 + [2.0]) / np.array([1, 2, 1])[one]
    hours = INSTANCE.runtime_ms[np.arange(12), one] / 3_600_000
    assert worked.cost_usd[0] == pytest.approx((share * hours * PRICES.usd_per_h[one]).sum())


def test_known_schedules_are_part_of_the_first_population() -> None:
    known = first(3)
    again = new_population(
        INSTANCE, PRICES, RULES, default_rng(9).random((3, 12, 2)), known.order, known.vm_of
    )
    assert again.value.tolist() == known.value.tolist()


def test_compiled_it_does_the_same() -> None:
    chance = default_rng(5)
    numbers = chance.random((4, PAIRING)), chance.random((8, 3))
    plain = next_generation(INSTANCE, PRICES, RULES, first(), *numbers)
    quick = compiled(next_generation)(INSTANCE, PRICES, RULES, first(), *numbers)
    for one, other in zip(plain, quick, strict=True):
        assert np.array_equal(one, other)
