"""Runs while they go on and after: who did what, when and with what."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import JSONB

from scicore.provenance.tables.columns import (
    figure,
    id_,
    made,
    metadata,
    number,
    part_of_key,
    text_,
    time,
)

run = Table(
    "run",
    metadata,
    id_("run_id"),
    number("workflow_id", ForeignKey("workflow.workflow_id")),
    number("plan_id", ForeignKey("plan.plan_id")),
    text_("state"),
    text_("execution_tag"),
    text_("directory"),
    text_("user_name"),
    text_("host"),
    text_("version"),
    made(),
    time("started_at", null=True),
    time("ended_at", null=True),
    text_("dispatch", default="adaptive"),
    text_("reason", default=""),
    Column("launches", Integer, nullable=False, server_default="0"),
    Column("batches", BigInteger, nullable=False, server_default="0"),
    text_("sizing", default=""),
    time("recorded_at", null=True),
)

program = Table(
    "program",
    metadata,
    part_of_key("run_id", ForeignKey("run.run_id")),
    part_of_key("activity_id", ForeignKey("activity.activity_id")),
    text_("digest"),
)

vm = Table(
    "vm",
    metadata,
    part_of_key("run_id", ForeignKey("run.run_id")),
    part_of_key("vm", type_=Text),
    text_("vm_type"),
    number("slots"),
    figure("price_usd_per_hour"),
    text_("state"),
    text_("host"),
    time("joined_at", null=True),
    time("left_at", null=True),
    text_("reason", default=""),
)

activation = Table(
    "activation",
    metadata,
    part_of_key("run_id", ForeignKey("run.run_id")),
    part_of_key("activation_id"),
    number("activity_id", ForeignKey("activity.activity_id")),
    text_("name"),
    text_("key"),
    text_("state"),
    text_("vm", null=True),
    Column("planned", Boolean, nullable=False),
    number("blocked_by", null=True),
    time("created_at"),
    time("ended_at", null=True),
    Column("attempts", Integer, nullable=False, server_default="0"),
    number("position", null=True),
    text_("planned_vm", null=True),
    text_("moved_because", default=""),
)

attempt = Table(
    "attempt",
    metadata,
    part_of_key("run_id"),
    part_of_key("activation_id"),
    part_of_key("number"),
    text_("vm"),
    time("started_at"),
    time("ended_at", null=True),
    text_("cause", null=True),
    number("exit_code", null=True),
    text_("command", null=True),
    text_("workspace", null=True),
    text_("stderr_tail", null=True),
    figure("cpu_s", null=True),
    Column("peak_rss_bytes", BigInteger),
    Column("read_bytes", BigInteger),
    Column("written_bytes", BigInteger),
    number("activity_id"),
    Column("redundant", Boolean, nullable=False, server_default="false"),
    time("granted_at", null=True),
    figure("stage_s", null=True),
    number("slot", null=True),
    ForeignKeyConstraint(
        ["run_id", "activation_id"], ["activation.run_id", "activation.activation_id"]
    ),
)

allocation = Table(
    "allocation",
    metadata,
    part_of_key("run_id"),
    part_of_key("activation_id"),
    part_of_key("number"),
    number("cpus"),
    number("memory_mb", null=True),
    number("asked_cpus", null=True),
    number("asked_memory_mb", null=True),
    Column("input_bytes", BigInteger),
    text_("because", null=True),
    ForeignKeyConstraint(
        ["run_id", "activation_id"], ["activation.run_id", "activation.activation_id"]
    ),
)

transfer = Table(
    "transfer",
    metadata,
    part_of_key("run_id"),
    part_of_key("activation_id"),
    part_of_key("number"),
    part_of_key("way", type_=Text),
    number("files"),
    number("cached"),
    Column("size_bytes", BigInteger, nullable=False),
    figure("seconds"),
    number("retries"),
    ForeignKeyConstraint(
        ["run_id", "activation_id", "number"],
        ["attempt.run_id", "attempt.activation_id", "attempt.number"],
    ),
)

tuple_ = Table(
    "tuple",
    metadata,
    part_of_key("run_id", ForeignKey("run.run_id")),
    part_of_key("tuple_id"),
    number("relation_id", ForeignKey("relation.relation_id")),
    text_("path"),
    Column("values", JSONB, nullable=False),
    number("generated_by", null=True),
    Index("tuple_by_maker", "run_id", "generated_by"),
)

used = Table(
    "used",
    metadata,
    part_of_key("run_id"),
    part_of_key("activation_id"),
    part_of_key("tuple_id"),
    ForeignKeyConstraint(
        ["run_id", "activation_id"], ["activation.run_id", "activation.activation_id"]
    ),
    ForeignKeyConstraint(["run_id", "tuple_id"], ["tuple.run_id", "tuple.tuple_id"]),
    Index("used_by_tuple", "run_id", "tuple_id"),
)

file = Table(
    "file",
    metadata,
    part_of_key("run_id"),
    part_of_key("tuple_id"),
    part_of_key("field", type_=Text),
    text_("path"),
    Column("size_bytes", BigInteger, nullable=False),
    text_("sha256"),
    ForeignKeyConstraint(["run_id", "tuple_id"], ["tuple.run_id", "tuple.tuple_id"]),
    Index("file_by_path", "path", postgresql_using="hash"),
)

steering = Table(
    "steering",
    metadata,
    part_of_key("run_id", ForeignKey("run.run_id")),
    part_of_key("number"),
    text_("action"),
    text_("activity", null=True),
    Column("conditions", JSONB, nullable=False),
    text_("requested_by"),
    made("requested_at"),
    time("handled_at", null=True),
    text_("outcome", null=True),
)
