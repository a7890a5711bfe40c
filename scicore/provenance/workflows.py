"""Conceptual workflows: the same definition is stored once."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import msgspec
from sqlalchemy import (
    Connection,
    insert,
    select,
)

from scicore.model.workflow import Activity, Dataset, Relation, Workflow
from scicore.provenance import relation_views, tables


def save_workflow(connection: Connection, workflow: Workflow, source: str) -> int:
    """Store the conceptual workflow; the same definition is stored once."""
    definition = msgspec.json.encode(_without_rows(workflow))
    digest = hashlib.blake2b(definition, digest_size=16).hexdigest()
    existing = select(tables.workflow.c.workflow_id).where(tables.workflow.c.digest == digest)
    connection.exec_driver_sql("LOCK TABLE workflow IN SHARE ROW EXCLUSIVE MODE")
    found = connection.scalar(existing)
    if found is not None:
        return int(found)
    workflow_id = connection.execute(
        insert(tables.workflow)
        .values(
            tag=workflow.tag,
            description=workflow.description,
            digest=digest,
            source=source,
            definition=msgspec.json.decode(definition),
        )
        .returning(tables.workflow.c.workflow_id)
    ).scalar_one()
    relation_ids = {
        relation.name: _save_relation(connection, workflow_id, relation)
        for relation in workflow.relations
    }
    for position, activity in enumerate(workflow.activities, start=1):
        _save_activity(connection, workflow_id, position, activity, relation_ids)
    relation_views.refresh(connection, workflow.tag)
    return int(workflow_id)


def _save_activity(
    connection: Connection,
    workflow_id: int,
    position: int,
    activity: Activity,
    relation_ids: dict[str, int],
) -> None:
    activity_id = connection.execute(
        insert(tables.activity)
        .values(
            workflow_id=workflow_id,
            position=position,
            tag=activity.tag,
            operator=activity.operator,
            command=activity.command,
            extractor=activity.extractor,
            operand=list(activity.operand),
            input_relation_id=relation_ids[activity.input.name],
            output_relation_id=relation_ids[activity.output.name],
            alias=activity.alias,
            template=activity.template,
            cpus=activity.cpus,
            memory_mb=activity.memory_mb,
            runtime_s=activity.runtime_s,
            timeout_s=activity.timeout_s,
            environment=dict(activity.environment),
        )
        .returning(tables.activity.c.activity_id)
    ).scalar_one()
    reads = [
        {
            "activity_id": activity_id,
            "position": number,
            "relation_id": relation_ids[source.relation.name],
            "alias": source.alias,
        }
        for number, source in enumerate(activity.also_reads, start=1)
    ]
    if reads:
        connection.execute(insert(tables.activity_reads), reads)


def _save_relation(connection: Connection, workflow_id: int, relation: Relation) -> int:
    relation_id = connection.execute(
        insert(tables.relation)
        .values(workflow_id=workflow_id, name=relation.name)
        .returning(tables.relation.c.relation_id)
    ).scalar_one()
    rows = [
        {
            "relation_id": relation_id,
            "position": position,
            "name": field.name,
            "type": field.type,
            "decimal_places": field.decimal_places,
        }
        for position, field in enumerate(relation.fields, start=1)
    ]
    if rows:
        connection.execute(insert(tables.field), rows)
    return int(relation_id)


def _without_rows(workflow: Workflow) -> Workflow:
    return replace(
        workflow, datasets=tuple(Dataset(dataset.relation, ()) for dataset in workflow.datasets)
    )
