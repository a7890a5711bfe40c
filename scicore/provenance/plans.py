"""Plans, written when they are made and read when a run follows them."""

from __future__ import annotations

from itertools import starmap

import msgspec
from sqlalchemy import (
    Connection,
    insert,
    select,
)

from scicore.errors import UsageError
from scicore.model.cloud import Fleet
from scicore.model.plan import Assignment, Plan
from scicore.provenance import tables
from scicore.provenance.bulk import Lines, copied, copy_lines, trust


def save_plan(connection: Connection, workflow_id: int, plan: Plan) -> int:
    plan_id = connection.execute(
        insert(tables.plan)
        .values(
            workflow_id=workflow_id,
            algorithm=plan.algorithm,
            parameters=dict(plan.parameters),
            seed=plan.seed,
            fleet=plan.fleet.text,
            fleet_vms=msgspec.to_builtins(plan.fleet.vms),
            makespan_s=plan.makespan_s,
            cost_usd=plan.cost_usd,
            lower_bound_s=plan.lower_bound_s,
            planning_s=plan.planning_s,
        )
        .returning(tables.plan.c.plan_id)
    ).scalar_one()
    lines = [
        f"{plan_id}\t{position}\t{copied(each.activation)}\t{copied(each.activity)}\t"
        f"{copied(each.vm)}\t{each.start_s}\t{each.finish_s}\n"
        for position, each in enumerate(plan.assignments)
    ]
    trust(connection)
    columns = ("plan_id", "position", "activation", "activity", "vm", "start_s", "finish_s")
    copy_lines(connection, Lines(tables.assignment, columns, lines))
    return int(plan_id)


def load_plan(connection: Connection, plan_id: int, *, whole: bool = True) -> tuple[int, Plan]:
    """The plan and the id of the workflow that it is for; not whole: without assignments."""
    found = connection.execute(
        select(tables.plan).where(tables.plan.c.plan_id == plan_id)
    ).mappings()
    row = found.one_or_none()
    if row is None:
        raise UsageError(f"there is no plan {plan_id}", "`scicumulus plan SPEC` makes one")
    columns = [tables.assignment.c[name] for name in Assignment.__dataclass_fields__]
    stored = (
        select(*columns)
        .where(tables.assignment.c.plan_id == plan_id)
        .order_by(tables.assignment.c.position)
    )
    fleet = msgspec.convert({"text": row["fleet"], "vms": row["fleet_vms"]}, Fleet)
    plan = Plan(
        algorithm=row["algorithm"],
        parameters=row["parameters"],
        seed=row["seed"],
        fleet=fleet,
        assignments=tuple(starmap(Assignment, connection.execute(stored))) if whole else (),
        makespan_s=row["makespan_s"],
        cost_usd=row["cost_usd"],
        lower_bound_s=row["lower_bound_s"],
        planning_s=row["planning_s"],
    )
    return row["workflow_id"], plan


def limits_of_plan(connection: Connection, plan_id: int) -> tuple[int, float]:
    """max_vm_amount and max_financial_cost of the plan's workflow; 0 = no limit."""
    definition = tables.workflow.c.definition
    row = connection.execute(
        select(definition["max_vm_amount"], definition["max_cost_usd"])
        .join(tables.plan, tables.plan.c.workflow_id == tables.workflow.c.workflow_id)
        .where(tables.plan.c.plan_id == plan_id)
    ).one()
    return int(row[0] or 0), float(row[1] or 0.0)
