"""Which planner is asked, with which parameters, for how long, and from which policy it starts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection

from scicore.errors import UsageError
from scicore.model.estimate import Grounds
from scicore.model.front import Front
from scicore.model.plan import Plan, Policy
from scicore.model.workflow import Workflow
from scicore.planners import ALIASES, DEFAULT, planner
from scicore.planners.base import Budget, Planner, Progress, Report
from scicore.provenance.grounds import latest_policy

LEARNER = "reassign-plus"
MDP = "mdp"
EVOLVING = ("ga", MDP)  # they need some generations before they are any good
EVOLVING_S = 2.0  # so long they may take before any run
SHARE_OF_RUN = 0.05  # of the predicted makespan, that planning may take before a run


@dataclass(frozen=True, slots=True)
class Wish:
    """How the user wants the plan to be made."""

    algorithm: str | None = None
    seed: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    budget_s: float | None = None  # None: as long as the planner's own rule says


def algorithm_of(wanted: str | None, workflow: Workflow) -> str:
    """What the user says, else the workflow, else our learner; q-learning means our learner."""
    name = wanted or workflow.algorithm or DEFAULT
    return ALIASES.get(name.lower(), name)


def before_deadline(wish: Wish, workflow: Workflow, deadline_s: float | None) -> Wish:
    """mdp is told of the deadline: a run that misses it counts as a failure, later."""
    if deadline_s is None or algorithm_of(wish.algorithm, workflow) != MDP:
        return wish
    return replace(wish, settings={"deadline_s": f"{deadline_s:g}", **wish.settings})


def policy_for(connection: Connection, workflow: Workflow, wish: Wish) -> Policy | None:
    """What the planner has learned last about the workflow; unknown planners are refused."""
    name = algorithm_of(wish.algorithm, workflow)
    planner(name, wish.settings)
    if name == MDP:
        from scicore.cli.experienced import world_now

        return world_now(connection, workflow.tag)
    return latest_policy(connection, workflow.tag, name)


def solve(
    workflow: Workflow,
    grounds: Grounds,
    wish: Wish,
    policy: Policy | None = None,
    report: Report | None = None,
) -> Plan:
    """The plan, with what it rests on. No connection is held while a learner takes its time."""

    def make(chosen: Planner[Any], budget: Budget | None, note: Report) -> Sequence[Plan]:
        return [chosen.plan(grounds.problem, wish.seed, budget, note, policy)]

    (plan,) = _timed(workflow, grounds, wish, make, report)
    return plan


def solve_front(
    workflow: Workflow,
    grounds: Grounds,
    wish: Wish,
    policy: Policy | None = None,
    report: Report | None = None,
) -> Front:
    """The same for all plans that trade time for money."""

    def make(chosen: Planner[Any], budget: Budget | None, note: Report) -> Sequence[Plan]:
        return chosen.front(grounds.problem, wish.seed, budget, note, policy).plans

    return Front(tuple(_timed(workflow, grounds, wish, make, report)))


def _timed(
    workflow: Workflow,
    grounds: Grounds,
    wish: Wish,
    make: Callable[[Planner[Any], Budget | None, Report], Sequence[Plan]],
    report: Report | None,
) -> list[Plan]:
    chosen = planner(algorithm_of(wish.algorithm, workflow), wish.settings)
    began_s = time.perf_counter()
    budget = None if wish.budget_s is None else Budget(wish.budget_s, time.perf_counter)
    curve: list[tuple[int, float]] = []
    last: list[Progress] = []

    def note(progress: Progress) -> None:
        """Only improvements, and the last step, are worth keeping."""
        last[:] = [progress]
        if not curve or progress.makespan_s < curve[-1][1]:
            curve.append((progress.episodes, progress.makespan_s))
        if report is not None:
            report(progress)

    plans = make(chosen, budget, note)
    if last and last[0].episodes != curve[-1][0]:
        curve.append((last[0].episodes, curve[-1][1]))
    planning_s = time.perf_counter() - began_s
    return [
        replace(plan, planning_s=planning_s, curve=tuple(curve), grounds=grounds) for plan in plans
    ]


def budget_before_run_s(grounds: Grounds) -> float:
    """Planning must pay: nothing where HEFT's plan cannot be beaten, else a small share of what
    the run will take."""
    plan = planner("heft").plan(grounds.problem, seed=0)
    return 0.0 if plan.makespan_s <= plan.lower_bound_s else SHARE_OF_RUN * plan.makespan_s


def read_settings_option(words: Sequence[str]) -> dict[str, str]:
    """`--set NAME=VALUE`, any number of times."""
    settings = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--set {word}: expected NAME=VALUE, e.g. --set alpha=0.5")
        settings[name.strip()] = value.strip()
    return settings
