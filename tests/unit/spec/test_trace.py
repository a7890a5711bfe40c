"""Traces as workflows: kinds of files, activities, tuples, and what loading a large one takes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scicore.errors import SpecificationError, UsageError
from scicore.model.trace import Trace, TraceFile, TraceTask
from scicore.model.workflow import FieldType, Operator, Workflow
from scicore.spec.trace import kind_of, load_trace, trace_workflow

SHARED = (Path(__file__).resolve().parents[3] / "../shared/data").resolve()

COMMAND = "python3 -S burn.py cpu %=EXPDIR%/files"
DIRECTORY = Path("/somewhere/montage")
ACTIVATIONS = 100_000

MEASURE = """\
import re, resource, sys, tempfile
from pathlib import Path
from scicore.spec.trace import load_trace, trace_workflow
from scicore.spec.write import write_workflow
trace = load_trace(Path(sys.argv[1]))
with tempfile.TemporaryDirectory() as directory:
    write_workflow(trace_workflow(trace, Path(directory), "true"), Path(directory))
edges = sum(len(task.parents) for task in trace.tasks)
if sys.platform == "linux":  # getrusage would count what the process was before it was this one
    peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(trace.tasks), edges, peak)
"""


def workflow_of(*tasks: TraceTask, name: str = "t") -> Workflow:
    return trace_workflow(Trace(name, tasks), DIRECTORY, COMMAND)


def rows_of(workflow: Workflow) -> list[dict[str, str]]:
    return [
        dataset.relation.as_mapping(row) for dataset in workflow.datasets for row in dataset.rows
    ]


def test_every_program_becomes_a_map_activity_with_a_dataset_of_its_own() -> None:
    workflow = workflow_of(
        TraceTask("1", "split", 1.5, cpus=2, memory_mb=91),
        TraceTask("2", "join", 2, parents=("1",)),
        TraceTask("3", "split", 3, parents=("1", "2")),  # programs may alternate
    )
    split, join = workflow.activities
    assert (split.tag, split.operator, split.command) == (
        "split",
        Operator.MAP,
        f"{COMMAND} split_tasks.hfrag",
    )
    assert (split.input.name, split.output.name) == ("split_tasks", "split_done")
    assert (split.output.fields, split.producer) == ((), None)
    assert (split.id_field, split.parents_field) == ("ID", "PARENTS")
    assert (split.cpus, split.memory_mb, split.runtime_s) == (
        "%=CPUS%",
        "%=MEMORY_MB%",
        "%=RUNTIME%",
    )
    assert [dataset.relation for dataset in workflow.datasets] == [split.input, join.input]
    floats = [field.name for field in split.input.fields if field.type is FieldType.FLOAT]
    assert floats == ["RUNTIME", "CPUS", "MEMORY_MB"]
    assert (workflow.directory, workflow.experiment_directory) == (str(DIRECTORY),) * 2
    assert (workflow.tag, workflow.execution_tag) == ("t", "t")


def test_a_task_becomes_a_tuple() -> None:
    (row,) = rows_of(
        workflow_of(
            TraceTask(
                "ID7",
                "mDiffFit",
                10.5,
                parents=("ID1", "ID2"),
                reads=(TraceFile("a.fits", 100), TraceFile("dir/b c.fits", 7)),
                writes=(TraceFile("é:1;", 0),),
                cpus=4,
                memory_mb=512,
            )
        )
    )
    assert row == {
        "ID": "ID7",
        "PARENTS": "ID1 ID2",
        "RUNTIME": "10.5",
        "CPUS": "4",
        "MEMORY_MB": "512",
        "READS": "a.fits:100 dir%2Fb%20c.fits:7",
        "WRITES": "%C3%A9%3A1%3B:0",
    }


def test_times_and_sizes_are_scaled() -> None:
    trace = Trace("t", (TraceTask("1", "a", 100.0, writes=(TraceFile("x", 1001),)),))
    (row,) = rows_of(trace_workflow(trace, DIRECTORY, COMMAND, 0.01, 0.1))
    assert (row["RUNTIME"], row["WRITES"]) == ("1.0", "x:100")


@pytest.mark.parametrize("scale", [-1.0, float("nan"), float("inf")])
def test_a_scale_that_makes_no_sense_is_refused(scale: float) -> None:
    trace = Trace("t", (TraceTask("1", "a", 1.0),))
    with pytest.raises(UsageError, match="time scale"):
        trace_workflow(trace, DIRECTORY, COMMAND, time_scale=scale)
    with pytest.raises(UsageError, match="size scale"):
        trace_workflow(trace, DIRECTORY, COMMAND, size_scale=scale)


def test_ids_have_no_blanks_and_stay_different() -> None:
    ids = ["a b", "a%20b", "a\tb", "a_b", "a;b", 'a"b', "é", "a\x00b", "NF:X.Y_(1)"]
    rows = rows_of(workflow_of(*(TraceTask(id, "a", 1, parents=tuple(ids[:1])) for id in ids)))
    written = [row["ID"] for row in rows]
    assert len(set(written)) == len(ids)
    assert all(len(id.split()) == 1 and id.isprintable() and '"' not in id for id in written)
    assert rows[1]["PARENTS"] == rows[0]["ID"] == "a%20b"
    assert written[-1] == "NF:X.Y_(1)"


def test_tags_are_names_that_a_database_takes_and_stay_different() -> None:
    programs = ["bowtie2-build", "bowtie2_build", "Bowtie2 Build", "2mass", "", "x" * 80, "y" * 80]
    programs += ["x" * 79 + "y", "é", "ü"]
    workflow = workflow_of(*(TraceTask(str(n), name, 1) for n, name in enumerate(programs)))
    tags = [activity.tag for activity in workflow.activities]
    assert tags[:5] == ["bowtie2_build", "bowtie2_build_2", "Bowtie2_Build_3", "_2mass", "_"]
    assert len({tag.casefold() for tag in tags}) == len(programs)
    for activity in workflow.activities:
        assert activity.input.name.isidentifier()
        assert activity.input.name.isascii()
        assert len(activity.input.name) <= 63
    assert workflow.activities[0].description == "bowtie2-build"


def test_of_a_long_name_the_end_is_kept() -> None:
    name = "NFCORE_SAREK:SAREK:BAM_VARIANT_CALLING_GERMLINE_ALL:GATK4_HAPLOTYPECALLER"
    assert workflow_of(TraceTask("1", name, 1)).activities[0].tag.endswith("_GATK4_HAPLOTYPECALLER")


@pytest.mark.parametrize("name", [".", "..", "../../etc/passwd", "/", "x" * 5000, "é" * 100])
def test_files_have_flat_names_of_bearable_length(name: str) -> None:
    (row,) = rows_of(workflow_of(TraceTask("1", "a", 1, reads=(TraceFile(name, 1),))))
    encoded, _, size = row["READS"].rpartition(":")
    assert size == "1"
    assert encoded not in (".", "..")
    assert "/" not in encoded
    assert len(encoded) <= 200


def test_long_names_stay_different() -> None:
    files = tuple(TraceFile(f"{start}{'x' * 500}", 1) for start in "ab")
    (row,) = rows_of(workflow_of(TraceTask("1", "a", 1, reads=files)))
    assert len(set(row["READS"].split())) == 2


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ('{"workflow": {}}', "wfformat"),
        ('\ufeff\n  {"workflow": {}}', "wfformat"),
        ("[]", "wfformat"),
        ("<?xml version='1.0'?>\n<!-- hi -->\n<adag/>", "dax"),
        ('<d:adag xmlns:d="http://pegasus.isi.edu/schema/DAX">', "dax"),
        ('<!DOCTYPE adag [<!ENTITY a "b">]><adag/>', "dax"),
        ("<SciCumulus/>", "scicumulus"),
        ("<!-- <adag> --><SciCumulus/>", "scicumulus"),
        ('<SciCumulus><workspace x=""""/>', "scicumulus"),
        ("", "scicumulus"),
        ("hello", "scicumulus"),
        ("<?xml version='1.0' encoding='klingon'?><adag/>", "scicumulus"),
    ],
)
def test_kinds_are_told_by_content(content: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "any.name"
    path.write_text(content, encoding="utf-8")
    assert kind_of(path) == kind


def test_utf16_is_looked_into_as_well(tmp_path: Path) -> None:
    path = tmp_path / "trace.xml"
    path.write_text("<adag/>", encoding="utf-16")
    assert kind_of(path) == "dax"


def test_a_file_that_is_not_there_has_no_kind(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="SciCumulus XML, Pegasus DAX or WfFormat JSON"):
        kind_of(tmp_path / "nothing")


def test_our_own_language_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "workflow.xml").write_text("<SciCumulus/>")
    with pytest.raises(SpecificationError, match="neither JSON nor XML with the root <adag>"):
        load_trace(tmp_path / "workflow.xml")


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not beside this checkout")
def test_every_shared_trace_becomes_a_workflow_with_all_its_tasks() -> None:
    paths = [*SHARED.glob("dax/*.xml"), *SHARED.glob("wfformat/*.json")]
    assert paths
    for path in paths:
        trace = load_trace(path)
        rows = rows_of(trace_workflow(trace, DIRECTORY, COMMAND))
        assert len(rows) == len(trace.tasks)
        ids = {row["ID"] for row in rows}
        assert len(ids) == len(rows)
        assert ids.issuperset(parent for row in rows for parent in row["PARENTS"].split())


