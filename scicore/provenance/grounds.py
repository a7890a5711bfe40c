"""What a plan rests on, stored beside it: its problem, the estimates, the policy learned."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, insert, select

from scicore.model.cloud import Fleet
from scicore.model.estimate import Bandwidth, Estimate, Grounds, Source
from scicore.model.money import Tariff
from scicore.model.plan import Plan, Policy
from scicore.model.problem import Problem, Transfer
from scicore.provenance import tables

_CURVE = "learning_curve"  # beside what the learner itself keeps in its policy


def save_grounds(connection: Connection, plan_id: int, grounds: Grounds) -> None:
    """What the planner was asked, and where the runtimes in it come from."""
    document = _encode(grounds)
    connection.execute(insert(tables.problem).values(plan_id=plan_id, document=document))
    rows = [
        {**msgspec.to_builtins(each), "plan_id": plan_id, "measured_on": list(each.measured_on)}
        for each in grounds.estimates
    ]
    if rows:
        connection.execute(insert(tables.estimate), rows)


def load_problem(connection: Connection, plan_id: int, fleet: Fleet) -> Problem | None:
    """None for plans that were made before problems were stored."""
    found = _document(connection, plan_id)
    return None if found is None else _decode(found, fleet)


def load_bandwidths(connection: Connection, plan_id: int) -> tuple[Bandwidth, ...]:
    found = _document(connection, plan_id) or {}
    return msgspec.convert(found.get("bandwidths", []), tuple[Bandwidth, ...])


def load_estimates(connection: Connection, plan_id: int) -> tuple[Estimate, ...]:
    columns = [tables.estimate.c[name] for name in Estimate.__dataclass_fields__]
    rows = connection.execute(
        select(*columns)
        .where(tables.estimate.c.plan_id == plan_id)
        .order_by(tables.estimate.c.activity, tables.estimate.c.vm_type)
    ).mappings()
    return tuple(
        Estimate(
            **{**row, "source": Source(row["source"]), "measured_on": tuple(row["measured_on"])}
        )
        for row in rows
    )


def save_policy(connection: Connection, plan_id: int, workflow_tag: str, plan: Plan) -> None:
    """What was learned on the way to the plan, if anything was, and how it got better."""
    if plan.policy is not None:
        learned = {**plan.policy, _CURVE: [list(point) for point in plan.curve]}
        connection.execute(
            insert(tables.policy).values(
                plan_id=plan_id, tag=workflow_tag, algorithm=plan.algorithm, policy=learned
            )
        )


def load_policy(connection: Connection, plan_id: int) -> Policy | None:
    """What was learned on the way to this plan."""
    policy = tables.policy.c
    return _learned(connection.scalar(select(policy.policy).where(policy.plan_id == plan_id)))


def load_curve(connection: Connection, plan_id: int) -> tuple[tuple[int, float], ...]:
    """How the plan got better while it was learned: episodes and the best makespan by then."""
    policy = tables.policy.c
    found = connection.scalar(select(policy.policy[_CURVE]).where(policy.plan_id == plan_id))
    return tuple((int(episodes), float(best_s)) for episodes, best_s in found or ())


def latest_policy(connection: Connection, workflow_tag: str, algorithm: str) -> Policy | None:
    """What the algorithm has learned last about the workflow, on whatever fleet and inputs."""
    policy = tables.policy.c
    found: Policy | None = connection.scalar(
        select(policy.policy)
        .where(policy.tag == workflow_tag, policy.algorithm == algorithm)
        .order_by(policy.plan_id.desc())
        .limit(1)
    )
    return _learned(found)


def _learned(stored: Policy | None) -> Policy | None:
    """Without what is kept beside it."""
    return stored and {name: value for name, value in stored.items() if name != _CURVE}


# --- problems as bytes ----------------------------------------------------------------------------


def _document(connection: Connection, plan_id: int) -> dict[str, Any] | None:
    wanted = select(tables.problem.c.document).where(tables.problem.c.plan_id == plan_id)
    stored = connection.scalar(wanted)
    if stored is None:
        return None
    found: dict[str, Any] = msgspec.msgpack.decode(zlib.decompress(stored))
    return found


def _encode(grounds: Grounds) -> bytes:
    """VMs of one type mostly share a column of runtimes: each column is stored once."""
    problem = grounds.problem
    columns: dict[bytes, int] = {}
    of_vm = [
        columns.setdefault(np.ascontiguousarray(column).tobytes(), len(columns))
        for column in problem.runtime_s.T
    ]
    tags = list(dict.fromkeys(problem.activities))
    number = {tag: place for place, tag in enumerate(tags)}
    document: dict[str, Any] = {
        "activations": problem.activations,
        "tags": tags,
        "activities": _bytes([number[tag] for tag in problem.activities]),
        "edges": _bytes([index for edge in problem.edges for index in edge]),
        "edge_bytes": _bytes(problem.edge_bytes),
        "cpus": _bytes(problem.cpus),
        "memory_mb": _bytes(problem.memory_mb),
        "columns": list(columns),
        "of_vm": of_vm,
        "transfer": problem.transfer,
        "boot": problem.boot,
        "tariff": [[*pair, usd] for pair, usd in problem.tariff.usd_per_gb.items()],
        "bandwidths": msgspec.to_builtins(grounds.bandwidths),
    }
    return zlib.compress(msgspec.msgpack.encode(document), level=1)


def _decode(found: dict[str, Any], fleet: Fleet) -> Problem:
    edges = _ints(found["edges"]).reshape(-1, 2)
    columns = [np.frombuffer(column, dtype="<f8") for column in found["columns"]]
    count = len(found["activations"])
    runtime_s = np.zeros((count, len(fleet.vms)))
    for vm, column in enumerate(found["of_vm"]):
        runtime_s[:, vm] = columns[column]
    return Problem(
        activations=tuple(found["activations"]),
        activities=tuple(found["tags"][place] for place in _ints(found["activities"])),
        edges=tuple((parent, child) for parent, child in edges.tolist()),
        fleet=fleet,
        runtime_s=runtime_s,
        edge_bytes=tuple(_ints(found["edge_bytes"]).tolist()),
        cpus=tuple(_ints(found["cpus"]).tolist()),
        memory_mb=tuple(_ints(found["memory_mb"]).tolist()),
        transfer=Transfer(found["transfer"]),
        boot=found["boot"],
        tariff=Tariff({(one, other): usd for one, other, usd in found.get("tariff", ())}),
    )


def _bytes(values: Iterable[int]) -> bytes:
    return np.fromiter(values, dtype="<i8").tobytes()


def _ints(data: bytes) -> NDArray[np.int64]:
    return np.frombuffer(data, dtype="<i8")
