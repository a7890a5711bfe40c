"""The ledger of what was rented."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from scicore.provenance.tables.columns import (
    figure,
    id_,
    metadata,
    number,
    part_of_key,
    text_,
    time,
)

cluster = Table(
    "cluster",
    metadata,
    id_("cluster_id"),
    text_("name"),
    text_("owner"),
    text_("provider"),
    text_("fleet"),
    number("plan_id", ForeignKey("plan.plan_id"), null=True),
    figure("estimate_usd", null=True),
    time("lease_until"),
    text_("wanted"),
    Column("complete", Boolean, nullable=False, server_default="false"),
    time("created_at"),
    time("ended_at", null=True),
    Index("cluster_open", "name", unique=True, postgresql_where=text("ended_at IS NULL")),
)

intent = Table(
    "intent",
    metadata,
    part_of_key("token", type_=Text),
    number("cluster_id", ForeignKey("cluster.cluster_id")),
    Column("vm_type", JSONB, nullable=False),
    Column("vms", ARRAY(Text), nullable=False),
    Column("spot", Boolean, nullable=False),
    time("lease_until"),
    time("intended_at"),
    text_("outcome", null=True),
    Index("intent_by_cluster", "cluster_id"),
)

instance = Table(
    "instance",
    metadata,
    part_of_key("token", ForeignKey("intent.token"), type_=Text),
    part_of_key("vm", type_=Text),
    text_("instance"),
    time("launched_at"),
    time("ended_at", null=True),
)
