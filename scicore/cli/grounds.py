"""From a workflow and a fleet to what a planner is asked: activations, edges, bytes, runtimes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import Connection

from scicore.algebra.forecast import Forecast, forecast
from scicore.algebra.template import substitute
from scicore.errors import UsageError
from scicore.estimation import Expected, estimate_bandwidths, estimate_runtimes
from scicore.estimation.data import Files, edge_bytes, input_bytes
from scicore.model.activation import activation_key
from scicore.model.cloud import Fleet, VmType
from scicore.model.estimate import Bandwidth, Grounds, Source
from scicore.model.problem import Problem, Transfer
from scicore.model.sizing import Allocation
from scicore.model.trace import listed_files
from scicore.model.workflow import Activity, FieldType, Operator, Row, Workflow
from scicore.provenance.history import (
    declares_per_tuple,
    fan_outs,
    flows,
    observations,
    transfers,
)

ONE_TUPLE = frozenset({Operator.MAP, Operator.SPLIT_MAP, Operator.FILTER})


def grounds_of(
    connection: Connection,
    workflow: Workflow,
    fleet: Fleet,
    catalog: Mapping[str, VmType],
    transfer: Transfer = Transfer.EDGE,
    boot: bool = True,
    sizing: str = "",
) -> Grounds:
    """What is expected to run, with all that earlier runs teach about it."""
    fleet, bandwidths = _measured(connection, fleet, transfer)
    expected = forecast(workflow, fan_outs(connection, workflow.tag))
    rows = _known_rows(workflow, expected)
    activities = {activity.tag: activity for activity in workflow.activities}
    declared = {
        index: files
        for index, row in rows.items()
        if (files := _declared_files(activities[expected.activities[index]], row)) is not None
    }
    measured = {
        (flow.producer, flow.consumer): flow.bytes_per_edge
        for flow in flows(connection, workflow.tag)
    }
    sizes = edge_bytes(expected.activities, expected.edges, declared, measured)
    seen = observations(connection, workflow)
    asked = _asked(activities, expected, rows, declared, sizes, keyed=bool(seen))
    speeds = {name: vm_type.speed for name, vm_type in catalog.items()}
    estimates = estimate_runtimes(asked, fleet, seen, speeds)
    given = [Allocation(request.cpus, request.memory_mb) for request in expected.requests]
    if sizing:
        from scicore.cli.planned_sizes import planned_sizes

        inputs = [each.input_bytes for each in asked]
        given = planned_sizes(connection, workflow, fleet, sizing, expected, inputs)
    problem = Problem(
        activations=expected.names,
        activities=expected.activities,
        edges=expected.edges,
        fleet=fleet,
        runtime_s=estimates.runtime_s,
        edge_bytes=tuple(sizes) if any(sizes) else (),
        cpus=tuple(each.cpus for each in given),
        memory_mb=tuple(each.memory_mb for each in given),
        transfer=transfer,
        boot=boot,
    )
    return Grounds(problem, estimates.by_activity, bandwidths)


def _measured(
    connection: Connection, fleet: Fleet, transfer: Transfer
) -> tuple[Fleet, tuple[Bandwidth, ...]]:
    """The fleet with the network speeds that earlier runs have seen."""
    types = {vm.type.name for vm in fleet.vms} - {"local"}
    if transfer is Transfer.NONE or not types:
        return fleet, ()
    return estimate_bandwidths(fleet, transfers(connection, types))


def _known_rows(workflow: Workflow, expected: Forecast) -> dict[int, Row]:
    """The tuples of activations that read a dataset: those are known before the run."""
    datasets = {dataset.relation.name: dataset.rows for dataset in workflow.datasets}
    direct = {
        activity.tag: datasets[activity.input.name]
        for activity in workflow.activities
        if activity.producer is None
        and activity.operator in ONE_TUPLE
        and activity.input.name in datasets
    }
    rows = {}
    for index, (name, tag) in enumerate(zip(expected.names, expected.activities, strict=True)):
        if tag in direct:
            rows[index] = direct[tag][int(name.rpartition(".")[2]) - 1]
    return rows


def _declared_files(activity: Activity, row: Row) -> Files | None:
    """As tuples of imported traces list them."""
    names = activity.input.field_names
    if not activity.parents_field or not {"READS", "WRITES"} <= set(names):
        return None
    values = activity.input.as_mapping(row)
    return Files(listed_files(values["READS"]), listed_files(values["WRITES"]))


def _asked(
    activities: Mapping[str, Activity],
    expected: Forecast,
    rows: Mapping[int, Row],
    declared: Mapping[int, Files],
    sizes: list[int],
    keyed: bool,
) -> list[Expected]:
    """`keyed`: with the keys by which activations of earlier runs are known again."""
    external = {
        index: size
        for index, row in rows.items()
        if index not in declared
        and (size := _file_bytes(activities[expected.activities[index]], row)) is not None
    }
    flowing = input_bytes(len(expected.names), expected.edges, sizes, external)
    asked = []
    for index, (tag, request) in enumerate(
        zip(expected.activities, expected.requests, strict=True)
    ):
        activity = activities[tag]
        row = rows.get(index)
        if request.runtime_s is None and row is not None:
            _refuse_bad_runtime(activity, expected.names[index], row)
        files = declared.get(index)
        asked.append(
            Expected(
                activity=tag,
                key=activation_key(tag, activity.command, [row])
                if keyed and row is not None
                else "",
                declared_s=request.runtime_s,
                declared_by=Source.TRACE if activity.parents_field else Source.DECLARED,
                per_tuple=declares_per_tuple(activity),
                input_bytes=sum(files.reads.values()) if files else flowing[index],
            )
        )
    return asked


def _refuse_bad_runtime(activity: Activity, name: str, row: Row) -> None:
    """A tuple that says nothing is fine; one that says nonsense is a mistake."""
    said = substitute(activity.runtime_s, activity.input.as_mapping(row)).strip()
    if said:
        raise UsageError(
            f"activation {name}: found a runtime of {said} s in its tuple, "
            "expected a number of seconds, 0 or more",
            f"correct it in the dataset of {activity.input.name}, or leave it empty",
        )


def _file_bytes(activity: Activity, row: Row) -> int | None:
    """The size of the files that a dataset's tuple names; None if it names none that is there."""
    sizes = []
    for field, value in zip(activity.input.fields, row, strict=True):
        if field.type is FieldType.FILE and value:
            try:
                sizes.append(Path(value).stat().st_size)
            except OSError:  # whoever runs it will say so
                return None
    return sum(sizes) if sizes else None
