"""Plans, what they rest on, and what was learned."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from scicore.provenance.tables.columns import (
    figure,
    id_,
    made,
    metadata,
    number,
    part_of_key,
    text_,
)

plan = Table(
    "plan",
    metadata,
    id_("plan_id"),
    number("workflow_id", ForeignKey("workflow.workflow_id")),
    text_("algorithm"),
    Column("parameters", JSONB, nullable=False),
    Column("seed", BigInteger, nullable=False),
    text_("fleet"),
    Column("fleet_vms", JSONB, nullable=False),
    figure("makespan_s"),
    figure("cost_usd"),
    figure("lower_bound_s"),
    figure("planning_s"),
    made(),
    number("front_id", ForeignKey("plan.plan_id"), null=True),
    number("joint_id", ForeignKey("plan.plan_id"), null=True),
)

assignment = Table(
    "assignment",
    metadata,
    part_of_key("plan_id", ForeignKey("plan.plan_id")),
    part_of_key("position"),
    text_("activation"),
    text_("activity"),
    text_("vm"),
    figure("start_s"),
    figure("finish_s"),
)

estimate = Table(
    "estimate",
    metadata,
    part_of_key("plan_id", ForeignKey("plan.plan_id")),
    part_of_key("activity", type_=Text),
    part_of_key("vm_type", type_=Text),
    text_("source"),
    figure("runtime_s"),
    number("samples"),
    figure("spread", null=True),
    Column("measured_on", ARRAY(Text), nullable=False),
)

problem = Table(
    "problem",
    metadata,
    part_of_key("plan_id", ForeignKey("plan.plan_id")),
    Column("document", LargeBinary, nullable=False),
)

policy = Table(
    "policy",
    metadata,
    part_of_key("plan_id", ForeignKey("plan.plan_id")),
    text_("tag"),
    text_("algorithm"),
    Column("policy", JSONB, nullable=False),
    made(),
    Index("policy_by_tag", "tag", "algorithm", "plan_id"),
)

experience = Table(
    "experience",
    metadata,
    part_of_key("run_id", ForeignKey("run.run_id")),
    text_("tag"),
    text_("solver"),
    number("hour"),
    figure("load"),
    text_("result"),
    number("next_hour"),
    figure("next_load"),
    text_("next_result"),
    figure("cost_usd"),
    figure("makespan_s"),
    Index("experience_by_tag", "tag", "run_id"),
)
