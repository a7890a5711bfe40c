"""Pegasus DAX, 2.1 and 3.x: what it means, what is odd in published traces, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from scicore.model.trace import Trace, TraceFile, TraceTask
from scicore.spec.dax import read_dax
from tests.unit.spec.dax.documents import DAX_2, DAX_3, Broken, Load

SHARED = (Path(__file__).resolve().parents[4] / "../shared/data/dax").resolve()


def test_dax_2_gives_tasks_with_parents_first(load: Load) -> None:
    a, b = TraceFile("a.fits", 100), TraceFile("b.fits", 200)
    assert load() == Trace(
        "trace",
        (
            TraceTask("ID0", "mProjectPP", 13.0, writes=(a,)),
            TraceTask("ID1", "mProjectPP", 13.25, writes=(b,)),
            TraceTask(
                "ID2",
                "mDiffFit",
                10.5,
                parents=("ID0", "ID1"),
                reads=(a, b),
                writes=(TraceFile("fit.txt", 7),),
            ),
        ),
    )


def test_dax_3_with_prefixes_profiles_and_metadata(load: Load) -> None:
    first, second = load(xml=DAX_3).tasks
    assert first == TraceTask(
        "ID1",
        "preprocess",
        60.0,
        reads=(TraceFile("f.a", 1024),),
        writes=(TraceFile("f.b", 12),),
        cpus=4,
        memory_mb=2048,
    )
    assert (second.runtime_s, second.cpus, second.memory_mb) == (1.5, 2, 512)
    assert second.reads == second.writes == (TraceFile("f.b", 0),)


def test_a_document_without_namespace_is_read_too(load: Load) -> None:
    assert len(load((' xmlns="http://pegasus.isi.edu/schema/DAX"', "")).tasks) == 3


def test_what_a_dax_3_does_not_say_is_told_once_with_a_count(load: Load) -> None:
    xml = DAX_3.replace('key="runtime"', 'key="colour"').replace(' size="12"', "")
    trace = load(("2 GB", "ifthenelse(x, 1, 2)"), xml=xml)
    assert [task.runtime_s for task in trace.tasks] == [0, 0]
    assert trace.tasks[0].memory_mb == 0
    told = "\n".join(trace.warnings)
    assert ":5: no runtime in 2 places (task ID1, task ID2): taken as 0" in told
    assert "a memory that is no number in task ID1: taken as unknown" in told
    assert "a file without a size in task ID2: taken as empty" in told


def test_explicit_edges_count_and_files_do_not(load: Load) -> None:
    trace = load(('<parent ref="ID0"/>', ""))
    assert {task.id: task.parents for task in trace.tasks} == {
        "ID0": (),
        "ID1": (),
        "ID2": ("ID1",),
    }
    assert trace.warnings == ()


def test_without_any_explicit_edge_files_tell_them_with_a_warning(load: Load) -> None:
    edges = DAX_2[DAX_2.index("  <child") : DAX_2.index("</adag>")]
    trace = load((edges, ""))
    assert trace.tasks[2].parents == ("ID0", "ID1")
    assert "no explicit edges" in trace.warnings[0]


def test_a_file_changed_in_place_gives_no_edge_to_itself(load: Load) -> None:
    job = '<job id="{0}" name="n" runtime="1"><uses name="f" link="inout" size="1"/></job>'
    trace = load(xml=f"<adag>{job.format('a')}{job.format('b')}</adag>")
    assert [task.parents for task in trace.tasks] == [(), ()]


def test_files_that_suggest_millions_of_edges_are_refused(broken: Broken) -> None:
    uses = '<uses name="f" link="{0}" size="1"/>'
    writers = "".join(
        f'<job id="w{n}" name="w" runtime="1">{uses.format("output")}</job>' for n in range(1500)
    )
    readers = "".join(
        f'<job id="r{n}" name="r" runtime="1">{uses.format("input")}</job>' for n in range(1500)
    )
    (defect,) = broken(xml=f"<adag>{writers}{readers}</adag>")
    assert defect.expected == "explicit edges"


def test_one_file_may_have_several_producers_and_sizes(load: Load) -> None:
    trace = load(('file="b.fits" link="output" size="200"', 'file="a.fits" link="output" size="9"'))
    writes = [task.writes for task in trace.tasks]
    assert writes[0] == (TraceFile("a.fits", 100),)
    assert writes[1] == (TraceFile("a.fits", 9),)


def test_a_negative_runtime_and_size_count_as_zero_with_a_warning(load: Load) -> None:
    trace = load(('"13.25"', '"-0.01"'), ('link="output" size="7"', 'link="output" size="-7"'))
    assert trace.tasks[1].runtime_s == 0
    assert trace.tasks[2].writes == (TraceFile("fit.txt", 0),)
    negative_size, negative_runtime = trace.warnings
    assert negative_size.endswith(":7: a negative file size in task ID2: taken as 0")
    assert negative_runtime.endswith(":12: a negative runtime in task ID1: taken as 0")


def test_sub_workflows_count_as_one_task(load: Load) -> None:
    job = DAX_2[DAX_2.index('  <job id="ID1"') : DAX_2.index("  <child")]
    trace = load((job, '<dax id="ID1" file="inner.dax"/>'))
    assert trace.tasks[1].activity == "inner.dax"
    assert "a sub-workflow (<dax>) in task ID1: taken as one task" in "".join(trace.warnings)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not beside this checkout")
@pytest.mark.parametrize(
    ("name", "tasks", "edges"),
    [
        ("CyberShake_30", 30, 52),
        ("Epigenomics_24", 24, 27),
        ("HEFT_paper", 10, 15),
        ("Inspiral_30", 30, 35),
        ("Montage_25", 25, 45),
        ("Montage_50", 50, 106),
        ("Montage_100", 100, 233),
        ("Sipht_30", 29, 33),
    ],
)
def test_published_traces_are_read_without_a_word(name: str, tasks: int, edges: int) -> None:
    trace = read_dax(SHARED / f"{name}.xml")
    assert (trace.name, len(trace.tasks), trace.warnings) == (name, tasks, ())
    seen: set[str] = set()
    for task in trace.tasks:
        assert seen.issuperset(task.parents)
        seen.add(task.id)
    assert sum(len(task.parents) for task in trace.tasks) == edges
    assert all(task.runtime_s > 0 for task in trace.tasks)
