"""From a specification to a stored plan: what `plan` and `run` have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from provisioning.catalog import CATALOG, load_catalog, load_tariff
from scicore.cli.grounds import grounds_of
from scicore.cli.loading import Specification, default_fleet
from scicore.cli.options import sizing_of
from scicore.cli.planning import (
    EVOLVING,
    EVOLVING_S,
    LEARNER,
    Wish,
    algorithm_of,
    budget_before_run_s,
    policy_for,
    solve,
)
from scicore.config import user_catalog
from scicore.engine.staging import size_and_digest
from scicore.errors import UsageError
from scicore.execution.messages import FileRecorded
from scicore.model.cloud import Fleet, VmType, as_processors, parse_fleet
from scicore.model.estimate import Grounds
from scicore.model.money import FREE, Tariff
from scicore.model.plan import Plan
from scicore.model.problem import Transfer
from scicore.model.workflow import FieldType, Workflow
from scicore.provenance.grounds import save_grounds, save_policy
from scicore.provenance.plans import save_plan
from scicore.provenance.workflows import save_workflow


@dataclass(frozen=True, slots=True)
class Cloud:
    """The VMs that a plan is for, as the user asks for them."""

    fleet: str | None = None  # None: one slave per core of this machine
    catalog: Path | None = None
    transfer: str | None = None  # None: edge, or none where all VMs are this machine
    boot: bool = True
    processors: bool = False  # a VM is one processor, as the papers have it
    sizing: str | None = None  # who sizes activations; None: as the workflow says; empty: nobody


def catalog_of(file: Path | None, workflow: Workflow) -> dict[str, VmType]:
    """The VM types there are; the workflow's own come before the catalog's."""
    own = {vm_type.name: vm_type for vm_type in workflow.machine_types}
    return {**base_catalog(file), **own}


def base_catalog(file: Path | None) -> Mapping[str, VmType]:
    """What ships, and what the file adds: the one asked for, else the user's own."""
    chosen = file or user_catalog()
    return load_catalog(chosen) if file or chosen.exists() else CATALOG


def tariff_of(file: Path | None) -> Tariff:
    """What the same file says about data between regions."""
    chosen = file or user_catalog()
    return load_tariff(chosen) if file or chosen.exists() else FREE


def fleet_of(text: str | None, workflow: Workflow, catalog: Path | None = None) -> Fleet:
    """The VMs asked for."""
    fleet = parse_fleet(default_fleet() if text is None else text, catalog_of(catalog, workflow))
    return within_limits(fleet, workflow)


def within_limits(fleet: Fleet, workflow: Workflow) -> Fleet:
    """The fleet, if the workflow allows so many VMs."""
    if workflow.max_vm_amount and len(fleet.vms) > workflow.max_vm_amount:
        raise UsageError(
            f"fleet {fleet.text} has {len(fleet.vms)} VMs; the workflow allows "
            f"max_vm_amount={workflow.max_vm_amount}",
            "ask for fewer VMs, or raise max_vm_amount in <constraint>",
        )
    return fleet


def prepare_grounds(connection: Connection, workflow: Workflow, cloud: Cloud) -> Grounds:
    """What a planner is asked: the workflow on these VMs, as far as earlier runs know it."""
    fleet = fleet_of(cloud.fleet, workflow, cloud.catalog)
    fleet = as_processors(fleet) if cloud.processors else fleet
    return planned_grounds(connection, workflow, fleet, cloud)


def planned_grounds(
    connection: Connection, workflow: Workflow, fleet: Fleet, cloud: Cloud
) -> Grounds:
    """The same for a fleet that is known already."""
    here = all(vm.type.name == "local" for vm in fleet.vms)
    default = Transfer.NONE if here else Transfer.EDGE
    transfer = default if cloud.transfer is None else Transfer(cloud.transfer)
    catalog = catalog_of(cloud.catalog, workflow)
    sizing = sizing_of(cloud.sizing, workflow)
    grounds = grounds_of(connection, workflow, fleet, catalog, transfer, cloud.boot, sizing)
    tariff = tariff_of(cloud.catalog)
    if not tariff.usd_per_gb:
        return grounds
    return replace(grounds, problem=replace(grounds.problem, tariff=tariff))


def make_plan(
    connection: Connection,
    workflow: Workflow,
    fleet: Fleet,
    algorithm: str | None,
    seed: int,
    sizing: str = "",
) -> Plan:
    """The plan for a run that starts right away: planning must not take longer than it pays."""
    grounds = planned_grounds(connection, workflow, fleet, Cloud(sizing=sizing))
    wish = Wish(algorithm, seed)
    name = algorithm_of(algorithm, workflow)
    if name == LEARNER:
        wish = replace(wish, budget_s=budget_before_run_s(grounds))
    elif name in EVOLVING:
        wish = replace(wish, budget_s=max(EVOLVING_S, budget_before_run_s(grounds)))
    return solve(workflow, grounds, wish, policy_for(connection, workflow, wish))


def input_files(workflow: Workflow) -> list[FileRecorded]:
    """The files that the datasets name, numbered as their tuples are when the run is stored."""
    return [
        FileRecorded(number, name, str(path), *size_and_digest(path))
        for number, name, path in _named_files(workflow)
    ]


def input_paths(workflow: Workflow) -> frozenset[Path]:
    return frozenset(path for _, _, path in _named_files(workflow))


def _named_files(workflow: Workflow) -> Iterator[tuple[int, str, Path]]:
    """Number of the tuple, field and file."""
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
                    yield number, name, Path(row[place])


def store_plan(
    connection: Connection, specification: Specification, plan: Plan, about: str | None = None
) -> tuple[int, int]:
    """Ids of the workflow and of the plan, which is stored with all that it rests on; `about`: what
    was learned is about more workflows than this one, which are called so together."""
    workflow_id = save_workflow(connection, specification.workflow, specification.source)
    plan_id = save_plan(connection, workflow_id, plan)
    save_policy(connection, plan_id, about or specification.workflow.tag, plan)
    if plan.grounds is not None:
        save_grounds(connection, plan_id, plan.grounds)
    return workflow_id, plan_id


def require_local(fleet: Fleet) -> None:
    others = sorted({vm.type.name for vm in fleet.vms if vm.type.name != "local"})
    if others:
        raise UsageError(
            f"fleet {fleet.text}: {', '.join(others)} can be planned for, but it is not said "
            "which hosts they are",
            "name the hosts with --hostfile FILE or --cluster NAME, or run on this machine with "
            f"--fleet {len(fleet.vms)}xlocal",
        )
