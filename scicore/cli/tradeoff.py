"""Time against money: the plans of a front, how sure they are, and the one that the user means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from scicore.estimation.spreads import spreads_of
from scicore.kernel.billing import held_usd, prices_of
from scicore.model.estimate import Grounds
from scicore.model.front import Front, front_of
from scicore.model.objective import Objective
from scicore.model.plan import Plan
from scicore.planners.subfleets import without_idle
from scicore.simulator.models import Uncertainty
from scicore.simulator.odds import Odds, odds_of

MOST_SHOWN = 20  # plans of a front
REPEATS = 400  # simulated runs of each


@dataclass(frozen=True, slots=True)
class Doubt:
    """How sure the user wants to be, and what is assumed where nothing was measured."""

    confidence: float = 0.9
    noise: float = 0.3  # sigma of runtimes that no earlier run tells about
    repeats: int = REPEATS
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    plan: Plan  # with its grounds; VMs that it does not use are left out
    odds: Odds

    @property
    def grounds(self) -> Grounds:
        assert self.plan.grounds is not None
        return self.plan.grounds

    @property
    def held_usd(self) -> float:
        """What it costs if all its VMs are kept until the run has ended."""
        vms = np.arange(len(self.plan.fleet.vms))
        return held_usd(prices_of(self.grounds.problem), vms, round(self.plan.makespan_s * 1000))


@dataclass(frozen=True, slots=True)
class Choice:
    candidates: Sequence[Candidate]  # fastest first
    chosen: int
    objective: Objective
    doubt: Doubt

    @property
    def plan(self) -> Plan:
        return self.candidates[self.chosen].plan

    @property
    def probability(self) -> float:
        return self.candidates[self.chosen].odds.keeps(self.objective)

    @property
    def kept(self) -> bool:
        """Does the chosen plan keep the constraints, as surely as was asked for?"""
        return _assured(self.candidates[self.chosen], self.objective, self.doubt)

    @property
    def next_faster(self) -> Plan | None:
        """The next plan on other VMs."""
        return self._other(reversed(self.candidates[: self.chosen]))

    @property
    def next_cheaper(self) -> Plan | None:
        return self._other(self.candidates[self.chosen + 1 :])

    def _other(self, candidates: Iterable[Candidate]) -> Plan | None:
        others = (each.plan for each in candidates)
        return next((plan for plan in others if plan.fleet.text != self.plan.fleet.text), None)


def choose(plans: Iterable[Plan], objective: Objective, doubt: Doubt) -> Choice:
    """Of plans with their grounds: those worth showing, and the one that the user's words pick."""
    front = front_of(plans)
    shown = [front.plans.index(plan) for plan in front.thinned(MOST_SHOWN)]
    weighed_at = {place: _candidate(front.plans[place], doubt) for place in shown}
    if objective.constrained:
        weighed_at |= _at_the_limit(front, weighed_at, objective, doubt)
    candidates = [weighed_at[place] for place in sorted(weighed_at)]
    assured = [each for each in candidates if _assured(each, objective, doubt)]
    if assured:
        best = Front(tuple(each.plan for each in assured)).best(Objective(objective.wanted))
        chosen = next(place for place, each in enumerate(candidates) if each.plan is best)
    else:
        chosen = max(
            range(len(candidates)),
            key=lambda place: _closeness(candidates[place], objective, doubt),
        )
    return Choice(candidates, chosen, objective, doubt)


def _at_the_limit(
    front: Front, weighed_at: Mapping[int, Candidate], objective: Objective, doubt: Doubt
) -> dict[int, Candidate]:
    """Between two plans that are shown, of which one keeps the limits and the other does not, the
    last one that does: found by halving, because a front gets slower and cheaper step by step."""
    found = {}
    for one, other in pairwise(sorted(weighed_at)):
        kept = [_assured(weighed_at[place], objective, doubt) for place in (one, other)]
        if kept[0] == kept[1]:
            continue
        inside, outside = (one, other) if kept[0] else (other, one)
        last = None
        while abs(inside - outside) > 1:
            middle = (inside + outside) // 2
            candidate = _candidate(front.plans[middle], doubt)
            if _assured(candidate, objective, doubt):
                inside, last = middle, candidate
            else:
                outside = middle
        if last is not None:
            found[inside] = last
    return found


def _candidate(plan: Plan, doubt: Doubt) -> Candidate:
    assert plan.grounds is not None
    problem, used = without_idle(plan.grounds.problem, plan)
    types = {vm.type.name for vm in problem.fleet.vms}
    estimates = tuple(each for each in plan.grounds.estimates if each.vm_type in types)
    bandwidths = tuple(each for each in plan.grounds.bandwidths if each.vm_type in types)
    grounds = Grounds(problem, estimates, bandwidths)
    plan = replace(used, grounds=grounds)
    return Candidate(plan, weighed(plan, grounds, doubt))


def weighed(plan: Plan, grounds: Grounds, doubt: Doubt) -> Odds:
    """The odds of a plan, from what earlier runs tell about the runtimes in it."""
    uncertainty = Uncertainty(spreads=spreads_of(grounds, plan, doubt.noise))
    rng = np.random.default_rng(doubt.seed)
    return odds_of(grounds.problem, plan, uncertainty, rng, doubt.repeats)


def _assured(candidate: Candidate, objective: Objective, doubt: Doubt) -> bool:
    return not objective.constrained or candidate.odds.assures(objective, doubt.confidence)


def _closeness(candidate: Candidate, objective: Objective, doubt: Doubt) -> tuple[float, float]:
    """Of plans that miss a constraint: kept most often, then missed by least."""
    odds, share = candidate.odds, doubt.confidence
    over = objective.excess(odds.time_s(share), odds.money_usd(share))
    return odds.keeps(objective), -over
