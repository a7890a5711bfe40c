"""The tables, for statements. The schema itself is `sql/migrations`; a test holds both equal."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.types import TypeEngine

metadata = MetaData()


def _text(name: str, *, null: bool = False, default: str | None = None) -> Column[str]:
    return Column(name, Text, nullable=null, server_default=default)


def _number(name: str, *arguments: ForeignKey, null: bool = False) -> Column[int]:
    return Column(name, Integer, *arguments, nullable=null)


def _figure(name: str, *, null: bool = False) -> Column[float]:
    return Column(name, Double, nullable=null)


def _id(name: str) -> Column[int]:
    return Column(name, Integer, Identity(always=True), primary_key=True)


def _part_of_key(
    name: str, *arguments: ForeignKey, type_: type[TypeEngine[Any]] = Integer
) -> Column[Any]:
    return Column(name, type_, *arguments, primary_key=True, autoincrement=False)


def _time(name: str, *, null: bool = False) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=null)


def _made(name: str = "created_at") -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())


workflow = Table(
    "workflow",
    metadata,
    _id("workflow_id"),
    _text("tag"),
    _text("description"),
    Column("digest", Text, nullable=False, unique=True),
    _text("source"),
    Column("definition", JSONB, nullable=False),
    _made(),
    Index("workflow_by_tag", "tag"),
)

relation = Table(
    "relation",
    metadata,
    _id("relation_id"),
    _number("workflow_id", ForeignKey("workflow.workflow_id")),
    _text("name"),
    UniqueConstraint("workflow_id", "name"),
)

field = Table(
    "field",
    metadata,
    _part_of_key("relation_id", ForeignKey("relation.relation_id")),
    _part_of_key("position"),
    _text("name"),
    _text("type"),
    _number("decimal_places", null=True),
)

activity = Table(
    "activity",
    metadata,
    _id("activity_id"),
    _number("workflow_id", ForeignKey("workflow.workflow_id")),
    _number("position"),
    _text("tag"),
    _text("operator"),
    _text("command"),
    _text("extractor"),
    Column("operand", ARRAY(Text), nullable=False),
    _number("input_relation_id", ForeignKey("relation.relation_id")),
    _number("output_relation_id", ForeignKey("relation.relation_id")),
    _text("alias", default=""),
    _text("template", default=""),
    _text("cpus", default="1"),
    _text("memory_mb", default="0"),
    _text("runtime_s", default=""),
    Column("timeout_s", Double, nullable=False, server_default="0"),
    Column("environment", JSONB, nullable=False, server_default="{}"),
    UniqueConstraint("workflow_id", "tag"),
)

activity_reads = Table(
    "activity_reads",
    metadata,
    _part_of_key("activity_id", ForeignKey("activity.activity_id")),
    _part_of_key("position"),
    _number("relation_id", ForeignKey("relation.relation_id")),
    _text("alias"),
)

plan = Table(
    "plan",
    metadata,
    _id("plan_id"),
    _number("workflow_id", ForeignKey("workflow.workflow_id")),
    _text("algorithm"),
    Column("parameters", JSONB, nullable=False),
    Column("seed", BigInteger, nullable=False),
    _text("fleet"),
    Column("fleet_vms", JSONB, nullable=False),
    _figure("makespan_s"),
    _figure("cost_usd"),
    _figure("lower_bound_s"),
    _figure("planning_s"),
    _made(),
    _number("front_id", ForeignKey("plan.plan_id"), null=True),
    _number("joint_id", ForeignKey("plan.plan_id"), null=True),
)

assignment = Table(
    "assignment",
    metadata,
    _part_of_key("plan_id", ForeignKey("plan.plan_id")),
    _part_of_key("position"),
    _text("activation"),
    _text("activity"),
    _text("vm"),
    _figure("start_s"),
    _figure("finish_s"),
)

estimate = Table(
    "estimate",
    metadata,
    _part_of_key("plan_id", ForeignKey("plan.plan_id")),
    _part_of_key("activity", type_=Text),
    _part_of_key("vm_type", type_=Text),
    _text("source"),
    _figure("runtime_s"),
    _number("samples"),
    _figure("spread", null=True),
    Column("measured_on", ARRAY(Text), nullable=False),
)

problem = Table(
    "problem",
    metadata,
    _part_of_key("plan_id", ForeignKey("plan.plan_id")),
    Column("document", LargeBinary, nullable=False),
)

policy = Table(
    "policy",
    metadata,
    _part_of_key("plan_id", ForeignKey("plan.plan_id")),
    _text("tag"),
    _text("algorithm"),
    Column("policy", JSONB, nullable=False),
    _made(),
    Index("policy_by_tag", "tag", "algorithm", "plan_id"),
)

run = Table(
    "run",
    metadata,
    _id("run_id"),
    _number("workflow_id", ForeignKey("workflow.workflow_id")),
    _number("plan_id", ForeignKey("plan.plan_id")),
    _text("state"),
    _text("execution_tag"),
    _text("directory"),
    _text("user_name"),
    _text("host"),
    _text("version"),
    _made(),
    _time("started_at", null=True),
    _time("ended_at", null=True),
    _text("dispatch", default="adaptive"),
    _text("reason", default=""),
    Column("launches", Integer, nullable=False, server_default="0"),
    Column("batches", BigInteger, nullable=False, server_default="0"),
    _text("sizing", default=""),
    _time("recorded_at", null=True),
)

program = Table(
    "program",
    metadata,
    _part_of_key("run_id", ForeignKey("run.run_id")),
    _part_of_key("activity_id", ForeignKey("activity.activity_id")),
    _text("digest"),
)

experience = Table(
    "experience",
    metadata,
    _part_of_key("run_id", ForeignKey("run.run_id")),
    _text("tag"),
    _text("solver"),
    _number("hour"),
    _figure("load"),
    _text("result"),
    _number("next_hour"),
    _figure("next_load"),
    _text("next_result"),
    _figure("cost_usd"),
    _figure("makespan_s"),
    Index("experience_by_tag", "tag", "run_id"),
)

vm = Table(
    "vm",
    metadata,
    _part_of_key("run_id", ForeignKey("run.run_id")),
    _part_of_key("vm", type_=Text),
    _text("vm_type"),
    _number("slots"),
    _figure("price_usd_per_hour"),
    _text("state"),
    _text("host"),
    _time("joined_at", null=True),
    _time("left_at", null=True),
    _text("reason", default=""),
)

activation = Table(
    "activation",
    metadata,
    _part_of_key("run_id", ForeignKey("run.run_id")),
    _part_of_key("activation_id"),
    _number("activity_id", ForeignKey("activity.activity_id")),
    _text("name"),
    _text("key"),
    _text("state"),
    _text("vm", null=True),
    Column("planned", Boolean, nullable=False),
    _number("blocked_by", null=True),
    _time("created_at"),
    _time("ended_at", null=True),
    Column("attempts", Integer, nullable=False, server_default="0"),
    _number("position", null=True),
    _text("planned_vm", null=True),
    _text("moved_because", default=""),
)

attempt = Table(
    "attempt",
    metadata,
    _part_of_key("run_id"),
    _part_of_key("activation_id"),
    _part_of_key("number"),
    _text("vm"),
    _time("started_at"),
    _time("ended_at", null=True),
    _text("cause", null=True),
    _number("exit_code", null=True),
    _text("command", null=True),
    _text("workspace", null=True),
    _text("stderr_tail", null=True),
    _figure("cpu_s", null=True),
    Column("peak_rss_bytes", BigInteger),
    Column("read_bytes", BigInteger),
    Column("written_bytes", BigInteger),
    _number("activity_id"),
    Column("redundant", Boolean, nullable=False, server_default="false"),
    _time("granted_at", null=True),
    _figure("stage_s", null=True),
    _number("slot", null=True),
    ForeignKeyConstraint(
        ["run_id", "activation_id"], ["activation.run_id", "activation.activation_id"]
    ),
)

allocation = Table(
    "allocation",
    metadata,
    _part_of_key("run_id"),
    _part_of_key("activation_id"),
    _part_of_key("number"),
    _number("cpus"),
    _number("memory_mb", null=True),
    _number("asked_cpus", null=True),
    _number("asked_memory_mb", null=True),
    Column("input_bytes", BigInteger),
    _text("because", null=True),
    ForeignKeyConstraint(
        ["run_id", "activation_id"], ["activation.run_id", "activation.activation_id"]
    ),
)

transfer = Table(
    "transfer",
    metadata,
    _part_of_key("run_id"),
    _part_of_key("activation_id"),
    _part_of_key("number"),
    _part_of_key("way", type_=Text),
    _number("files"),
    _number("cached"),
    Column("size_bytes", BigInteger, nullable=False),
    _figure("seconds"),
    _number("retries"),
    ForeignKeyConstraint(
        ["run_id", "activation_id", "number"],
        ["attempt.run_id", "attempt.activation_id", "attempt.number"],
    ),
)

tuple_ = Table(
    "tuple",
    metadata,
    _part_of_key("run_id", ForeignKey("run.run_id")),
    _part_of_key("tuple_id"),
    _number("relation_id", ForeignKey("relation.relation_id")),
    _text("path"),
    Column("values", JSONB, nullable=False),
    _number("generated_by", null=True),
    Index("tuple_by_maker", "run_id", "generated_by"),
)

used = Table(
    "used",
    metadata,
    _part_of_key("run_id"),
    _part_of_key("activation_id"),
    _part_of_key("tuple_id"),
    ForeignKeyConstraint(
        ["run_id", "activation_id"], ["activation.run_id", "activation.activation_id"]
    ),
    ForeignKeyConstraint(["run_id", "tuple_id"], ["tuple.run_id", "tuple.tuple_id"]),
    Index("used_by_tuple", "run_id", "tuple_id"),
)

file = Table(
    "file",
    metadata,
    _part_of_key("run_id"),
    _part_of_key("tuple_id"),
    _part_of_key("field", type_=Text),
    _text("path"),
    Column("size_bytes", BigInteger, nullable=False),
    _text("sha256"),
    ForeignKeyConstraint(["run_id", "tuple_id"], ["tuple.run_id", "tuple.tuple_id"]),
    Index("file_by_path", "path", postgresql_using="hash"),
)

steering = Table(
    "steering",
    metadata,
    _part_of_key("run_id", ForeignKey("run.run_id")),
    _part_of_key("number"),
    _text("action"),
    _text("activity", null=True),
    Column("conditions", JSONB, nullable=False),
    _text("requested_by"),
    _made("requested_at"),
    _time("handled_at", null=True),
    _text("outcome", null=True),
)

cluster = Table(
    "cluster",
    metadata,
    _id("cluster_id"),
    _text("name"),
    _text("owner"),
    _text("provider"),
    _text("fleet"),
    _number("plan_id", ForeignKey("plan.plan_id"), null=True),
    _figure("estimate_usd", null=True),
    _time("lease_until"),
    _text("wanted"),
    Column("complete", Boolean, nullable=False, server_default="false"),
    _time("created_at"),
    _time("ended_at", null=True),
    Index("cluster_open", "name", unique=True, postgresql_where=text("ended_at IS NULL")),
)

intent = Table(
    "intent",
    metadata,
    _part_of_key("token", type_=Text),
    _number("cluster_id", ForeignKey("cluster.cluster_id")),
    Column("vm_type", JSONB, nullable=False),
    Column("vms", ARRAY(Text), nullable=False),
    Column("spot", Boolean, nullable=False),
    _time("lease_until"),
    _time("intended_at"),
    _text("outcome", null=True),
    Index("intent_by_cluster", "cluster_id"),
)

instance = Table(
    "instance",
    metadata,
    _part_of_key("token", ForeignKey("intent.token"), type_=Text),
    _part_of_key("vm", type_=Text),
    _text("instance"),
    _time("launched_at"),
    _time("ended_at", null=True),
)
