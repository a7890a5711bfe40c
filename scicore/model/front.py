"""Plans that no other one beats in both time and money, and what such a set is worth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from scicore.model.objective import Goal, Objective
from scicore.model.plan import Plan

WORTH_A_LINE = 0.001  # of the whole hypervolume, that a plan must add to be shown

Point = tuple[float, float]  # makespan_s, cost_usd: less is better in both


def dominates(one: Point, other: Point) -> bool:
    """Not worse in either, better in one."""
    return one != other and one[0] <= other[0] and one[1] <= other[1]


def non_dominated(points: Sequence[Point]) -> list[int]:
    """Indices of the points that none dominates, by the first coordinate; of equal ones, one."""
    kept: list[int] = []
    for index in sorted(range(len(points)), key=lambda each: points[each]):
        if not kept or points[index][1] < points[kept[-1]][1]:
            kept.append(index)
    return kept


def hypervolume(points: Iterable[Point], reference: Point) -> float:
    """The area between the points and the reference that at least one of them dominates.

    More is better. A point that is not better than the reference in both counts for nothing.
    """
    inside = [point for point in points if point[0] < reference[0] and point[1] < reference[1]]
    area, ceiling = 0.0, reference[1]
    for index in non_dominated(inside):
        first, second = inside[index]
        area += (reference[0] - first) * (ceiling - second)
        ceiling = second
    return area


@dataclass(frozen=True, slots=True)
class Front:
    """Never empty; fastest and dearest first, slowest and cheapest last. Made by `front_of`."""

    plans: tuple[Plan, ...]

    def __iter__(self) -> Iterator[Plan]:
        return iter(self.plans)

    def __len__(self) -> int:
        return len(self.plans)

    @property
    def points(self) -> list[Point]:
        return [point_of(plan) for plan in self.plans]

    def hypervolume(self, reference: Point) -> float:
        return hypervolume(self.points, reference)

    def thinned(self, most: int) -> Front:
        """At most so many plans, those that say most: the fastest, the cheapest, and in between
        whichever adds most hypervolume, as long as that is worth a line."""
        points = self.points
        kept = sorted({0, len(points) - 1})
        reference = points[-1][0], points[0][1]
        whole = hypervolume(points, reference)
        while len(kept) < min(most, len(points)):
            worth = hypervolume([points[index] for index in kept], reference)
            gains = {
                index: hypervolume([points[each] for each in (*kept, index)], reference) - worth
                for index in range(len(points))
                if index not in kept
            }
            best = max(gains, key=lambda index: gains[index])
            if gains[best] <= WORTH_A_LINE * whole:
                break
            kept = sorted([*kept, best])
        return Front(tuple(self.plans[index] for index in kept[:most]))

    def best(self, objective: Objective) -> Plan:
        """The plan that the user's words pick, of those that keep the constraints; if none keeps
        them, the one that comes closest."""
        kept = [plan for plan in self.plans if objective.meets(*point_of(plan))]
        if not kept:
            return min(self.plans, key=lambda plan: objective.excess(*point_of(plan)))
        match objective.wanted:
            case Goal.MAKESPAN:
                return kept[0]
            case Goal.COST:
                return kept[-1]
            case _:
                return min(kept, key=self._imbalance)

    def _imbalance(self, plan: Plan) -> float:
        """Product of both as multiples of the best in each: 1 would be best in both."""
        fastest_s, cheapest_usd = self.plans[0].makespan_s, self.plans[-1].cost_usd
        slower = plan.makespan_s / fastest_s if fastest_s else 1.0
        dearer = plan.cost_usd / cheapest_usd if cheapest_usd else 1.0
        return slower * dearer


def point_of(plan: Plan) -> Point:
    return plan.makespan_s, plan.cost_usd


def front_of(plans: Iterable[Plan]) -> Front:
    """The plans that none of the others beats."""
    known = list(plans)
    return Front(tuple(known[index] for index in non_dominated([point_of(each) for each in known])))
