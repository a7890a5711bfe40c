"""What `mdp` is told before it plans, and what it is told of a run afterwards."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from scicore.model.activation import RunState
from scicore.model.experience import Experience, Moment, Result
from scicore.model.plan import Policy
from scicore.planners.mdp import Mdp, chosen_at, policy_of
from scicore.provenance.experience import (
    EndedRun,
    experiences,
    load_now,
    save_experience,
    untold_runs,
)
from scicore.provenance.plans import load_policy
from scicore.provenance.store import load_plan


def world_now(connection: Connection, workflow_tag: str) -> Policy:
    """The hour, the load, how the latest run ended, and all that was experienced."""
    known = experiences(connection, workflow_tag)
    latest = known[-1].after.result if known else Result.SUCCESS
    return policy_of(Moment(datetime.now().hour, load_now(connection), latest), known)


def learn_from_runs(connection: Connection) -> int:
    """Every run that `mdp` has planned and that has ended becomes an experience; how many did."""
    learned = 0
    for run in untold_runs(connection, Mdp.name):
        experience = _experience(connection, run)
        if experience is not None:
            save_experience(connection, run, experience)
            learned += 1
    return learned


def _experience(connection: Connection, run: EndedRun) -> Experience | None:
    policy = load_policy(connection, run.plan_id)
    if policy is None:
        return None
    solver, before = chosen_at(policy)
    _, plan = load_plan(connection, run.plan_id)
    deadline_s = float(plan.parameters.get("deadline_s", 0)) or run.max_time_s
    in_time = not deadline_s or run.makespan_s <= deadline_s
    good = run.state is RunState.FINISHED and in_time
    after = Moment(
        run.ended_at.astimezone().hour,
        load_now(connection),
        Result.SUCCESS if good else Result.FAILURE,
    )
    return Experience(solver, before, after, run.cost_usd, run.makespan_s)
