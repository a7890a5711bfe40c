"""Functions and programs that serve many activations, as the specification has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from scicore.model.workflow import Batch
from scicore.spec.scicumulus_xml import load_workflow
from scicore.spec.write import write_workflow
from tests.unit.spec.loader import Broken, Load

COMMAND = 'activation="bin/square %=ID% %=X%"'
FUNCTION = 'activation="python:squares.square"'
STDIN = 'activation="bin/square %=WFDIR%" batch="stdin"'


def test_a_function_is_a_command(load: Load, tmp_path: Path) -> None:
    (tmp_path / "squares.py").touch()
    (activity,) = load((COMMAND, FUNCTION)).workflow.activities
    assert activity.function == "squares.square"
    assert activity.warm
    assert not activity.own_workspaces


def test_its_module_may_be_in_a_package(load: Load, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/squares.py").touch()
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack/__init__.py").touch()
    load((COMMAND, 'activation="python:bin.squares.square"'))
    load((COMMAND, 'activation="python:pack.square"'))


def test_a_program_may_read_tuples_from_stdin(load: Load) -> None:
    (activity,) = load((COMMAND, STDIN.replace("stdin", "STDIN"))).workflow.activities
    assert activity.batch is Batch.STDIN
    assert activity.warm


def test_what_is_written_can_be_read_again(load: Load, tmp_path: Path) -> None:
    workflow = load((COMMAND, STDIN)).workflow
    path = write_workflow(workflow, tmp_path / "again")
    assert load_workflow(path).workflow.activities == workflow.activities


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (FUNCTION, "whose module"),
        ('activation="python:square"', 'activation="python:square"'),
        ('activation="python:squares.%=ID%"', "%=ID%"),
        ('activation="python:squares.class"', "squares.class"),
        ('activation="python: squares.square"', "python: squares"),
        ('activation="bin/square %=ID%" batch="stdin"', "the tag %=ID%"),
        ('activation="bin/square" batch="lines"', 'batch="lines"'),
        (FUNCTION + ' batch="stdin"', "with a Python function"),
        ('activation="bin/square" batch="stdin" template="t"', "with a template"),
        ('activation="bin/square" batch="stdin" extractor="bin/x"', "with an extractor"),
    ],
)
def test_what_cannot_work_is_told(broken: Broken, command: str, found: str) -> None:
    defects = broken((COMMAND, command))
    assert any(found in defect.found and defect.line == 4 for defect in defects), defects


@pytest.mark.parametrize("operator", ["REDUCE", "SR_QUERY"])
def test_operators_that_gather_are_refused(broken: Broken, operator: str, tmp_path: Path) -> None:
    (tmp_path / "squares.py").touch()
    changes = (COMMAND, FUNCTION + ' operand="ID"'), ('type="MAP"', f'type="{operator}"')
    assert broken(*changes)


def test_variables_of_a_process_know_no_fields(broken: Broken) -> None:
    variable = '<environment name="A" value="%=ID%"/>'
    (defect,) = broken((COMMAND, STDIN), ("</activity>", f"{variable}</activity>"))
    assert "the tag %=ID%" in defect.found


def test_files_of_a_program_on_stdin_are_not_staged(broken: Broken) -> None:
    field = ('name="X" type="float"', 'name="X" type="file" operation="COPY"')
    defects = broken((COMMAND, STDIN), field, data="ID;X\na;numbers.txt\n")
    assert any("files to be staged: X" in defect.found for defect in defects)
