"""What is no DAX, or a dangerous one: told with its lines, and nothing worse."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scicore.errors import Defect, SpecificationError
from scicore.spec.dax import read_dax
from tests.unit.spec.dax.documents import DAX_2, DAX_3, Broken, Load


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
