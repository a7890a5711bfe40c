"""From a specification to a stored plan: what `plan` and `run` have in common."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from provisioning.catalog import CATALOG
from scicore.algebra.forecast import forecast
from scicore.cli.output import say
from scicore.errors import UsageError
from scicore.estimation.history import estimate_runtimes
from scicore.model.cloud import Fleet, parse_fleet
from scicore.model.plan import Plan
from scicore.model.problem import Problem
from scicore.model.workflow import Workflow
from scicore.planners import DEFAULT, planner
from scicore.provenance.reader import observations
from scicore.provenance.store import save_plan, save_workflow
from scicore.spec import load_workflow


@dataclass(frozen=True, slots=True)
class Specification:
    """A workflow that loaded without defects, with the text it came from."""

    workflow: Workflow
    source: str


def load(path: Path) -> Specification:
    """Everything that can be wrong with the text is found here, before anything is touched."""
    loaded = load_workflow(path)
    for warning in loaded.warnings:
        say(f"warning: {warning}")
    return Specification(loaded.workflow, loaded.source)


def default_fleet() -> str:
    """One slave per core of this machine."""
    return f"{len(os.sched_getaffinity(0))}xlocal"


def fleet_of(text: str | None) -> Fleet:
    return parse_fleet(text or default_fleet(), CATALOG)


def make_plan(
    connection: Connection, workflow: Workflow, fleet: Fleet, algorithm: str | None, seed: int
) -> Plan:
    """Plan what is expected to run, with the runtimes that earlier runs measured."""
    chosen = planner(algorithm or workflow.algorithm or DEFAULT)
    started = time.perf_counter()
    expected = forecast(workflow)
    measured = observations(connection, workflow.tag)
    problem = Problem(
        activations=expected.names,
        activities=expected.activities,
        edges=expected.edges,
        fleet=fleet,
        runtime_s=estimate_runtimes(expected.activities, fleet, measured),
    )
    plan = chosen.plan(problem, seed)
    return replace(plan, planning_s=time.perf_counter() - started)


def store_plan(connection: Connection, specification: Specification, plan: Plan) -> tuple[int, int]:
    """Ids of the workflow and of the plan."""
    workflow_id = save_workflow(connection, specification.workflow, specification.source)
    return workflow_id, save_plan(connection, workflow_id, plan)


def require_local(fleet: Fleet) -> None:
    others = sorted({vm.type.name for vm in fleet.vms if vm.type.name != "local"})
    if others:
        raise UsageError(
            f"fleet {fleet.text}: {', '.join(others)} can be planned for, but this version runs "
            "on this machine only",
            f"run on this machine with --fleet {len(fleet.vms)}xlocal",
        )
