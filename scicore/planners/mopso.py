"""MOPSO: particles that fly towards their own best and towards where the known front is thin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scicore.kernel.appraisal import orders_by_priority
from scicore.kernel.instance import Floats, Instance, Ints
from scicore.kernel.jit import suited
from scicore.model.front import Point, non_dominated
from scicore.model.parameters import Parameters, setting
from scicore.planners.trade_off import Appraiser, TradeOff, allowed_vms

SHARED = 10.0  # fitness that the particles of one hypercube share
INERTIA = 0.4  # W


@dataclass(frozen=True, slots=True)
class MopsoParameters(Parameters):
    particles: int = setting(100, "schedules that fly", 2, 10_000)
    cycles: int = setting(100, "flights without a budget", 1, 1e6)
    repository: int = setting(100, "schedules of the front that lead the others", 2, 10_000)
    divisions: int = setting(30, "of each objective, into hypercubes", 1, 1000)
    mutation: float = setting(0.5, "how long mutation goes on", 0.001, 1)


class Mopso(TradeOff[MopsoParameters]):
    """Multiobjective particle swarm optimisation.

    Paper
        C. Coello Coello, G. Toscano Pulido, M. Salazar Lechuga: Handling Multiple Objectives with
        Particle Swarm Optimization. IEEE Transactions on Evolutionary Computation 8(3), 2004,
        sections IV and V.

    Idea
        A particle is a schedule as a point in space. It flies on, drawn to the best place that it
        has been at and to a leader: a schedule of the repository, where what none beats is kept.
        The objectives are divided into hypercubes; those that hold few are more likely to lead,
        and a full repository gives up one of the fullest. Mutation, at first of all particles
        everywhere, dies away.

    Symbols
        W             inertia, 0.4
        R_1, R_2      random in [0, 1), for each coordinate
        PBEST, REP    best place of a particle so far; the repository

    Differences
        - The paper's space is continuous. Here each activation has two coordinates in [0, 1): one
          names its VM among those that it fits, the other is its priority in the order.
        - R_1 and R_2 are drawn for each coordinate; the paper does not say.
        - The result is every non-dominated schedule that was ever seen, not the repository's.
    """

    name = "mopso"
    settable = MopsoParameters

    def expected(self, count: int) -> int:
        return self.parameters.particles * (self.parameters.cycles + 1)

    def search(self, instance: Instance, appraise: Appraiser, chance: np.random.Generator) -> None:
        space = _Space(instance, self.parameters.particles)
        places = chance.random((self.parameters.particles, 2 * len(instance.order)))
        speeds = np.zeros_like(places)
        points = appraise(*space.schedules(places))
        best_places, best_points = places.copy(), points.copy()
        leaders = Repository(self.parameters.repository, self.parameters.divisions)
        leaders.add(places, points, chance)
        while (done := appraise.done()) < 1:
            own, led = chance.random((2, *places.shape))
            drawn = own * (best_places - places) + led * (
                leaders.lead(len(places), chance) - places
            )
            speeds = INERTIA * speeds + drawn
            places += speeds
            outside = (places < 0) | (places >= 1)
            speeds[outside] *= -1
            np.clip(places, 0, np.nextafter(1, 0), out=places)
            mutate(places, done, self.parameters.mutation, chance)
            points = appraise(*space.schedules(places))
            leaders.add(places, points, chance)
            better = replaces(points, best_points, chance)
            best_places[better], best_points[better] = places[better], points[better]


def mutate(places: Floats, done: float, rate: float, chance: np.random.Generator) -> None:
    """One coordinate of part of the particles, within part of the space; both parts shrink."""
    part = (1 - done) ** (5 / rate)
    for particle in np.flatnonzero(chance.random(len(places)) < part):
        coordinate = chance.integers(places.shape[1])
        low = max(places[particle, coordinate] - part, 0.0)
        high = min(places[particle, coordinate] + part, 1.0)
        places[particle, coordinate] = chance.uniform(low, high)


def replaces(points: Floats, best: Floats, chance: np.random.Generator) -> Ints:
    """Where a particle is better off than ever; where neither beats the other, by chance."""
    no_worse, no_better = (points <= best).all(axis=1), (points >= best).all(axis=1)
    neither = ~no_worse & ~no_better
    return np.flatnonzero(no_worse | (neither & (chance.random(len(points)) < 0.5)))


class _Space:
    """Places in [0, 1)^2n as schedules."""

    def __init__(self, instance: Instance, particles: int) -> None:
        self._instance = instance
        self._vms, self._fitting = allowed_vms(instance)
        self._line_up = suited(orders_by_priority, particles * len(instance.order) * 20)

    def schedules(self, places: Floats) -> tuple[Ints, Ints]:
        count = len(self._instance.order)
        orders = np.zeros((len(places), count), dtype=np.int64)
        self._line_up(self._instance, np.ascontiguousarray(places[:, count:]), orders)
        chosen = (places[:, :count] * self._fitting).astype(np.int64)
        return orders, self._vms[np.arange(count), chosen]


class Repository:
    """What none beats, as far as there is room; hypercubes say where it is crowded."""

    def __init__(self, room: int, divisions: int) -> None:
        self._room, self._divisions = room, divisions
        self.places: Floats = np.zeros((0, 0))
        self.points: Floats = np.zeros((0, 2))

    def add(self, places: Floats, points: Floats, chance: np.random.Generator) -> None:
        if len(self.places):
            places = np.concatenate([self.places, places])
            points = np.concatenate([self.points, points])
        found: list[Point] = [(float(first), float(second)) for first, second in points]
        kept = non_dominated(found)
        self.places, self.points = places[kept], points[kept]
        while len(self.points) > self._room:
            crowd = self._crowd()
            out = chance.choice(np.flatnonzero(crowd == crowd.max()))
            self.places = np.delete(self.places, out, axis=0)
            self.points = np.delete(self.points, out, axis=0)

    def lead(self, count: int, chance: np.random.Generator) -> Floats:
        """A leader for each of so many: a hypercube by roulette, and any that is in it."""
        fitness = SHARED / self._crowd() ** 2  # a hypercube's, divided among those in it
        return self.places[chance.choice(len(fitness), count, p=fitness / fitness.sum())]

    def _crowd(self) -> Ints:
        """How many share each one's hypercube."""
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        width = np.where(high > low, high - low, 1.0) / self._divisions
        cells = np.minimum((self.points - low) // width, self._divisions - 1).astype(np.int64)
        _, cell_of, members = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
        return members[cell_of.reshape(-1)]
