"""A run's PROV elements: agents, entities and activities. Pure.

agents       the user, SciCumulus-RL in its version, the VMs
entities     the workflow's specification, its activities' definitions and the schedule plan
             (all three are prov:Plan), tuples, files
activities   the run, and every activation that was tried
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prov import constants as prov

from scicore.exports.lineage import Lineage, lineage
from scicore.exports.prov_names import TERMS, Names, Statement, element, field_name
from scicore.exports.snapshot import ActivationRow, Head, Snapshot, TupleRow

_PLAN = prov.PROV["Plan"]


@dataclass(frozen=True, slots=True)
class Story:
    """A snapshot with what is asked of it again and again."""

    snapshot: Snapshot
    lineage: Lineage
    names: Names
    happened: tuple[ActivationRow, ...]  # PROV tells what took place, not what was only meant to

    @property
    def head(self) -> Head:
        return self.snapshot.head


def story(snapshot: Snapshot) -> Story:
    known = lineage(snapshot)
    happened = tuple(row for row in snapshot.activations if known.happened(row))
    return Story(snapshot, known, Names(snapshot.head), happened)


def elements(told: Story) -> Iterator[Statement]:
    yield from _agents(told)
    yield from _plans(told)
    for row in told.snapshot.tuples:
        yield _tuple(told, row)
    yield from _files(told)
    yield _run(told)
    for activation in told.happened:
        yield _activation(told, activation)


def _agents(told: Story) -> Iterator[Statement]:
    run, names = told.head.run, told.names
    yield element(prov.PROV_AGENT, names.user, (prov.PROV["Person"],), run.user_name)
    yield element(
        prov.PROV_AGENT,
        names.software,
        (prov.PROV["SoftwareAgent"],),
        f"SciCumulus-RL {run.version}",
        version=run.version,
    )
    for vm in told.head.vms:
        yield element(
            prov.PROV_AGENT,
            names.vms[vm.vm],
            (TERMS["Vm"],),
            vm.vm,
            vm_type=vm.vm_type,
            slots=vm.slots,
            price_usd_per_hour=vm.price_usd_per_hour,
            host=vm.host,
            state=vm.state,
            joined_at=vm.joined_at,
            left_at=vm.left_at,
        )


def _plans(told: Story) -> Iterator[Statement]:
    """What the run followed: a text, its activities, and a schedule."""
    names, workflow, plan = told.names, told.head.workflow, told.head.plan
    yield element(
        prov.PROV_ENTITY,
        names.specification,
        (_PLAN, TERMS["Workflow"]),
        workflow.tag,
        description=workflow.description,
        digest=told.head.run.workflow_digest,
    )
    for activity in workflow.activities:
        yield element(
            prov.PROV_ENTITY,
            names.definition(activity.tag),
            (_PLAN, TERMS["Activity"]),
            activity.tag,
            description=activity.description,
            operator=str(activity.operator),
            command=activity.command,
            extractor=activity.extractor,
            inputs=", ".join(source.relation.name for source in activity.sources),
            output=activity.output.name,
        )
    yield element(
        prov.PROV_ENTITY,
        names.plan,
        (_PLAN, TERMS["SchedulePlan"]),
        f"plan {plan.plan_id} by {plan.algorithm}",
        algorithm=plan.algorithm,
        parameters=plan.parameters,
        seed=plan.seed,
        fleet=plan.fleet,
        assignments=len(told.snapshot.assignments),
        predicted_makespan_s=plan.makespan_s,
        predicted_cost_usd=plan.cost_usd,
        lower_bound_s=plan.lower_bound_s,
    )


def _tuple(told: Story, row: TupleRow) -> Statement:
    """Its values are attributes by field name, exactly as they were written."""
    entity = element(
        prov.PROV_ENTITY,
        told.names.tuple(row.tuple_id),
        (TERMS["Tuple"],),
        f"{row.relation} {row.path}",
        relation=row.relation,
    )
    values = [(field_name(name), value) for name, value in row.values.items()]
    files = told.lineage.named_by.get(row.tuple_id, ())
    named = [(TERMS["file"], told.names.file(file)) for file in files]
    return Statement(entity.kind, entity.id, entity.formal, (*entity.others, *values, *named))


def _files(told: Story) -> Iterator[Statement]:
    for file in told.lineage.files:
        yield element(
            prov.PROV_ENTITY,
            told.names.file(file),
            (TERMS["File"],),
            file.path.rsplit("/", 1)[-1],
            path=file.path,
            size_bytes=file.size_bytes,
            sha256=file.sha256,
        )


def _run(told: Story) -> Statement:
    run = told.head.run
    return element(
        prov.PROV_ACTIVITY,
        told.names.run,
        (TERMS["Run"],),
        f"run {run.run_id} of {run.workflow}",
        {prov.PROV_ATTR_STARTTIME: run.started_at, prov.PROV_ATTR_ENDTIME: run.ended_at},
        state=run.state,
        execution_tag=run.execution_tag,
        host=run.host,
        makespan_s=told.head.makespan_s,
    )


def _activation(told: Story, row: ActivationRow) -> Statement:
    """From the start of its first attempt to the end of its last."""
    attempts = told.lineage.attempts(row)
    started_at = attempts[0].started_at if attempts else None
    ended_at = attempts[-1].ended_at if attempts else row.ended_at
    return element(
        prov.PROV_ACTIVITY,
        told.names.activation(row.activation_id),
        (TERMS["Activation"],),
        row.name,
        {prov.PROV_ATTR_STARTTIME: started_at, prov.PROV_ATTR_ENDTIME: ended_at},
        activity=row.activity,
        key=row.key,
        state=row.state,
        planned=row.planned,
        attempts=len(attempts),
    )
