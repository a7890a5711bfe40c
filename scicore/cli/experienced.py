"""What `mdp` is told before it plans, and what it is told of a run afterwards."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from scicore.model.activation import RunState
from scicore.model.experience import Experience, Moment, Result
from scicore.model.money import BYTES_PER_GB
from scicore.model.plan import Plan, Policy
from scicore.planners.mdp import Mdp, chosen_at, policy_of
from scicore.provenance.experience import (
    EndedRun,
    experiences,
    load_now,
    moved_bytes,
    save_experience,
    untold_runs,
)
from scicore.provenance.grounds import load_policy, load_problem
from scicore.provenance.plans import load_plan


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
    cost_usd = run.cost_usd + _data_usd(connection, run, plan)
    return Experience(solver, before, after, cost_usd, run.makespan_s)


def _data_usd(connection: Connection, run: EndedRun, plan: Plan) -> float:
    """What went from region to region, at the prices of when the plan was made."""
    problem = load_problem(connection, run.plan_id, plan.fleet)
    if problem is None or not problem.tariff.usd_per_gb:
        return 0.0
    types = {vm.id: vm.type for vm in plan.fleet.vms}
    return sum(
        size / BYTES_PER_GB * problem.tariff.between(types[sender], types[receiver])
        for (sender, receiver), size in moved_bytes(connection, run.run_id).items()
        if sender in types and receiver in types
    )
