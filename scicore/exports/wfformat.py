"""WfCommons WfFormat 1.5: a run becomes a trace that others can plan, simulate and replay.

Only activations that finished are tasks: a trace has no word for failure. Field names and limits
are those of `wfcommons-schema.json`, version 1.5.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

from scicore.errors import UsageError
from scicore.exports.formats import Options, Written
from scicore.exports.lineage import DataFile, Lineage, lineage
from scicore.exports.snapshot import ActivationRow, Head, Records, Snapshot, finished
from scicore.model.workflow import Activity

_NOT_IN_ID = re.compile(r"[^0-9a-zA-Z_.-]")  # later revisions of the schema allow more
_TAG = re.compile(r"%=(\w+)%")

Json = dict[str, Any]


def write(records: Records, target: Path, options: Options) -> Written:
    snapshot = records.snapshot()
    trace = document(snapshot)
    with target.open("w", encoding="utf-8") as stream:
        for piece in json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(trace):
            stream.write(piece)
        stream.write("\n")
    specification = trace["workflow"]["specification"]
    tasks = len(specification["tasks"])
    left_out = len(snapshot.activations) - tasks
    told = f"{left_out} activations have not finished: the trace leaves them out"
    return Written(
        files=(),
        records={"tasks": tasks, "files": len(specification["files"])},
        warnings=(told,) if left_out else (),
    )


def document(snapshot: Snapshot) -> Json:
    head, known = snapshot.head, lineage(snapshot)
    rows = [row for row in snapshot.activations if finished(row)]
    if not rows:
        raise UsageError(
            f"no activation of run {head.run.run_id} has finished, and a trace needs at least one"
        )
    task_ids = _unique((row.activation_id, row.name) for row in rows)
    files = [file for file in known.files if file.maker is None or file.maker in task_ids]
    file_ids = _unique((file, _short(file, head)) for file in files)
    run = head.run
    return {
        "name": head.workflow.tag,
        "description": _description(head),
        "createdAt": _iso(head.taken_at),
        "schemaVersion": "1.5",
        "runtimeSystem": {"name": "SciCumulus-RL", "version": run.version},
        "workflow": {
            "specification": {
                "tasks": _tasks(rows, known, task_ids, file_ids),
                "files": [{"id": file_ids[file], "sizeInBytes": file.size_bytes} for file in files],
            },
            "execution": {
                "makespanInSeconds": head.makespan_s or 0.0,
                "executedAt": _iso(run.started_at or run.created_at),
                "tasks": _executions(rows, known, task_ids, head),
                "machines": _machines(head),
            },
        },
    }


def _description(head: Head) -> str:
    run = head.run
    told = f"Run {run.run_id} of {run.workflow}, {run.state}, by {run.user_name} on {run.host}"
    about = head.workflow.description
    return f"{about}. {told}" if about else told


def _unique(named: Iterable[tuple[Any, str]]) -> dict[Any, str]:
    """Each thing's name without forbidden characters; if that leaves two alike, with a number."""
    ids: dict[Any, str] = {}
    taken: set[str] = set()
    for thing, name in named:
        plain = id = _NOT_IN_ID.sub("_", name)
        number = 1
        while id in taken:
            number += 1
            id = f"{plain}-{number}"
        taken.add(id)
        ids[thing] = id
    return ids


def _short(file: DataFile, head: Head) -> str:
    """Relative to where the run's data lies, so that the trace does not tell about this machine."""
    path = PurePath(file.path)
    for directory in (head.run.directory, head.workflow.experiment_directory):
        if path.is_relative_to(directory):
            return str(path.relative_to(directory))
    return file.path


def _tasks(
    rows: Iterable[ActivationRow],
    known: Lineage,
    task_ids: Mapping[int, str],
    file_ids: Mapping[DataFile, str],
) -> list[Json]:
    """Parents by data or by name; one whose parent is not in the trace does without it."""
    tasks: dict[int, Json] = {}
    for row in rows:
        parents = [id for id in known.parents(row) if id in task_ids]
        tasks[row.activation_id] = {
            "name": row.activity,
            "id": task_ids[row.activation_id],
            "parents": [task_ids[id] for id in parents],
            "children": [],
            "inputFiles": [file_ids[file] for file in known.files_used(row) if file in file_ids],
            "outputFiles": [file_ids[file] for file in known.files_made(row)],
        }
    for row in rows:
        for id in known.parents(row):
            if id in tasks:
                tasks[id]["children"].append(task_ids[row.activation_id])
    return list(tasks.values())


def _executions(
    rows: Iterable[ActivationRow], known: Lineage, task_ids: Mapping[int, str], head: Head
) -> list[Json]:
    activities = {activity.tag: activity for activity in head.workflow.activities}
    vms = {vm.vm for vm in head.vms}
    executions = []
    for row in rows:
        attempt = known.decisive(row)
        execution: Json = {"id": task_ids[row.activation_id], "runtimeInSeconds": 0.0}
        executions.append(execution)
        if attempt is None:
            continue
        runtime_s = attempt.runtime_s or 0.0
        execution["runtimeInSeconds"] = runtime_s
        execution["executedAt"] = _iso(attempt.started_at)
        if attempt.command:
            execution["command"] = _command(attempt.command)
        execution["coreCount"] = _cpus(activities[row.activity], row, known)
        if attempt.cpu_s is not None and runtime_s > 0:
            execution["avgCPU"] = round(100 * attempt.cpu_s / runtime_s, 4)
        for name, value in (
            ("readBytes", attempt.read_bytes),
            ("writtenBytes", attempt.written_bytes),
            ("memoryInBytes", attempt.peak_rss_bytes),
        ):
            if value is not None:
                execution[name] = value
        if attempt.vm in vms:
            execution["machines"] = [attempt.vm]
    return executions


def _command(text: str) -> Json:
    try:
        words = shlex.split(text)
    except ValueError:  # a secret was taken out of it, and a quote with it
        words = [text]
    program, *arguments = words or [text]
    return {"program": program, "arguments": [word for word in arguments if word]}


def _cpus(activity: Activity, row: ActivationRow, known: Lineage) -> int:
    """As the activity asks for: a number, or a field of its tuple that holds one."""
    tag = _TAG.fullmatch(activity.cpus)
    text = activity.cpus
    if tag:
        values = {
            name.upper(): value for used in known.used(row) for name, value in used.values.items()
        }
        text = values.get(tag[1].upper(), "")
    try:
        return max(1, math.ceil(float(text)))
    except (ValueError, OverflowError):
        return 1


def _machines(head: Head) -> list[Json]:
    types = head.vm_types
    machines = []
    for vm in head.vms:
        machine: Json = {"nodeName": vm.vm, "cpu": {"coreCount": max(1, vm.slots)}}
        if vm.vm in types and types[vm.vm].memory_mb:
            machine["memoryInBytes"] = types[vm.vm].memory_mb * 2**20
        machines.append(machine)
    return machines


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")
