"""What is no WfFormat: told with its lines, and nothing worse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scicore.errors import Defect, SpecificationError
from scicore.spec.wfformat import read_wfformat
from tests.unit.spec.wfformat.documents import NEW, OLD, Broken, Load, runs_of, tasks_of


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_runtime_that_is_no_finite_number_is_refused(
    word: str, broken: Broken, new: dict[str, Any]
) -> None:
    runs_of(new)[1]["runtimeInSeconds"] = 123456
    text = json.dumps(new, indent=1).replace("123456", word)
    (defect,) = broken(text)
    line = text[: text.index(word)].count("\n") + 1
    assert line - 2 <= defect.line <= line
    assert word in defect.found or "out of range" in defect.found


def test_all_wrong_types_are_told_with_their_lines(broken: Broken, new: dict[str, Any]) -> None:
    tasks_of(new)[0]["parents"] = [7]
    runs_of(new)[0]["runtimeInSeconds"] = "fast"
    new["workflow"]["specification"]["files"][1] = {"sizeInBytes": 1}
    defects = broken(new)
    assert [defect.found for defect in defects] == [
        "`int` at workflow.specification.tasks[0].parents[0]",
        "Object missing required field `id` in workflow.specification.files[1]",
        "`str` at workflow.execution.tasks[0].runtimeInSeconds",
    ]
    assert defects[0].expected == "`str`"
    lines = json.dumps(new, indent=1).split("\n")
    assert lines[defects[0].line - 1].strip() == "{"
    assert '"name": "join_ID2"' in lines[defects[0].line]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "truncated"),
        ("{", "truncated"),
        ('{"workflow": {}', "truncated"),
        ('{"workflow":\n {"tasks": [,]}}', "malformed"),
        ("[]", "`array` at the top"),
        ("{}", "missing required field `workflow`"),
        ('{"workflow": 1}', "`int` at workflow"),
        ('{"workflow": {}}', "without tasks"),
        ('{"workflow": {"tasks": []}}', "without tasks"),
        ('{"workflow": {"specification": {"tasks": []}}}', "without tasks"),
        ('{"workflow": {"specification": {"tasks": {}}}}', "`object` at workflow.specification"),
        ('{"workflow": {"tasks": [{"name": ""}]}}', "length >= 1"),
        ('{"workflow": {"tasks": [{"name": "\\ud800"}]}}', "cannot be read"),
        ('{"workflow": ' + "[" * 100_000 + "]" * 100_000 + "}", "recursion"),
    ],
)
def test_what_is_no_wfformat_is_one_defect(text: str, found: str, broken: Broken) -> None:
    (defect,) = broken(text)
    assert found in f"{defect.found} {defect.expected}"


def test_duplicates_unknown_parents_loops_and_cycles_are_told(
    broken: Broken, new: dict[str, Any]
) -> None:
    tasks = tasks_of(new)
    tasks[1]["parents"] = ["join_ID2", "ghost", "split_ID1"]
    tasks.append({"name": "again", "id": "join_ID2"})
    assert {defect.found for defect in broken(new)} == {
        "the cycle split_ID1 → join_ID2 → split_ID1",
        "task split_ID1 as its own parent",
        "an edge from ghost, which is no task",
        "a second task with the id join_ID2",
    }


def test_a_size_that_no_file_can_have_is_refused(broken: Broken, new: dict[str, Any]) -> None:
    new["workflow"]["specification"]["files"][0]["sizeInBytes"] = 10**40
    (defect,) = broken(new)
    assert "a size in bytes that a file can have" in defect.expected


def test_a_byte_order_mark_does_no_harm(load: Load, new: dict[str, Any]) -> None:
    assert len(load("\ufeff" + json.dumps(new)).tasks) == 2


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="no readable file"):
        read_wfformat(tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    document=st.sampled_from([json.dumps(NEW, indent=1), json.dumps(OLD, indent=1)]),
    at=st.integers(0, 1500),
    cut=st.integers(0, 30),
    put=st.text(alphabet='{}[]",:0-e.nul ab\n\\', max_size=12),
)
def test_any_slip_of_the_keyboard_gives_a_trace_or_a_specification_error(
    load: Load, document: str, at: int, cut: int, put: str
) -> None:
    slipped = document[:at] + put + document[at + cut :]
    defects: tuple[Defect, ...] = ()
    try:
        load(slipped)
    except SpecificationError as error:
        defects = error.defects
    assert all(0 <= defect.line <= slipped.count("\n") + 1 for defect in defects)
