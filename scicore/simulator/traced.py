"""A problem as a workflow, so that the execution core can run it like any other.

Every activation becomes a tuple that names its parents, as in imported traces: the core then
knows no more, and no less, than it knows in a real run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from scicore.errors import UsageError
from scicore.model.activation import activation_name
from scicore.model.plan import Plan
from scicore.model.problem import Problem
from scicore.model.workflow import (
    Activity,
    Dataset,
    Field,
    FieldType,
    Operator,
    Relation,
    Row,
    Workflow,
)

FIELDS = tuple(Field(name, FieldType.STRING) for name in ("ID", "PARENTS", "CPUS", "MEMORY_MB"))


class Traced(NamedTuple):
    workflow: Workflow
    plan: Plan  # the same plan, under the names that the core gives to the activations


def traced(problem: Problem, plan: Plan, max_attempts: int) -> Traced:
    """`plan` is for the problem; `max_attempts` is how often an activation may be tried."""
    parents: list[list[str]] = [[] for _ in problem.activations]
    for parent, child in problem.edges:
        parents[child].append(str(parent))
    cpus = problem.cpus or (1,) * len(problem.activations)
    memory_mb = problem.memory_mb or (0,) * len(problem.activations)
    rows: dict[str, list[Row]] = {tag: [] for tag in problem.activities}
    names = {}
    for index, tag in enumerate(problem.activities):
        needs = str(cpus[index]), str(memory_mb[index])
        rows[tag].append((str(index), " ".join(parents[index]), *needs))
        names[problem.activations[index]] = activation_name(tag, (len(rows[tag]),))
    return Traced(
        Workflow(
            tag="simulated",
            activities=tuple(map(_activity, rows)),
            datasets=tuple(Dataset(_relation(tag), tuple(rows[tag])) for tag in rows),
            directory="/",
            experiment_directory="/",
            max_attempts=max_attempts,
        ),
        replace(
            plan,
            assignments=tuple(
                replace(assignment, activation=names[assignment.activation])
                for assignment in plan.assignments
            ),
        ),
    )


def require_match(problem: Problem, plan: Plan) -> None:
    """A plan made for other activations, or another fleet, cannot be simulated on this problem."""
    planned = {assignment.activation for assignment in plan.assignments}
    if len(planned) != len(plan.assignments) or planned != set(problem.activations):
        odd = sorted(planned ^ set(problem.activations))[:3]
        raise UsageError(
            f"the plan is for other activations than the workflow has now, e.g. {', '.join(odd)}",
            "make a new plan with `scicumulus plan`",
        )
    if plan.fleet.vms != problem.fleet.vms:
        raise UsageError(
            f"the plan is for the fleet {plan.fleet.text}, found {problem.fleet.text}",
            "leave --fleet out: a plan brings its own",
        )


def _relation(tag: str) -> Relation:
    return Relation(f"{tag}_in", FIELDS)


def _activity(tag: str) -> Activity:
    return Activity(
        tag=tag,
        operator=Operator.MAP,
        command="",
        input=_relation(tag),
        output=Relation(f"{tag}_out", ()),
        cpus="%=CPUS%",
        memory_mb="%=MEMORY_MB%",
        id_field="ID",
        parents_field="PARENTS",
    )
