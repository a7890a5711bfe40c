"""Dataset files: which are tuples, and what is said about the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scicore.algebra.relation_text import write_relation
from scicore.errors import Defect, SpecificationError
from scicore.spec import Loaded

Load = Callable[..., Loaded]
Broken = Callable[..., tuple[Defect, ...]]
Told = list[tuple[int, str, str]]

values = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), min_size=1, max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False).map(repr)
same_files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def told(defects: tuple[Defect, ...]) -> Told:
    return [(defect.line, defect.found, defect.expected) for defect in defects]


def test_a_header_alone_is_a_dataset_without_tuples(load: Load) -> None:
    assert load(data="ID;X\n").workflow.datasets[0].rows == ()


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


def test_a_directory_is_no_dataset(broken: Broken) -> None:
    (defect,) = broken(("numbers.txt", "../"))
    assert "not a file" in defect.found
