"""NSGA-II: a population that is sorted into fronts, and kept spread along the first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scicore.kernel.appraisal import orders_by_priority
from scicore.kernel.instance import Floats, Instance, Ints
from scicore.kernel.jit import suited
from scicore.model.parameters import Parameters, setting
from scicore.planners.trade_off import Appraiser, TradeOff, allowed_vms


@dataclass(frozen=True, slots=True)
class Nsga2Parameters(Parameters):
    population: int = setting(100, "schedules in a generation", 4, 10_000)
    generations: int = setting(100, "generations without a budget", 1, 1e6)
    crossover: float = setting(0.9, "probability that a child has two parents", 0, 1)
    mutation: float = setting(1.0, "genes that mutate per child, on average", 0, 1e6)


class Nsga2(TradeOff[Nsga2Parameters]):
    """Non-dominated sorting genetic algorithm II.

    Paper
        K. Deb, A. Pratap, S. Agarwal, T. Meyarivan: A Fast and Elitist Multiobjective Genetic
        Algorithm: NSGA-II. IEEE Transactions on Evolutionary Computation 6(2), 2002, section III.

    Idea
        Parents and children together are sorted into fronts: the first is what none beats, the
        second what none beats once the first is taken away, and so on. The next parents are the
        best fronts; of the last one that does not fit whole, those that are least crowded. Parents
        of a child are winners of a tournament of two by front, then by crowding.

    Symbols
        N                population
        p_c, p_m         probability of crossover; of mutation, here mutation / n per gene
        rank             number of the front, from 0
        crowding         half the perimeter of the box that the neighbours in the front leave

    Differences
        - The paper leaves the encoding open. Here, an order of the activations, which is
          topological, and the VM of each. Children take the order of one parent up to a point and
          the rest in the order of the other, which stays topological, and each VM from either
          side of another point; mutation gives an activation another VM or another turn.
        - The result is every non-dominated schedule that was ever seen, not the last population's.
    """

    name = "nsga2"
    settable = Nsga2Parameters

    def expected(self, count: int) -> int:
        return self.parameters.population * (self.parameters.generations + 1)

    def search(self, instance: Instance, appraise: Appraiser, chance: np.random.Generator) -> None:
        size = self.parameters.population
        breed = _Breeding(instance, self.parameters, chance)
        orders, vms = breed.first(size)
        points = appraise(orders, vms)
        ranks, crowding = sorted_into_fronts(points)
        while appraise.done() < 1:
            pairs = _tournament(ranks, crowding, 2 * size, chance).reshape(size, 2)
            children = [breed.child(orders[pair], vms[pair]) for pair in pairs]
            orders = np.concatenate([orders, np.array([order for order, _ in children])])
            vms = np.concatenate([vms, np.array([vm_of for _, vm_of in children])])
            points = np.concatenate([points, appraise(orders[size:], vms[size:])])
            ranks, crowding = sorted_into_fronts(points)
            best = np.lexsort((-crowding, ranks))[:size]
            orders, vms, points = orders[best], vms[best], points[best]
            ranks, crowding = ranks[best], crowding[best]


def _tournament(ranks: Ints, crowding: Floats, winners: int, chance: np.random.Generator) -> Ints:
    """Of two at random the one of the better front, or else the less crowded one."""
    left, right = chance.integers(0, len(ranks), (2, winners))
    less = (ranks[right] < ranks[left]) | (
        (ranks[right] == ranks[left]) & (crowding[right] > crowding[left])
    )
    won: Ints = np.where(less, right, left)
    return won


def sorted_into_fronts(points: Floats) -> tuple[Ints, Floats]:
    """Front and crowding of each point; less is better in both coordinates."""
    ranks = np.zeros(len(points), dtype=np.int64)
    crowding = np.zeros(len(points))
    left = np.lexsort((points[:, 1], points[:, 0]))
    rank = 0
    while len(left):
        # By the first coordinate, a point is beaten if one before it is no worse in the second;
        # equal points do not beat each other.
        second = points[left, 1]
        least = np.minimum.accumulate(second)
        first_with = np.searchsorted(-least, -second, side="left")  # the first that is no worse
        same = (points[left[first_with]] == points[left]).all(axis=1)
        front = left[same]
        ranks[front] = rank
        crowding[front] = crowding_of(points[front])
        left = left[~same]
        rank += 1
    return ranks, crowding


def crowding_of(points: Floats) -> Floats:
    """Distance of each point's neighbours along each coordinate, as parts of its span; the ends
    are never crowded."""
    distance = np.zeros(len(points))
    for values in points.T:
        by_value = np.argsort(values, kind="stable")
        ascending = values[by_value]
        span = ascending[-1] - ascending[0]
        distance[by_value[[0, -1]]] = np.inf
        if span > 0:
            distance[by_value[1:-1]] += (ascending[2:] - ascending[:-2]) / span
    return distance


class _Breeding:
    def __init__(
        self, instance: Instance, parameters: Nsga2Parameters, chance: np.random.Generator
    ) -> None:
        self._instance = instance
        self._crossover = parameters.crossover
        self._count = len(instance.order)
        self._mutation = min(parameters.mutation / self._count, 1.0)
        self._vms, self._fitting = allowed_vms(instance)
        self._chance = chance

    def first(self, size: int) -> tuple[Ints, Ints]:
        """Random topological orders and VMs."""
        orders = np.zeros((size, self._count), dtype=np.int64)
        line_up = suited(orders_by_priority, orders.size)
        line_up(self._instance, self._chance.random(orders.shape), orders)
        rows = np.arange(self._count)
        vms = self._vms[rows, self._chance.integers(0, self._fitting, orders.shape)]
        return orders, vms

    def child(self, orders: Ints, vms: Ints) -> tuple[Ints, Ints]:
        """Of two parents."""
        order, vm_of = orders[0].copy(), vms[0].copy()
        if self._chance.random() < self._crossover:
            cut = int(self._chance.integers(0, self._count + 1))
            taken = np.zeros(self._count, dtype=np.bool_)
            taken[order[:cut]] = True
            order[cut:] = orders[1][~taken[orders[1]]]
            cut = int(self._chance.integers(0, self._count + 1))
            vm_of[cut:] = vms[1][cut:]
        for activation in np.flatnonzero(self._chance.random(self._count) < self._mutation):
            vm_of[activation] = self._any_vm(int(activation))
        for activation in np.flatnonzero(self._chance.random(self._count) < self._mutation):
            self._move(order, int(activation))
        return order, vm_of

    def _any_vm(self, activation: int) -> int:
        return int(self._vms[activation, self._chance.integers(self._fitting[activation])])

    def _move(self, order: Ints, activation: int) -> None:
        """To any turn between its last parent and its first child."""
        instance = self._instance
        place = np.empty(self._count, dtype=np.int64)
        place[order] = np.arange(self._count)
        parents = instance.parents[slice(*instance.parent_at[activation : activation + 2])]
        children = instance.children[slice(*instance.child_at[activation : activation + 2])]
        first = int(place[parents].max(initial=-1)) + 1
        last = int(place[children].min(initial=self._count)) - 1
        old, new = int(place[activation]), int(self._chance.integers(first, last + 1))
        if new < old:
            order[new + 1 : old + 1] = order[new:old].copy()
        else:
            order[old:new] = order[old + 1 : new + 1].copy()
        order[new] = activation
