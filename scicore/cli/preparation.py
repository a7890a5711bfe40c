"""From a specification to a stored plan: what `plan` and `run` have in common."""

from __future__ import annotations

import os
import shlex
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from provisioning.catalog import CATALOG
from scicore.algebra.forecast import Forecast, forecast
from scicore.cli.output import say
from scicore.engine import burn
from scicore.engine.staging import size_and_digest
from scicore.errors import UsageError
from scicore.estimation.history import estimate_runtimes
from scicore.execution.messages import FileRecorded
from scicore.model.cloud import Fleet, parse_fleet
from scicore.model.plan import Plan
from scicore.model.problem import Problem
from scicore.model.workflow import FieldType, Workflow
from scicore.planners import DEFAULT, planner
from scicore.provenance.reader import fan_outs, observations
from scicore.provenance.store import save_plan, save_workflow
from scicore.spec import load_workflow
from scicore.spec.trace import kind_of, load_trace, trace_workflow

WARNINGS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Specification:
    """A workflow that loaded without defects, with the text it came from."""

    workflow: Workflow
    source: str


@dataclass(frozen=True, slots=True)
class Replay:
    """How a trace is played again."""

    time_scale: float = 1.0
    size_scale: float = 1.0
    sleep: bool = False  # instead of using the CPU


def load(path: Path, replay: Replay | None = None) -> Specification:
    """Everything that can be wrong with the text is found here, before anything is touched."""
    if kind_of(path) != "scicumulus":
        return load_replay(path, replay or Replay(), Path.cwd())
    if replay is not None:
        raise UsageError(f"{path} is no trace: --replay is for DAX and WfFormat files")
    loaded = load_workflow(path)
    for warning in loaded.warnings:
        say(f"warning: {warning}")
    return Specification(loaded.workflow, loaded.source)


def load_replay(path: Path, replay: Replay, directory: Path) -> Specification:
    """A trace as a workflow whose programs only take the time and make the files."""
    trace = load_trace(path)
    for warning in trace.warnings[:WARNINGS_SHOWN]:
        say(f"warning: {warning}")
    if len(trace.warnings) > WARNINGS_SHOWN:
        say(f"warning: and {len(trace.warnings) - WARNINGS_SHOWN} more like these")
    mode = "sleep" if replay.sleep else "cpu"
    program = shlex.join([sys.executable, "-S", str(Path(burn.__file__)), mode])
    command = f"{program} %=RUNDIR%/files"
    workflow = trace_workflow(trace, directory, command, replay.time_scale, replay.size_scale)
    return Specification(workflow, f"imported from {path.absolute()}")


def default_fleet() -> str:
    """One slave per core of this machine."""
    return f"{len(os.sched_getaffinity(0))}xlocal"


def fleet_of(text: str | None, workflow: Workflow) -> Fleet:
    """The VMs asked for; the workflow's own machine types come before the catalog's."""
    own = {vm_type.name: vm_type for vm_type in workflow.machine_types}
    fleet = parse_fleet(text or default_fleet(), {**CATALOG, **own})
    if workflow.max_vm_amount and len(fleet.vms) > workflow.max_vm_amount:
        raise UsageError(
            f"fleet {fleet.text} has {len(fleet.vms)} VMs; the workflow allows "
            f"max_vm_amount={workflow.max_vm_amount}",
            "ask for fewer VMs, or raise max_vm_amount in <constraint>",
        )
    return fleet


def make_plan(
    connection: Connection, workflow: Workflow, fleet: Fleet, algorithm: str | None, seed: int
) -> Plan:
    """Plan what is expected to run, with the runtimes that earlier runs measured."""
    chosen = planner(algorithm or workflow.algorithm or DEFAULT)
    started = time.perf_counter()
    expected = forecast(workflow, fan_outs(connection, workflow.tag))
    measured = observations(connection, workflow.tag)
    problem = Problem(
        activations=expected.names,
        activities=expected.activities,
        edges=expected.edges,
        fleet=fleet,
        runtime_s=estimate_runtimes(
            expected.activities,
            fleet,
            measured,
            [request.runtime_s for request in expected.requests],
        ),
    )
    _require_room(expected, fleet)
    plan = chosen.plan(problem, seed)
    return replace(plan, planning_s=time.perf_counter() - started)


def _require_room(expected: Forecast, fleet: Fleet) -> None:
    """An activation that fits no VM is refused before anything starts."""
    largest = max((vm.type.slots for vm in fleet.vms), default=0)
    for name, request in zip(expected.names, expected.requests, strict=True):
        if request.cpus > largest:
            raise UsageError(
                f"activation {name} asks for {request.cpus} cpus, but the largest VM of the fleet "
                f"{fleet.text} has {largest} slots",
                f"use a larger VM, e.g. --fleet 1xlocal:{request.cpus}, or ask for fewer cpus",
            )


def input_files(workflow: Workflow) -> list[FileRecorded]:
    """The files that the datasets name, numbered as their tuples are when the run is stored."""
    files = []
    number = 0
    for dataset in workflow.datasets:
        places = [
            (place, field.name)
            for place, field in enumerate(dataset.relation.fields)
            if field.type is FieldType.FILE
        ]
        for row in dataset.rows:
            number += 1
            for place, name in places:
                if row[place]:
                    path = Path(row[place])
                    files.append(FileRecorded(number, name, str(path), *size_and_digest(path)))
    return files


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
