"""Pegasus DAX, 2.1 and 3.x: what it means, what is odd in published traces, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scicore.errors import Defect, SpecificationError
from scicore.model.trace import Trace, TraceFile, TraceTask
from scicore.spec.dax import read_dax

SHARED = (Path(__file__).resolve().parents[3] / "../shared/data/dax").resolve()

DAX_2 = """\
<?xml version="1.0" encoding="UTF-8"?>
<!-- generated long ago -->
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" name="test" jobCount="3">
  <job id="ID2" namespace="Montage" name="mDiffFit" version="1.0" runtime="10.5">
    <uses file="a.fits" link="input" size="100"/>
    <uses file="b.fits" link="input" size="200"/>
    <uses file="fit.txt" link="output" size="7"/>
  </job>
  <job id="ID0" namespace="Montage" name="mProjectPP" version="1.0" runtime="13">
    <uses file="a.fits" link="output" size="100"/>
  </job>
  <job id="ID1" namespace="Montage" name="mProjectPP" version="1.0" runtime="13.25">
    <uses file="b.fits" link="output" size="200"/>
  </job>
  <child ref="ID2">
    <parent ref="ID0"/>
    <parent ref="ID1"/>
  </child>
</adag>
"""
"""Line 4 is the first job, 9 and 12 the others, 15 to 17 the edges."""

DAX_3 = """\
<p:adag xmlns:p="http://pegasus.isi.edu/schema/DAX" version="3.6" name="diamond">
  <p:metadata key="runtime">99</p:metadata>
  <p:file name="f.a"><p:pfn url="file:///f.a" site="local"/></p:file>
  <p:transformation name="preprocess"><p:uses name="helper"/></p:transformation>
  <p:job id="ID1" name="preprocess">
    <p:argument>-i <p:file name="f.a"/></p:argument>
    <p:profile namespace="pegasus" key="runtime">60</p:profile>
    <p:profile namespace="pegasus" key="cores">4</p:profile>
    <p:profile namespace="condor" key="request_cpus">8</p:profile>
    <p:profile namespace="condor" key="request_memory">2 GB</p:profile>
    <p:uses name="f.a" link="input"><p:metadata key="size">1024</p:metadata></p:uses>
    <p:uses name="f.b" link="output" size="12"><p:metadata key="size">99</p:metadata></p:uses>
    <p:uses name="keg" link="none"/>
  </p:job>
  <p:job id="ID2" name="analyze">
    <p:metadata key="runtime">1.5</p:metadata>
    <p:profile namespace="globus" key="count">2</p:profile>
    <p:profile namespace="globus" key="maxmemory">512</p:profile>
    <p:uses name="f.b" link="inout"/>
  </p:job>
  <p:child ref="ID2"><p:parent ref="ID1" edge-label="x"/></p:child>
</p:adag>
"""

Load = Callable[..., Trace]
Broken = Callable[..., tuple[Defect, ...]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Write a document, with replacements if asked, and read it."""

    def _load(*changes: tuple[str, str], xml: str = DAX_2) -> Trace:
        for old, new in changes:
            assert old in xml
            xml = xml.replace(old, new)
        path = tmp_path / "trace.xml"
        path.write_text(xml, encoding="utf-8")
        return read_dax(path)

    return _load


@pytest.fixture
def broken(load: Load) -> Broken:
    def _broken(*changes: tuple[str, str], xml: str = DAX_2) -> tuple[Defect, ...]:
        with pytest.raises(SpecificationError) as caught:
            load(*changes, xml=xml)
        return caught.value.defects

    return _broken


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


@pytest.mark.parametrize("word", ["nan", "inf", "-inf", "1e999", "soon", "1_000", "", "12,5"])
def test_a_runtime_that_is_no_finite_number_is_refused(word: str, broken: Broken) -> None:
    (defect,) = broken(('"13.25"', f'"{word}"'))
    assert defect.line == 12
    assert "ID1" in defect.found
    assert defect.expected == "a finite number of seconds"


@pytest.mark.parametrize("word", ["big", "nan", "inf", "1e300"])
def test_a_size_that_is_no_size_is_refused(word: str, broken: Broken) -> None:
    (defect,) = broken(('size="7"', f'size="{word}"'))
    assert defect.line == 7
    assert "fit.txt" in defect.found


def test_all_defects_are_told_at_once_in_the_order_of_lines(broken: Broken) -> None:
    defects = broken(
        ('runtime="10.5"', 'runtime="NaN"'),
        ('id="ID0"', 'id="ID2"'),
        ('<parent ref="ID1"/>', '<parent ref="ID9"/><parent ref="ID2"/><parent/>'),
    )
    assert [(defect.line, defect.found) for defect in defects] == [
        (4, "the runtime 'NaN' of task ID2"),
        (9, "a second task with the id ID2"),
        (16, "an edge from ID0, which is no task"),
        (17, "task ID2 as its own parent"),
        (17, "<parent> without ref"),
        (17, "an edge from ID9, which is no task"),
    ]


