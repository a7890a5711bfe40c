"""A small run made by hand: every operator's shape, a retry, a failure, files, odd characters.

stations 1, 2 ──cut──▶ pieces 3, 4 (of 1), 5 (of 2) ──fit──▶ results 6, 7 ──all──▶ summary 8

cut 1, 2   finish; cut 1 writes two files, cut 2 passes on the file that it was given
fit 3      fails once, then finishes       fit 4   finishes
fit 5      fails for good                  all 6   finishes      late 7   is blocked by fit 5
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from scicore.exports.snapshot import (
    ActivationRow,
    AssignmentRow,
    AttemptRow,
    FileRow,
    Head,
    PlanRow,
    RunRow,
    Snapshot,
    TupleRow,
    UsedRow,
    VmRow,
)
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.workflow import (
    Activity,
    Dataset,
    Field,
    FieldType,
    Operator,
    Relation,
    Workflow,
)

T0 = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
ODD = 'Niterói; "quoted"\\ <b>\n\tend'
SOURCE = "<SciCumulus><conceptualWorkflow tag='demo'/></SciCumulus>\n"


def relation(name: str, *fields: str) -> Relation:
    """Fields as NAME, or NAME:type."""
    made = []
    for field in fields:
        label, _, kind = field.partition(":")
        made.append(Field(label, FieldType(kind or "string")))
    return Relation(name, tuple(made))


STATIONS = relation("stations", "NAME", "MAP:file")
PIECES = relation("pieces", "NAME", "PIECE:file")
RESULTS = relation("results", "NAME", "path:float")
SUMMARY = relation("summary", "COUNT:float")
MICRO = VmType("t2.micro", 1, 1024, speed=1.0, price_usd_per_hour=0.0116)


def workflow() -> Workflow:
    return Workflow(
        tag="demo",
        description="made by hand",
        activities=(
            Activity("cut", Operator.SPLIT_MAP, "cut %=MAP%", STATIONS, PIECES),
            Activity("fit", Operator.MAP, "fit %=PIECE%", PIECES, RESULTS, "cut", cpus="2"),
            Activity("all", Operator.SR_QUERY, "SELECT count(*)", RESULTS, SUMMARY, "fit"),
            Activity("late", Operator.MAP, "late", SUMMARY, relation("none"), "all"),
        ),
        datasets=(Dataset(STATIONS, ()),),
        directory="/lab",
        experiment_directory="/lab/exp",
    )


def after(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def head(**changes: object) -> Head:
    made = Head(
        taken_at=after(100),
        run=RunRow(
            run_id=12,
            workflow="demo",
            workflow_digest="d1ge57",
            plan_id=3,
            state="failed",
            execution_tag="demo-1",
            directory="/lab/exp/runs/12",
            user_name="ana maria",
            host="lab7",
            version="0.1.0",
            created_at=after(-1),
            started_at=T0,
            ended_at=after(60),
        ),
        workflow=workflow(),
        source=SOURCE,
        plan=PlanRow(3, "heft", "{}", 0, "2xt2.micro", 50.0, 0.01, 40.0, 0.2, after(-2)),
        plan_fleet=Fleet((Vm("t2.micro-1", MICRO), Vm("t2.micro-2", MICRO)), "2xt2.micro"),
        vms=(
            VmRow("t2.micro-1", "t2.micro", 1, 0.0116, "left", "10.0.0.1", T0, after(60)),
            VmRow("t2.micro-2", "t2.micro", 1, 0.0116, "lost", "10.0.0.2", T0, None),
        ),
        steering=(),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def activation(id: int, activity: str, state: str = "finished") -> ActivationRow:
    vm = None if state == "blocked" else "t2.micro-1"
    ended_at = after(10 * id)
    name = f"{activity}.{id}"
    return ActivationRow(id, activity, name, f"key{id}", state, vm, True, None, T0, ended_at)


def attempt(id: int, number: int = 1, cause: str = "finished", vm: str = "1") -> AttemptRow:
    begin = 10.0 * (id - 1) + 4 * (number - 1)
    good = cause == "finished"
    return AttemptRow(
        activation_id=id,
        number=number,
        vm=vm if vm == "master" else f"t2.micro-{vm}",
        started_at=after(begin),
        ended_at=after(begin + 3.5),
        cause=cause,
        exit_code=0 if good else 3,
        command=f"fit '/lab/exp/piece {id}' ''",
        workspace=f"/lab/exp/runs/12/fit/{id}",
        stderr_tail="" if good else "no data",
        cpu_s=1.75,
        peak_rss_bytes=5_000_000_000,
        read_bytes=0,
        written_bytes=4096,
    )


def tuple_(id: int, relation: str, values: Mapping[str, str], by: int | None = None) -> TupleRow:
    return TupleRow(id, relation, str(id), values, by)


def file(tuple_id: int, field: str, path: str, content: str = "") -> FileRow:
    return FileRow(tuple_id, field, path, 7, f"sha of {content or path}")


def used(pairs: Iterable[tuple[int, int]]) -> tuple[UsedRow, ...]:
    return tuple(UsedRow(activation, tuple_id) for activation, tuple_id in pairs)


def snapshot() -> Snapshot:
    workspace = "/lab/exp/runs/12/cut/1"
    return Snapshot(
        head=head(),
        assignments=(AssignmentRow(0, "cut.1", "cut", "t2.micro-1", 0.0, 5.0),),
        activations=(
            activation(1, "cut"),
            activation(2, "cut"),
            activation(3, "fit"),
            activation(4, "fit"),
            activation(5, "fit", "failed"),
            activation(6, "all"),
            activation(7, "late", "blocked"),
        ),
        attempts=(
            attempt(1),
            attempt(2, vm="2"),
            attempt(3, 1, "exit code"),
            attempt(3, 2, vm="2"),
            attempt(4),
            attempt(5, 1, "exit code"),
            attempt(6, vm="master"),
        ),
        tuples=(
            tuple_(1, "stations", {"NAME": ODD, "MAP": "a.map"}),
            tuple_(2, "stations", {"NAME": "Kiruna", "MAP": "b.map"}),
            tuple_(3, "pieces", {"NAME": ODD, "PIECE": f"{workspace}/p 1"}, by=1),
            tuple_(4, "pieces", {"NAME": ODD, "PIECE": f"{workspace}/p_1"}, by=1),
            tuple_(5, "pieces", {"NAME": "Kiruna", "PIECE": "/lab/exp/b.map"}, by=2),
            tuple_(6, "results", {"NAME": ODD, "path": "0.5"}, by=3),
            tuple_(7, "results", {"NAME": ODD, "path": "1e3"}, by=4),
            tuple_(8, "summary", {"COUNT": "2"}, by=6),
        ),
        used=used([(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (6, 7), (7, 8)]),
        files=(
            file(1, "MAP", "/lab/exp/a.map"),
            file(3, "PIECE", f"{workspace}/p 1"),
            file(4, "PIECE", f"{workspace}/p_1"),
            file(5, "PIECE", "/lab/exp/b.map"),
        ),
    )
