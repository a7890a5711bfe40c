"""Which planner is asked, with which parameters, for how long, and from which policy it starts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from scicore.errors import UsageError
from scicore.model.estimate import Grounds
from scicore.model.plan import Plan, Policy
from scicore.model.workflow import Workflow
from scicore.planners import ALIASES, DEFAULT, planner
from scicore.planners.base import Budget, Progress, Report
from scicore.provenance.plans import latest_policy

LEARNER = "reassign-plus"
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


def policy_for(connection: Connection, workflow: Workflow, wish: Wish) -> Policy | None:
    """What the planner has learned last about the workflow; unknown planners are refused."""
    name = algorithm_of(wish.algorithm, workflow)
    planner(name, wish.settings)
    return latest_policy(connection, workflow.tag, name)


def solve(
    workflow: Workflow,
    grounds: Grounds,
    wish: Wish,
    policy: Policy | None = None,
    report: Report | None = None,
) -> Plan:
    """The plan, with what it rests on. No connection is held while a learner takes its time."""
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

    plan = chosen.plan(grounds.problem, wish.seed, budget, note, policy)
    if last and last[0].episodes != curve[-1][0]:
        curve.append((last[0].episodes, curve[-1][1]))
    planning_s = time.perf_counter() - began_s
    return replace(plan, planning_s=planning_s, curve=tuple(curve), grounds=grounds)


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