def parents_of(task: int) -> list[int]:
    """Three parents, near and far, for all but the first tasks."""
    return sorted({task - 1, task - 2, task // 2}) if task > 3 else []


def large_dax() -> Iterator[str]:
    yield "<adag>\n"
    for task in range(ACTIVATIONS):
        yield f'<job id="ID{task:07}" name="program{task % 7}" runtime="{task % 13}.5">\n'
        for parent in parents_of(task):
            yield f'<uses file="out{parent:07}.dat" link="input" size="{parent}"/>\n'
        yield f'<uses file="out{task:07}.dat" link="output" size="{task}"/>\n</job>\n'
    for task in range(ACTIVATIONS):
        parents = "".join(f'<parent ref="ID{parent:07}"/>' for parent in parents_of(task))
        yield f'<child ref="ID{task:07}">{parents}</child>\n'
    yield "</adag>\n"


def large_wfformat() -> Iterator[str]:
    def items(item: Callable[[int], object]) -> Iterator[str]:
        for task in range(ACTIVATIONS):
            yield f"{',' if task else ''}{json.dumps(item(task))}\n"

    yield '{"schemaVersion": "1.5", "workflow": {"specification": {"tasks": [\n'
    yield from items(
        lambda task: {
            "id": f"ID{task:07}",
            "name": f"program{task % 7}_ID{task:07}",
            "parents": [f"ID{parent:07}" for parent in parents_of(task)],
            "children": [],
            "inputFiles": [f"out{parent:07}.dat" for parent in parents_of(task)],
            "outputFiles": [f"out{task:07}.dat"],
        }
    )
    yield '], "files": [\n'
    yield from items(lambda task: {"id": f"out{task:07}.dat", "sizeInBytes": task})
    yield ']}, "execution": {"tasks": [\n'
    yield from items(lambda task: {"id": f"ID{task:07}", "runtimeInSeconds": task % 13 + 0.5})
    yield "]}}}\n"


@pytest.mark.parametrize("write", [large_dax, large_wfformat])
def test_a_hundred_thousand_activations_take_less_than_a_gigabyte(
    write: Callable[[], Iterator[str]], tmp_path: Path
) -> None:
    path = tmp_path / "large"
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(write())
    words = [sys.executable, "-c", MEASURE, str(path)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    tasks, edges, peak_bytes = map(int, done.stdout.split())
    assert tasks == ACTIVATIONS
    assert edges > 299_000
    assert peak_bytes < 2**30
