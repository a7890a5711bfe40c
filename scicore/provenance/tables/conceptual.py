"""Workflows as they are defined."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Double,
    ForeignKey,
    Index,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from scicore.provenance.tables.columns import (
    id_,
    made,
    metadata,
    number,
    part_of_key,
    text_,
)

workflow = Table(
    "workflow",
    metadata,
    id_("workflow_id"),
    text_("tag"),
    text_("description"),
    Column("digest", Text, nullable=False, unique=True),
    text_("source"),
    Column("definition", JSONB, nullable=False),
    made(),
    Index("workflow_by_tag", "tag"),
)

relation = Table(
    "relation",
    metadata,
    id_("relation_id"),
    number("workflow_id", ForeignKey("workflow.workflow_id")),
    text_("name"),
    UniqueConstraint("workflow_id", "name"),
)

field = Table(
    "field",
    metadata,
    part_of_key("relation_id", ForeignKey("relation.relation_id")),
    part_of_key("position"),
    text_("name"),
    text_("type"),
    number("decimal_places", null=True),
)

activity = Table(
    "activity",
    metadata,
    id_("activity_id"),
    number("workflow_id", ForeignKey("workflow.workflow_id")),
    number("position"),
    text_("tag"),
    text_("operator"),
    text_("command"),
    text_("extractor"),
    Column("operand", ARRAY(Text), nullable=False),
    number("input_relation_id", ForeignKey("relation.relation_id")),
    number("output_relation_id", ForeignKey("relation.relation_id")),
    text_("alias", default=""),
    text_("template", default=""),
    text_("cpus", default="1"),
    text_("memory_mb", default="0"),
    text_("runtime_s", default=""),
    Column("timeout_s", Double, nullable=False, server_default="0"),
    Column("environment", JSONB, nullable=False, server_default="{}"),
    UniqueConstraint("workflow_id", "tag"),
)

activity_reads = Table(
    "activity_reads",
    metadata,
    part_of_key("activity_id", ForeignKey("activity.activity_id")),
    part_of_key("position"),
    number("relation_id", ForeignKey("relation.relation_id")),
    text_("alias"),
)
