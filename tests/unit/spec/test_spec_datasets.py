"""Dataset files: which are tuples, and what is said about the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scicore.algebra.relation_text import write_relation
from scicore.errors import Defect, SpecificationError
from tests.unit.spec.loader import Broken, Load

Told = list[tuple[int, str, str]]

values = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), min_size=1, max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False).map(repr)
same_files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def told(defects: tuple[Defect, ...]) -> Told:
    return [(defect.line, defect.found, defect.expected) for defect in defects]


def test_a_workflow_without_any_tuple_has_nothing_to_run_and_says_so(
    load: Load, tmp_path: Path
) -> None:
    loaded = load(data="ID;X\n")
    assert loaded.workflow.datasets[0].rows == ()
    assert loaded.warnings == (
        f"{tmp_path}/numbers.txt:1: the dataset of numbers has no tuples, so that no activation"
        " will start: write some below the header",
    )


SECOND = """<activity tag="second" type="{operator}" activation="{command}">
<relation reltype="Input" name="names"/><relation reltype="Output" name="o"/>
<field name="N" type="string" input="names" output="o"/></activity></conceptualWorkflow>"""
NAMES = (
    "</executionWorkflow>",
    '<relation name="names" filename="names.txt"/></executionWorkflow>',
)


def test_one_empty_dataset_beside_another_is_a_warning(load: Load, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("N\n")
    second = SECOND.format(operator="MAP", command="p %=N%")
    loaded = load(("</conceptualWorkflow>", second), NAMES)
    assert loaded.warnings == (f"{tmp_path}/names.txt:1: the dataset of names has no tuples",)
    assert loaded.workflow.datasets[1].rows == ()


def test_a_query_has_something_to_do_even_without_tuples(load: Load, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("N\n")
    second = SECOND.format(operator="SR_QUERY", command="SELECT count(*) AS n FROM names")
    loaded = load(("</conceptualWorkflow>", second), NAMES, data="ID;X\n")
    assert [warning.partition(": ")[2] for warning in loaded.warnings] == [
        "the dataset of names has no tuples",
        "the dataset of numbers has no tuples",
    ]


def test_a_byte_order_mark_and_windows_line_ends_are_fine(load: Load) -> None:
    loaded = load(data=b"\xef\xbb\xbfid;x\r\na;1\r\n")
    assert loaded.workflow.datasets[0].rows == (("a", "1"),)


@same_files
@given(rows=st.lists(st.tuples(values, numbers), max_size=5))
def test_the_order_and_the_case_of_columns_do_not_matter(
    load: Load, rows: list[tuple[str, str]]
) -> None:
    straight = load(data=write_relation(("ID", "X"), rows))
    turned = load(data=write_relation(("x", "id"), [(number, text) for text, number in rows]))
    assert straight.workflow.datasets == turned.workflow.datasets
    assert straight.workflow.datasets[0].rows == tuple(rows)


@same_files
@given(data=st.binary() | st.text(alphabet='ID;X\n"1a\r').map(str.encode))
def test_any_bytes_are_a_dataset_or_a_specification_error(load: Load, data: bytes) -> None:
    try:
        rows = load(data=data).workflow.datasets[0].rows
    except SpecificationError:
        return
    assert all(len(row) == 2 and float(row[1]) is not None for row in rows)


def test_an_extra_column_is_ignored_with_a_warning(load: Load, tmp_path: Path) -> None:
    loaded = load(data="ID;NOTE;X\na;b;1\n")
    assert loaded.workflow.datasets[0].rows == (("a", "1"),)
    expected = f"{tmp_path / 'numbers.txt'}:1: column NOTE is no field of numbers: it is ignored"
    assert loaded.warnings == (expected,)


def test_a_missing_column_is_told_with_what_is_there(broken: Broken, tmp_path: Path) -> None:
    (defect,) = broken(data="\nIDS;X\na;1\n")
    assert (defect.file, defect.line) == (str(tmp_path / "numbers.txt"), 2)
    assert defect.found == "a header without ID: IDS;X"
    assert defect.expected == "all fields of the relation: ID;X; did you mean IDS?"


def test_a_column_twice_is_told(broken: Broken) -> None:
    assert told(broken(data="ID;X;id\n")) == [(1, "column id twice", "every column once")]


def test_a_row_of_another_width_is_told_with_the_way_to_quote(broken: Broken) -> None:
    defects = told(broken(data="ID;X\na;1\nb;c;2\n\nd\n"))
    expected = '2, as in the header; a value with ";" goes in double quotes'
    assert defects == [(3, "3 values", expected), (5, "1 values", expected)]


@pytest.mark.parametrize("text", ["", "one", "nan", "inf", "-Infinity", "1e999", "1,5", "1_0", "٣"])
def test_a_float_must_be_a_finite_number(text: str, broken: Broken) -> None:
    ((line, found, expected),) = told(broken(data=f"ID;X\na;0\nb;{text}\n"))
    assert (line, found) == (3, f"{text!r} in the float field X")
    assert expected == "a finite number with a decimal point, e.g. 3 or 2.5e-1"


def test_after_twenty_rows_the_rest_is_counted(broken: Broken) -> None:
    defects = told(broken(data="ID;X\n" + "a;b\n" * 25))
    assert len(defects) == 21
    assert defects[19][:2] == (21, "'b' in the float field X")
    assert defects[20][:2] == (22, "5 more problems from here on")


def test_an_open_quote_does_not_swallow_the_rows_behind_it(broken: Broken) -> None:
    ((line, found, expected),) = told(broken(data='X;ID\n1;"a\n2;b\n3;c\n'))
    assert line == 2
    assert "begins here" in found
    assert "double quotes closed" in expected


def test_an_empty_file_is_told_with_the_header_it_needs(broken: Broken) -> None:
    assert told(broken(data="\n")) == [(1, "an empty file", "a header line: ID;X")]


def test_text_that_is_not_utf8_is_told_with_its_line(broken: Broken) -> None:
    assert told(broken(data=b"ID;X\na;1\n\xe9;2\n")) == [
        (3, "byte 0xe9, which is not UTF-8", "text in UTF-8")
    ]


def test_a_nul_character_is_refused(broken: Broken) -> None:
    assert told(broken(data="ID;X\na\x00;1\n"))[0][:2] == (2, "a NUL character")


def test_a_missing_dataset_is_told_at_the_line_that_names_it(
    broken: Broken, tmp_path: Path
) -> None:
    (defect,) = broken(("numbers.txt", "in/none.txt"))
    assert (defect.file, defect.line) == (str(tmp_path / "workflow.xml"), 13)
    assert defect.found == f"the dataset {tmp_path}/in/none.txt, which cannot be read: not there"


def test_a_relation_finds_its_dataset_whatever_the_case_of_its_name(load: Load) -> None:
    loaded = load(('<relation name="numbers"', '<relation name="NUMBERS"'))
    assert loaded.workflow.datasets[0].relation.name == "numbers"
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("places", "written", "read"),
    [
        ("0", "3.7", "4"),
        ("0", "-0.2", "-0"),
        ("2", "3.14159", "3.14"),
        ("3", "2e-1", "0.200"),
        ("1", "1e3", "1000.0"),
    ],
)
def test_decimalplaces_say_how_a_float_is_written(
    places: str, written: str, read: str, load: Load
) -> None:
    decimals = ('"X" type="float"', f'"X" type="float" decimalplaces="{places}"')
    loaded = load(decimals, data=f"ID;X\na;{written}\n")
    assert loaded.workflow.datasets[0].rows == (("a", read),)


def test_without_decimalplaces_a_float_stays_as_it_is_written(load: Load) -> None:
    loaded = load(data="ID;X\na;007.10\nb;1e3\n")
    assert loaded.workflow.datasets[0].rows == (("a", "007.10"), ("b", "1e3"))


def test_a_quoted_value_may_hold_separators_quotes_and_line_ends(load: Load) -> None:
    loaded = load(data='ID;X\n"a;""b""\nc";1\nd;2\n')
    assert loaded.workflow.datasets[0].rows == (('a;"b"\nc', "1"), ("d", "2"))


def test_lines_are_counted_in_the_file_also_behind_values_of_several_lines(broken: Broken) -> None:
    ((line, _, _),) = told(broken(data='ID;X\n"a\n\nb";1\n\nc;two\n'))
    assert line == 6


NEEDS = {
    "runtime": ("-1", "a number from 0 up: the activity's runtime"),
    "memory": ("-0.5", "a number from 0 up: the activity's memory"),
    "cpus": ("1.5", "a whole number from 1 up: the activity's cpus"),
}


@pytest.mark.parametrize("need", NEEDS)
def test_a_field_that_tells_what_an_activation_needs_must_make_sense(
    need: str, broken: Broken
) -> None:
    bad, expected = NEEDS[need]
    defects = broken(('"MAP"', f'"MAP" {need}="%=x%"'), data=f"ID;X\na;1\nb;{bad}\n")
    assert told(defects) == [(3, f"'{bad}' in the float field X", expected)]


@pytest.mark.parametrize("need", NEEDS)
@pytest.mark.parametrize("value", ["nan", "inf", "", "soon"])
def test_and_no_need_is_not_a_number(need: str, value: str, broken: Broken) -> None:
    ((line, found, _),) = told(broken(('"MAP"', f'"MAP" {need}="%=X%"'), data=f"ID;X\na;{value}\n"))
    assert (line, found) == (2, f"{value!r} in the float field X")


def test_a_runtime_of_nothing_is_fine(load: Load) -> None:
    loaded = load(('"MAP"', '"MAP" runtime="%=X%" memory="%=X%"'), data="ID;X\na;0\n")
    assert loaded.workflow.datasets[0].rows == (("a", "0"),)


def test_a_directory_is_no_dataset(broken: Broken) -> None:
    (defect,) = broken(("numbers.txt", "../"))
    assert "not a file" in defect.found
