"""MDP: which solver plans is decided by what solvers have cost before, at this hour and load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from scicore.errors import UsageError
from scicore.model.experience import Experience, Moment, Result
from scicore.model.front import Front, front_of
from scicore.model.parameters import Parameters, as_texts, read_settings, setting
from scicore.model.plan import Plan, Policy
from scicore.model.problem import Problem
from scicore.planners.base import Budget, Planner, Report
from scicore.planners.decision_process import (
    HOURS,
    Rules,
    State,
    Tally,
    Unseen,
    action_values,
    learned,
)
from scicore.planners.ga import Ga, GaParameters

KIND = "mdp"
SOLVERS = "start=heft confidence=1; start=heft confidence=0.5; start=heft confidence=0.1"


@dataclass(frozen=True, slots=True)
class MdpParameters(Parameters):
    solvers: str = setting(SOLVERS, "settings of ga, one solver after the other, between `;`")
    gamma: float = setting(0.5, "discount of what comes after this run", 0, 0.999)
    theta: float = setting(1e-9, "value iteration ends when no value changes by more, USD", 0, 1)
    expc: float = setting(1.0, "weight of the uniform start, Expc of eqs. 7 and 8", 1e-9, 1e9)
    penalty_usd: float = setting(1.0, "for a missed deadline or budget, or a failed run", 0, 1e9)
    hour_usd: float = setting(0.0, "what an hour of makespan counts beside its cost", 0, 1e9)
    unseen: Unseen = setting(Unseen.MEAN, "cost of what never happened: solver's mean, or zero")
    epsilon: float = setting(0.05, "probability of trying any solver", 0, 1)
    light_below: float = setting(0.5, "activations per slot: less is a light load", 0, 1e9)
    heavy_from: float = setting(1.5, "activations per slot: this and more is a heavy load", 0, 1e9)
    deadline_s: float = setting(0.0, "that a run must keep; 0: the workflow's max_time", 0, 1e9)


class Mdp(Planner[MdpParameters]):
    """A Markov decision process chooses between genetic algorithms.

    Paper
        E. Barrett, E. Howley, J. Duggan: A Learning Architecture for Scheduling Workflow
        Applications in the Cloud, 2011, sections II.A and IV.C, algorithm 2; model learning
        after P. Doshi et al., Dynamic Workflow Composition using Markov Decision Processes, 2005.

    Idea
        Several solvers trust the runtime estimates more or less, so their schedules differ.
        Which one does best depends on the hour and on the load. After every real run it is
        known what the chosen one has cost and how it ended; from that, transition probabilities
        and costs are learned, and value iteration finds the solver with the least cost in the
        long run.

    Symbols
        s             hour (0 to 23) × load (light, moderate, heavy) × result of the latest run
                      (success, failure): 144 states
        a             a solver
        P^a_s,s'      probability that the run ends in s': eqs. 7 and 8, with Expc counting
        R^a_s,s'      mean cost of the runs that did, penalties included, USD: to be small
        V(s)          min over a of sum over s' of P (R + gamma V(s')), algorithm 2

    Differences
        - Only the chosen solver is run: the choice does not depend on the schedules.
        - Expc is kept per state and action: kept per transition, the probabilities would not
          sum up to 1. The start is uniform.
        - What a transition that was never seen costs is not said: `unseen`. Nor is how much is
          explored: `epsilon`; a solver that was never tried counts as free, so each is tried.
        - The deadline's penalty, gamma, theta and the limits of the loads are not given.
    """

    name = "mdp"
    settable = MdpParameters

    def plan(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Plan:
        solver, choice = self._chosen(seed, policy)
        return self._own(solver.plan(problem, seed, budget, progress), choice)

    def front(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Front:
        solver, choice = self._chosen(seed, policy)
        front = solver.front(problem, seed, budget, progress)
        return front_of(self._own(plan, choice) for plan in front)

    def _chosen(self, seed: int, policy: Policy | None) -> tuple[Ga, Policy]:
        solvers = solvers_of(self.parameters.solvers)
        now, known = _recalled(policy)
        tally = Tally(list(solvers), rules_of(self.parameters))
        for each in known:
            tally.add(each)
        choice = choose(tally, now, self.parameters, seed)
        return Ga(solvers[choice.solver]), {"kind": KIND, **_moment(now), "choice": _told(choice)}

    def _own(self, plan: Plan, choice: Policy) -> Plan:
        return replace(
            plan, algorithm=self.name, parameters=as_texts(self.parameters), policy=choice
        )


class Prospect(NamedTuple):
    solver: str
    expected_usd: float  # of this run and, discounted, of those after it
    tried: int  # how often, in this state


@dataclass(frozen=True, slots=True)
class Choice:
    solver: str
    because: str
    state: State
    solvers: tuple[Prospect, ...]
    experiences: int  # in all states


def choose(tally: Tally, now: Moment, parameters: MdpParameters, seed: int) -> Choice:
    solvers, state = tally.solvers, tally.rules.state(now)
    model = learned(tally)
    expected = action_values(model, parameters.gamma, parameters.theta)[:, state.number]
    experiences = int(model.tried.sum())
    # Another number each time that something has been learned, whatever the seed.
    chance = np.random.default_rng([seed, experiences])
    never = np.flatnonzero(model.tried.sum(axis=1) == 0)
    if len(never):
        action, because = int(never[0]), "it was never tried before"
    elif chance.random() < parameters.epsilon:
        action = int(chance.integers(len(solvers)))
        because = f"chance: one choice in {1 / parameters.epsilon:g} tries any solver"
    else:
        action, because = int(np.argmin(expected)), "its expected cost is the least"
    tried = model.tried[:, state.number].astype(int).tolist()
    prospects = map(Prospect, solvers, expected.tolist(), tried)
    return Choice(solvers[action], because, state, tuple(prospects), experiences)


def rules_of(parameters: MdpParameters) -> Rules:
    if parameters.heavy_from < parameters.light_below:
        raise UsageError(
            f"mdp: found heavy_from={parameters.heavy_from:g} below "
            f"light_below={parameters.light_below:g}",
            "a heavy load must be more than a light one",
        )
    names = ("light_below", "heavy_from", "expc", "penalty_usd", "hour_usd", "unseen")
    return Rules(**{name: getattr(parameters, name) for name in names})


def solvers_of(text: str) -> dict[str, GaParameters]:
    """Solvers by their settings, as in `confidence=1; confidence=0.5 generations=500`."""
    solvers: dict[str, GaParameters] = {}
    for part in text.split(";"):
        words = part.split()
        pairs = [word.partition("=") for word in words]
        name = " ".join(words)
        if not words or name in solvers or not all(equals for _, equals, _ in pairs):
            raise UsageError(
                f"mdp: found the solver {part.strip()!r}, expected settings of ga, not twice",
                "write solvers as 'confidence=1; confidence=0.5 generations=500'",
            )
        settings = {key: value for key, _, value in pairs}
        made = read_settings(GaParameters, f"ga, solver {name!r} of mdp,", settings)
        assert isinstance(made, GaParameters)
        solvers[name] = made
    return solvers


# -- what was learned, as plain data --------------------------------------------------------------


def policy_of(now: Moment, known: Sequence[Experience]) -> Policy:
    """What the planner is told of the world."""
    rows = [
        [each.solver, *_plain(each.before), *_plain(each.after), each.cost_usd, each.makespan_s]
        for each in known
    ]
    return {"kind": KIND, **_moment(now), "experience": rows}


def chosen_at(policy: Policy) -> tuple[str, Moment]:
    """Of a plan's policy: the solver, and when it was chosen."""
    found: Any = policy
    now, _ = _recalled(policy)
    return str(found["choice"]["solver"]), now


def _recalled(policy: Policy | None) -> tuple[Moment, list[Experience]]:
    """Without a policy: nothing has been learned, at midnight, and nothing else goes on."""
    if policy is None:
        return Moment(0, 0.0), []
    if policy.get("kind") != KIND:
        raise UsageError(f"the policy is a {policy.get('kind')!r}, expected an {KIND!r}")
    found: Any = policy
    rows = found.get("experience", ())
    known = [
        Experience(row[0], _read(row[1:4]), _read(row[4:7]), float(row[7]), float(row[8]))
        for row in rows
    ]
    return _read(found["now"]), known


def _moment(now: Moment) -> dict[str, object]:
    return {"now": _plain(now)}


def _plain(moment: Moment) -> list[object]:
    return [moment.hour, moment.load, str(moment.result)]


def _read(values: Sequence[Any]) -> Moment:
    hour, load, result = values
    return Moment(int(hour) % HOURS, float(load), Result(result))


def _told(choice: Choice) -> dict[str, object]:
    return {
        "solver": choice.solver,
        "because": choice.because,
        "state": [choice.state.hour, str(choice.state.load), str(choice.state.result)],
        "solvers": [list(each) for each in choice.solvers],
        "experiences": choice.experiences,
    }