def test_an_edge_to_an_unknown_task_is_refused(broken: Broken) -> None:
    (defect,) = broken(('<child ref="ID2">', '<child ref="ID7">'))
    assert (defect.line, defect.found) == (16, "an edge to ID7, which is no task")


def test_a_job_without_id_is_one_defect_and_edges_to_it_are_none(broken: Broken) -> None:
    (defect,) = broken(('id="ID0" ', ""))
    assert (defect.line, defect.found) == (9, "<job> without id")


def test_a_cycle_names_its_members_in_the_direction_of_the_data(broken: Broken) -> None:
    back = '<child ref="ID0"><parent ref="ID2"/></child>\n</adag>'
    (defect,) = broken(("</adag>", back))
    assert defect.found == "the cycle ID0 → ID2 → ID0"
    assert "one direction" in defect.expected


def test_of_a_long_cycle_some_members_are_named(broken: Broken) -> None:
    jobs = "".join(f'<job id="{n}" name="j" runtime="1"/>' for n in range(5000))
    edges = "".join(
        f'<child ref="{n}"><parent ref="{(n - 1) % 5000}"/></child>' for n in range(5000)
    )
    (defect,) = broken(xml=f"<adag>{jobs}{edges}</adag>")
    assert "→ … (5000 tasks)" in defect.found
    assert len(defect.found) < 100


def test_many_defects_of_one_kind_are_counted(broken: Broken) -> None:
    jobs = "".join(f'<job id="{n}" name="j" runtime="x"/>\n' for n in range(100))
    defects = broken(xml=f"<adag>{jobs}</adag>")
    assert len(defects) == 21
    assert defects[-1].found == "80 more problems of this kind"


def test_a_dense_knot_of_cycles_is_told_without_delay(broken: Broken) -> None:
    jobs = "".join(f'<job id="{n}" name="j" runtime="1"/>' for n in range(300))
    parents = "".join(f'<parent ref="{n}"/>' for n in range(300))
    children = "".join(f'<child ref="{n}">{parents}</child>\n' for n in range(300))
    assert len(broken(xml=f"<adag>{jobs}{children}</adag>")) == 2 * 21  # self-loops and cycles


def test_a_trace_without_tasks_is_refused(broken: Broken) -> None:
    (defect,) = broken(xml="<adag/>")
    assert defect.expected == "at least one task"


@pytest.mark.parametrize(
    ("xml", "line", "found"),
    [
        ("", 1, "not well-formed"),
        ("<adag>\n<job id='a' name='b'></adag>", 2, "not well-formed"),
        (DAX_2[:400], 9, "not well-formed"),
        ("<adag>&nbsp;</adag>", 1, "not well-formed"),
        ("<SciCumulus/>", 1, "<SciCumulus>"),
        ('<?xml version="1.0" encoding="klingon"?><adag/>', 1, "klingon"),
    ],
)
def test_what_is_no_dax_is_one_defect(xml: str, line: int, found: str, broken: Broken) -> None:
    (defect,) = broken(xml=xml)
    assert found in defect.found
    assert defect.line == line


def test_billion_laughs_are_refused_where_the_doctype_begins(broken: Broken) -> None:
    entities = '<!ENTITY a "ha">' + "".join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">'
        for before, name in zip("abcdefghi", "bcdefghij", strict=True)
    )
    (defect,) = broken(xml=f"<!-- hi -->\n<!DOCTYPE adag [{entities}]>\n<adag name='&j;'/>")
    assert (defect.line, "DOCTYPE" in defect.found) == (2, True)


def test_an_external_entity_is_refused_and_its_file_not_read(
    broken: Broken, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("hunter2")
    doctype = f'<!DOCTYPE a [<!ENTITY e SYSTEM "file://{tmp_path}/secret.txt">]>'
    (defect,) = broken(xml=f"{doctype}<adag>&e;</adag>")
    assert "DOCTYPE" in defect.found
    assert "hunter2" not in str(defect)


def test_a_doctype_hidden_by_another_encoding_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "trace.xml"
    path.write_bytes('<!DOCTYPE a [<!ENTITY b "c">]><adag/>'.encode("utf-16"))
    with pytest.raises(SpecificationError, match="DOCTYPE"):
        read_dax(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="no readable file"):
        read_dax(tmp_path / "nothing.xml")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    at=st.integers(0, len(DAX_3)),
    cut=st.integers(0, 30),
    put=st.text(alphabet="<>\"'&;=/!-[]? abX1.\n", max_size=12),
)
def test_any_slip_of_the_keyboard_gives_a_trace_or_a_specification_error(
    load: Load, at: int, cut: int, put: str
) -> None:
    slipped = DAX_3[:at] + put + DAX_3[at + cut :]
    defects: tuple[Defect, ...] = ()
    try:
        load(xml=slipped)
    except SpecificationError as error:
        defects = error.defects
    assert all(0 <= defect.line <= slipped.count("\n") + 1 for defect in defects)


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
