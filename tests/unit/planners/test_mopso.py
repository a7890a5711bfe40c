"""MOPSO's own rules: who leads, who must go, what a particle remembers, how mutation ends."""

from __future__ import annotations

import numpy as np

from bench.mixes import generated
from scicore.planners.mopso import Mopso, MopsoParameters, Repository, mutate, replaces


def chance() -> np.random.Generator:
    return np.random.default_rng(0)


def filled(room: int) -> Repository:
    """Nine schedules in one corner of the front and one in the other."""
    points = [[float(step), 100.0 - step / 10] for step in range(9)] + [[100.0, 0.0]]
    repository = Repository(room, 3)
    repository.add(np.arange(10.0)[:, None], np.array(points), chance())
    return repository


def test_the_repository_keeps_what_none_beats() -> None:
    repository = Repository(5, 3)
    repository.add(np.array([[1.0], [2.0]]), np.array([[1.0, 3.0], [2.0, 4.0]]), chance())
    repository.add(np.array([[3.0]]), np.array([[0.5, 9.0]]), chance())
    assert repository.places[:, 0].tolist() == [3.0, 1.0]


def test_a_full_repository_gives_up_one_where_it_is_crowded() -> None:
    repository = filled(room=4)
    assert len(repository.points) == 4
    assert 9.0 in repository.places


def test_the_lonely_lead_as_often_as_all_of_a_crowded_hypercube() -> None:
    """A hypercube's fitness is divided by its members, and they share what it gets."""
    leaders = filled(room=10).lead(20_000, chance())[:, 0]
    assert 0.85 < np.mean(leaders == 9.0) < 0.95  # 10 against 10 / 9: nine times out of ten


def test_a_particle_remembers_the_better_place_and_tosses_between_equals() -> None:
    best = np.array([[5.0, 5.0]] * 1000)
    assert len(replaces(best - np.array([1, 0]), best, chance())) == 1000
    assert len(replaces(best + np.array([1, 0]), best, chance())) == 0
    assert 400 < len(replaces(best + np.array([1, -1]), best, chance())) < 600


def test_mutation_touches_all_at_first_and_none_at_the_end() -> None:
    first, last = np.full((50, 4), 0.5), np.full((50, 4), 0.5)
    mutate(first, 0.0, 0.5, chance())
    mutate(last, 1.0, 0.5, chance())
    assert ((first != 0.5).sum(axis=1) == 1).all()
    assert (last == 0.5).all()


def test_flights_find_better_schedules_than_chance_alone() -> None:
    task = generated(138).problem
    short, long = (
        Mopso(MopsoParameters(cycles=cycles, particles=40)).front(task, 0) for cycles in (1, 60)
    )
    assert long.plans[0].makespan_s < 0.9 * short.plans[0].makespan_s
