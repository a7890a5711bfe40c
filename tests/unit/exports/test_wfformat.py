"""WfFormat 1.5: a run becomes a trace."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scicore.errors import UsageError
from scicore.exports import wfformat
from scicore.exports.formats import Options
from scicore.exports.snapshot import Snapshot
from tests.unit.exports import building as b

ID = re.compile(r"[0-9a-zA-Z\-_.]+")  # as the first 1.5 schema limits references


def check_shape(trace: Any) -> None:
    """The parts of wfcommons-schema.json 1.5 that we use."""
    assert trace["schemaVersion"] == "1.5"
    assert trace["name"]
    assert trace["runtimeSystem"]["name"]
    assert trace["runtimeSystem"]["version"]
    specification = trace["workflow"]["specification"]
    execution = trace["workflow"]["execution"]
    tasks = {task["id"]: task for task in specification["tasks"]}
    files = {file["id"]: file["sizeInBytes"] for file in specification["files"]}
    assert len(tasks) == len(specification["tasks"]) >= 1
    assert len(files) == len(specification["files"])
    assert all(ID.fullmatch(id) for id in files)
    assert all(isinstance(size, int) and size >= 0 for size in files.values())
    for id, task in tasks.items():
        assert ID.fullmatch(id)
        assert task["name"]
        assert all(id in tasks[parent]["children"] for parent in task["parents"])
        assert all(id in tasks[child]["parents"] for child in task["children"])
        assert {*task["inputFiles"], *task["outputFiles"]} <= set(files)
    machines = {machine["nodeName"] for machine in execution["machines"]}
    assert execution["makespanInSeconds"] >= 0
    assert execution["executedAt"]
    assert sorted(run["id"] for run in execution["tasks"]) == sorted(tasks)
    for run in execution["tasks"]:
        assert run["runtimeInSeconds"] >= 0
        assert run.get("coreCount", 1) >= 1
        assert all(run.get("command", {"arguments": ["x"]})["arguments"])
        assert set(run.get("machines", ())) <= machines


@pytest.fixture
def trace(tmp_path: Path) -> Any:
    written = wfformat.write(b.snapshot(), tmp_path / "trace.json", Options())
    assert written.records == {"tasks": 5, "files": 4}
    assert written.warnings == ("2 activations have not finished: the trace leaves them out",)
    return json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))


def test_it_has_the_shape_of_the_schema(trace: Any) -> None:
    check_shape(trace)


def test_tasks_are_the_activations_that_finished(trace: Any) -> None:
    tasks = trace["workflow"]["specification"]["tasks"]
    told = {task["id"]: (task["name"], task["parents"], task["children"]) for task in tasks}
    assert told == {
        "cut.1": ("cut", [], ["fit.3", "fit.4"]),
        "cut.2": ("cut", [], []),
        "fit.3": ("fit", ["cut.1"], ["all.6"]),
        "fit.4": ("fit", ["cut.1"], ["all.6"]),
        "all.6": ("all", ["fit.3", "fit.4"], []),
    }


def test_files_keep_apart_what_the_schema_would_call_alike(trace: Any) -> None:
    tasks = {task["id"]: task for task in trace["workflow"]["specification"]["tasks"]}
    assert tasks["cut.1"]["inputFiles"] == ["a.map"]
    assert tasks["cut.1"]["outputFiles"] == ["cut_1_p_1", "cut_1_p_1-2"]
    assert tasks["fit.4"]["inputFiles"] == ["cut_1_p_1-2"]
    assert tasks["cut.2"]["outputFiles"] == []


def test_the_execution_is_that_of_the_attempt_that_finished(trace: Any) -> None:
    runs = {run["id"]: run for run in trace["workflow"]["execution"]["tasks"]}
    assert runs["fit.3"] == {
        "id": "fit.3",
        "runtimeInSeconds": 3.5,
        "executedAt": "2026-05-01T12:00:24.000+00:00",
        "command": {"program": "fit", "arguments": ["/lab/exp/piece 3"]},
        "coreCount": 2,
        "avgCPU": 50.0,
        "readBytes": 0,
        "writtenBytes": 4096,
        "memoryInBytes": 5_000_000_000,
        "machines": ["t2.micro-2"],
    }
    assert "machines" not in runs["all.6"]  # the master's own work


def test_machines_are_the_vms(trace: Any) -> None:
    assert trace["workflow"]["execution"]["machines"][0] == {
        "nodeName": "t2.micro-1",
        "cpu": {"coreCount": 1},
        "memoryInBytes": 1024 * 2**20,
    }
    assert trace["workflow"]["execution"]["makespanInSeconds"] == 60.0


@pytest.mark.parametrize(
    ("cpus", "expected"), [("2", 2), ("%=name%", 1), ("%=CORES%", 8), ("nonsense", 1), ("1e999", 1)]
)
def test_cores_are_what_the_activity_asks_for(cpus: str, expected: int) -> None:
    run = b.snapshot()
    activities = [replace(activity, cpus=cpus) for activity in run.head.workflow.activities]
    flow = replace(run.head.workflow, activities=tuple(activities))
    one, *others = run.tuples
    tuples = (replace(one, values={"NAME": "x", "CORES": "7.5"}), *others)
    trace = wfformat.document(replace(run, head=b.head(workflow=flow), tuples=tuples))
    assert trace["workflow"]["execution"]["tasks"][0]["coreCount"] == expected


def test_a_run_of_which_nothing_finished_is_no_trace() -> None:
    run = b.snapshot()
    nothing: Snapshot = replace(run, activations=run.activations[4:5])
    with pytest.raises(UsageError, match="no activation of run 12 has finished"):
        wfformat.document(nothing)
