"""WfFormat 1.4 and 1.5: what they mean, what is odd in published traces, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scicore.model.trace import Trace, TraceFile, TraceTask
from scicore.spec.wfformat import read_wfformat
from tests.unit.spec.wfformat.documents import Load, runs_of, tasks_of

SHARED = (Path(__file__).resolve().parents[4] / "../shared/data/wfformat").resolve()


def test_version_1_5_gives_tasks_with_parents_first(load: Load, new: dict[str, Any]) -> None:
    a, b = TraceFile("a", 10), TraceFile("b", 20)
    assert load(new) == Trace(
        "trace",
        (
            TraceTask("split_ID1", "split", 1.5, writes=(a, b), cpus=2, memory_mb=3),
            TraceTask(
                "join_ID2",
                "join",
                2.0,
                parents=("split_ID1",),
                reads=(a, b),
                writes=(TraceFile("c", 30),),
            ),
        ),
    )


def test_version_1_4_keeps_all_of_a_task_in_one_place(load: Load, old: dict[str, Any]) -> None:
    a = TraceFile("a", 10)
    assert load(old) == Trace(
        "trace",
        (
            TraceTask("split_ID1", "split", 1.5, writes=(a,), memory_mb=91),
            TraceTask(
                "join_ID2",
                "Join",
                2.0,
                parents=("split_ID1",),
                reads=(a,),
                writes=(TraceFile("c", 30),),
                cpus=4,
            ),
        ),
    )


def test_in_version_1_4_parents_may_be_named_by_id(load: Load, old: dict[str, Any]) -> None:
    old["workflow"]["tasks"][0]["parents"] = ["ID1"]
    assert load(old).tasks[1].parents == ("split_ID1",)


def test_in_version_1_4_ids_tell_tasks_apart_whose_names_repeat(
    load: Load, old: dict[str, Any]
) -> None:
    join, split = old["workflow"]["tasks"]
    join["name"] = split["name"] = "step"
    join["parents"], split["children"] = ["ID1"], ["ID2"]
    assert [(task.id, task.parents) for task in load(old).tasks] == [("ID1", ()), ("ID2", ("ID1",))]


def test_a_newer_version_of_the_same_shape_is_read_with_a_warning(
    load: Load, new: dict[str, Any]
) -> None:
    new["schemaVersion"] = "1.6"
    (warning,) = load(new).warnings
    assert warning.endswith("schemaVersion 1.6: read as 1.5, whose shape it has")


def test_an_edge_that_only_the_parent_tells_is_taken_as_well(
    load: Load, new: dict[str, Any]
) -> None:
    tasks_of(new)[0]["parents"] = None
    trace = load(new)
    assert trace.tasks[1].parents == ("split_ID1",)
    assert "an edge that only the parent tells in task split_ID1" in trace.warnings[0]


def test_without_any_edge_files_tell_them_with_a_warning(load: Load, new: dict[str, Any]) -> None:
    for task in tasks_of(new):
        task["parents"], task["children"] = [], []
    trace = load(new)
    assert trace.tasks[1].parents == ("split_ID1",)
    assert "no explicit edges" in trace.warnings[0]


@pytest.mark.parametrize(
    ("name", "program", "activity"),
    [
        ("mProject_ID0000001", "mProject", "mProject"),
        ("map_map_HEP2_Digests_ID0000021", "map", "map"),
        ("blastall_ID000002", "/usr/bin/blastall", "blastall"),
        (
            "NFCORE_BACASS.BACASS.FASTQC",
            "[ ! -f x ] && ln -s y x\nfastqc x",
            "NFCORE_BACASS.BACASS.FASTQC",
        ),
        ("NFCORE.FASTQC_2", "python", "NFCORE.FASTQC"),
        ("cpuhog_chain_00000001", None, "cpuhog_chain"),
        ("_1", "", "_1"),
        ("bowtie2", "", "bowtie2"),
    ],
)
def test_tasks_of_one_program_are_one_activity(
    name: str, program: str | None, activity: str, load: Load, new: dict[str, Any]
) -> None:
    tasks_of(new)[0]["name"] = name
    runs_of(new)[1]["command"]["program"] = program
    assert load(new).tasks[1].activity == activity


def test_what_is_left_out_counts_as_unknown_and_is_told(load: Load, new: dict[str, Any]) -> None:
    del runs_of(new)[1]["runtimeInSeconds"]
    del new["workflow"]["specification"]["files"][2]["sizeInBytes"]
    tasks_of(new)[0]["inputFiles"].append("nowhere")
    trace = load(new)
    assert trace.tasks[1].runtime_s == 0
    assert trace.tasks[1].reads[-1] == TraceFile("nowhere", 0)
    told = "\n".join(trace.warnings)
    assert "no runtime in task join_ID2: taken as 0" in told
    assert "a file without a size in 2 places (file c, task join_ID2): taken as empty" in told


def test_a_specification_without_execution_has_no_runtimes(load: Load, new: dict[str, Any]) -> None:
    del new["workflow"]["execution"]
    trace = load(new)
    assert [task.runtime_s for task in trace.tasks] == [0, 0]
    assert trace.warnings[0].endswith("there is no execution: all runtimes are taken as 0")


def test_executions_that_fit_no_task_or_come_twice_are_told(
    load: Load, new: dict[str, Any]
) -> None:
    runs_of(new)[1]["id"] = "other"
    runs_of(new).append({"id": "split_ID1", "runtimeInSeconds": 9})
    trace = load(new)
    assert [task.runtime_s for task in trace.tasks] == [9, 0]
    told = "\n".join(trace.warnings)
    assert "the execution of an unknown task in task other: left out" in told
    assert "a second execution in task split_ID1: the last one counts" in told
    assert "no record of the execution in task join_ID2: its runtime is 0" in told


def test_runtimes_in_whole_seconds_may_be_zero(load: Load, new: dict[str, Any]) -> None:
    for run in runs_of(new):
        run["runtimeInSeconds"] = 0.0
    (warning,) = load(new).warnings
    assert "a runtime of 0 s in 2 places (task join_ID2, task split_ID1): left as it is" in warning


def test_a_negative_runtime_or_size_counts_as_zero_with_a_warning(
    load: Load, new: dict[str, Any]
) -> None:
    runs_of(new)[0]["runtimeInSeconds"] = -0.001
    new["workflow"]["specification"]["files"][0]["sizeInBytes"] = -1
    trace = load(new)
    assert trace.tasks[0].runtime_s == 0
    assert trace.tasks[0].writes[0] == TraceFile("a", 0)
    assert len(trace.warnings) == 2


def test_a_file_named_twice_counts_once(load: Load, new: dict[str, Any]) -> None:
    tasks_of(new)[0]["inputFiles"] = ["a", "b", "a"]
    assert [file.name for file in load(new).tasks[1].reads] == ["a", "b"]


def test_memory_below_a_megabyte_must_be_kilobytes(load: Load, new: dict[str, Any]) -> None:
    runs_of(new)[0]["memoryInBytes"] = 87_824
    trace = load(new)
    assert trace.tasks[0].memory_mb == 86
    assert "taken as kilobytes" in trace.warnings[0]


def test_a_machine_with_next_to_no_memory_tells_that_all_is_in_kilobytes(
    load: Load, new: dict[str, Any]
) -> None:
    runs_of(new)[0]["memoryInBytes"] = 4 * 2**20  # 4 GB, or 4 MB
    machine = {"nodeName": "m", "memoryInBytes": 196_483_612, "cpu": {"coreCount": 64}}
    new["workflow"]["execution"]["machines"] = [machine]
    assert load(new).tasks[0].memory_mb == 4096


def test_one_small_program_among_others_does_not_make_kilobytes(
    load: Load, new: dict[str, Any]
) -> None:
    runs_of(new)[0]["memoryInBytes"] = 900_000
    runs_of(new)[1]["memoryInBytes"] = 80_000_000
    assert [task.memory_mb for task in load(new).tasks] == [1, 77]


def test_unknown_memory_is_zero(load: Load, new: dict[str, Any]) -> None:
    runs_of(new)[0]["memoryInBytes"] = 0
    runs_of(new)[1]["memoryInBytes"] = None
    assert [task.memory_mb for task in load(new).tasks] == [0, 0]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not beside this checkout")
@pytest.mark.parametrize(
    ("name", "tasks", "edges", "activities", "memory_mb"),
    [
        ("bacass-dirt02-001", 11, 14, 7, 1062),
        ("blast-chameleon-small-001", 43, 120, 4, 903),
        ("epigenomics-chameleon-hep-1seq-100k-001", 41, 48, 8, 0),
        ("helloworld-chain-5-chameleon", 5, 4, 1, 87),
        ("helloworld-forkjoin-10-chameleon", 10, 16, 1, 708),
        ("montage-chameleon-dss-05d-001", 58, 114, 8, 0),
        ("srasearch-chameleon-10a-001", 22, 30, 4, 311),
    ],
)
def test_published_traces_are_read(
    name: str, tasks: int, edges: int, activities: int, memory_mb: int
) -> None:
    trace = read_wfformat(SHARED / f"{name}.json")
    assert (trace.name, len(trace.tasks)) == (name, tasks)
    seen: set[str] = set()
    for task in trace.tasks:
        assert seen.issuperset(task.parents)
        seen.add(task.id)
    assert sum(len(task.parents) for task in trace.tasks) == edges
    assert len({task.activity for task in trace.tasks}) == activities
    assert max(task.memory_mb for task in trace.tasks) == memory_mb
