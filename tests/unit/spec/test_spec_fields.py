"""Fields: their types, their decimals, their files, and whom they belong to."""

from __future__ import annotations

import pytest

from scicore.model.workflow import Field, FieldType, FileOperation, Staging
from tests.unit.spec.loader import Broken, Load


def consumer(fields: str, operator: str = "MAP") -> tuple[str, str]:
    """A second activity, which reads what the first one gives; its fields begin in line 12."""
    return (
        "</conceptualWorkflow>",
        f'<activity tag="next" type="{operator}" activation="p">'
        '<relation reltype="Input" name="alias" dependency="square"/>'
        '<relation reltype="Output" name="o"/><field name="F" type="string" output="o"/>'
        f"\n{fields}</activity></conceptualWorkflow>",
    )


MISTAKES = {
    "an unknown type": (('"Y" type="float"', '"Y" type="flaot"'), 9, 'type="flaot"', "mean float"),
    "a field without type": (('"Y" type="float"', '"Y"'), 9, "<field> with no type", "type="),
    "a field of another output": (
        ('"Y" type="float" output="squares"', '"Y" type="float" output="q"'),
        *(9, 'field Y with output="q"', "the output of activity square: squares"),
    ),
    "a field of no relation": (
        ('"Y" type="float" output="squares"', '"Y" type="float"'),
        *(9, "field Y in no relation", 'input="numbers"'),
    ),
    "a field twice": (
        ('name="Y" type="float"', 'name="id" type="string"'),
        *(9, "a second field id in relation squares", "every field once, whatever its case"),
    ),
    "a field named like a directory": (
        ('"Y"', '"wfdir"'),
        *(9, "a field called wfdir", "another name: WFDIR is a directory"),
    ),
    "a field named like a column of all relations": (
        ('"Y"', '"EwkfId"'),
        *(9, "a field called EwkfId", "another name: EWKFID is a column of every relation"),
    ),
    "half a decimal": (
        ('"Y" type="float"', '"Y" type="float" decimalplaces="1.5"'),
        *(9, 'decimalplaces="1.5"', "a whole number from 0 to 99"),
    ),
    "more decimals than memory": (
        ('"Y" type="float"', '"Y" type="float" decimalplaces="999999999"'),
        *(9, 'decimalplaces="999999999"', "a whole number from 0 to 99"),
    ),
    "an unknown operation": (
        ('"Y" type="float"', '"Y" type="file" operation="COPPY"'),
        *(9, 'operation="COPPY"', "COPY, MOVE, COPY_DELETE or MOVE_DELETE; did you mean COPY?"),
    ),
    "a maybe": (
        ('"Y" type="float"', '"Y" type="file" instrumented="maybe"'),
        *(9, 'instrumented="maybe"', "true or false"),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_field_is_one_defect_with_its_line(mistake: str, broken: Broken) -> None:
    change, line, found, expected = MISTAKES[mistake]
    (defect,) = broken(change)
    assert (defect.line, defect.found) == (line, found)
    assert expected in defect.expected


def test_a_field_of_another_input_is_told_and_what_it_entails(broken: Broken) -> None:
    tag, field = broken(('"X" type="float" input="numbers"', '"X" type="float" input="n"'))
    assert (tag.line, tag.found) == (4, "the tag %=X% in activation")
    assert (field.line, field.found) == (8, 'field X with input="n"')
    assert field.expected == "the input of activity square: numbers"


def test_an_input_field_must_be_in_the_producers_output(broken: Broken) -> None:
    (defect,) = broken(consumer('<field name="YY" type="float" input="alias"/>'))
    assert (defect.line, defect.expected) == (12, "one of ID, Y; did you mean Y?")
    assert "squares, which has no such field" in defect.found


def test_an_input_field_must_have_its_producers_type(broken: Broken) -> None:
    (defect,) = broken(consumer('<field name="Y" type="file" input="squares"/>'))
    assert (defect.found, defect.expected) == (
        "field Y of squares as file",
        "float, as it is declared elsewhere",
    )


def test_a_field_of_the_producer_may_be_repeated_without_saying_where(load: Load) -> None:
    assert load(consumer('<field name="y" type="float"/>')).warnings == ()


def test_decimalplaces_belong_to_the_field(load: Load) -> None:
    loaded = load(('"Y" type="float"', '"Y" type="float" decimalplaces="2"'))
    assert loaded.workflow.activities[0].output.fields[1] == Field("Y", FieldType.FLOAT, 2)


def test_two_readers_of_a_dataset_need_not_both_say_its_decimalplaces(load: Load) -> None:
    second = (
        '<activity tag="second" type="MAP" activation="p"><relation reltype="Input"'
        ' name="numbers"/><relation reltype="Output" name="o"/><field name="X" type="float"'
        ' input="numbers" output="o" decimalplaces="1"/></activity></conceptualWorkflow>'
    )
    loaded = load(("</conceptualWorkflow>", second))
    assert loaded.workflow.datasets[0].rows == (("a", "1.0"),)
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("declared", "told"),
    [("", "without decimalplaces"), (' decimalplaces="3"', "with decimalplaces=3")],
)
def test_a_reader_cannot_change_decimalplaces_and_is_told(
    declared: str, told: str, load: Load
) -> None:
    loaded = load(
        ('"Y" type="float"', f'"Y" type="float"{declared}'),
        consumer('<field name="Y" type="float" input="alias" decimalplaces="1"/>'),
    )
    (warning,) = loaded.warnings
    assert f":12: decimalplaces of field Y has no effect: squares has it {told}" in warning


@pytest.mark.parametrize(
    ("attribute", "type_", "belongs_to"),
    [
        ('decimalplaces="0"', "string", "float"),
        ('operation="COPY"', "float", "file"),
        ('instrumented="true"', "string", "file"),
    ],
)
def test_an_attribute_of_another_type_is_a_warning(
    attribute: str, type_: str, belongs_to: str, load: Load
) -> None:
    loaded = load(('"Y" type="float"', f'"Y" type="{type_}" {attribute}'))
    name = attribute.partition("=")[0]
    (warning,) = loaded.warnings
    assert f":9: {name} of field Y has no effect: it is for {belongs_to} fields" in warning
    activity = loaded.workflow.activities[0]
    assert activity.output.fields[1] == Field("Y", FieldType(type_))


FILE = ('"ID" type="string"', '"ID" type="file" operation="{operation}" instrumented="{flag}"')


@pytest.mark.parametrize("operation", [*FileOperation, "copy", "Move_Delete", "", " "])
@pytest.mark.parametrize("flag", ["true", "false", "T", "f", ""])
def test_an_input_file_is_staged_as_its_field_says(operation: str, flag: str, load: Load) -> None:
    loaded = load((FILE[0], FILE[1].format(operation=operation, flag=flag)), data="ID;X\n;1\n")
    instrumented = flag in ("true", "T")
    known = FileOperation(operation.upper()) if operation.strip() else None
    expected = (Staging("ID", known, instrumented),) if known or instrumented else ()
    assert loaded.workflow.activities[0].staging == expected
    assert loaded.warnings == ()


def test_a_field_that_an_activity_makes_is_staged_by_its_readers_not_by_itself(load: Load) -> None:
    made = ('name="Y" type="float"', 'name="Y" type="file" operation="COPY"')
    loaded = load(made, consumer('<field name="y" type="file" input="alias"/>'))
    square, following = loaded.workflow.activities
    assert square.staging == ()
    assert following.staging == (Staging("Y", FileOperation.COPY),)


def test_a_reader_has_the_last_word_and_the_relation_the_spelling(load: Load) -> None:
    made = ('name="Y" type="float"', 'name="Y" type="file" operation="COPY"')
    own = '<field name="y" type="file" input="alias" operation="MOVE" instrumented="true"/>'
    loaded = load(made, consumer(own))
    assert loaded.workflow.activities[1].staging == (Staging("Y", FileOperation.MOVE, True),)


def test_a_wrong_operation_is_told_once_however_many_read_the_file(broken: Broken) -> None:
    made = ('name="Y" type="float"', 'name="Y" type="file" operation="COPPY"')
    again = consumer("")[1].replace('"next"', '"third"').replace('"o"', '"p"')
    (defect,) = broken(made, consumer(""), ("</conceptualWorkflow>", again))
    assert defect.line == 9


def test_a_field_made_by_one_extractor_of_many_is_explained(load: Load) -> None:
    (warning,) = load(('"Y" type="float"', '"Y" type="float" extractor="e1"')).warnings
    assert "extractor of <field> has no effect: the activity's extractor makes all" in warning
