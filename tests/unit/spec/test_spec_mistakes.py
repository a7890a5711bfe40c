"""Mistakes in a specification: all told, with their lines and with what to write instead."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from scicore.errors import SpecificationError
from scicore.spec import load_workflow
from scicore.spec.scicumulus_xml import inspect_workflow
from tests.unit.spec.loader import Broken, Load, the_only


def test_all_defects_are_told_at_once_in_the_order_of_their_lines(broken: Broken) -> None:
    defects = broken(
        ('type="LOCAL"', 'type="MOON"'),
        ('type="MAP"', 'type="MAPP"'),
        ("%=X%", "%=XX%"),
        ('name="Y" type="float"', 'name="Y" type="flat"'),
        ('"demo-1"', '"demo-1" max_failure="many"'),
        ("numbers.txt", "nowhere.txt"),
    )
    assert [defect.line for defect in defects] == [2, 4, 4, 9, 12, 13]
    assert defects[1].found == 'type="MAPP"'
    operators = "MAP, SPLIT_MAP, FILTER, REDUCE, SR_QUERY or MR_QUERY"
    assert defects[1].expected == f"{operators}; did you mean MAP?"
    assert defects[4].found == 'max_failure="many"'


# One mistake each: what is changed in the valid text, the line, and words of the message.
MISTAKES = {
    "an unknown operator": ('"MAP"', '"JOIN"', 4, 'type="JOIN"', "SPLIT_MAP"),
    "an operand without REDUCE": ('"MAP"', '"MAP" operand="ID"', 4, "MAP", "REDUCE only"),
    "REDUCE without operand": ('"MAP"', '"REDUCE"', 4, "without an operand", "group by"),
    "an unknown operand": ('"MAP"', '"REDUCE" operand="IDD"', 4, "IDD", "did you mean ID?"),
    "an operator of the original that is none of ours":
        ('"MAP"', '"EVALUATE"', 4, 'type="EVALUATE"', "MAP, SPLIT_MAP"),
    "an activity name for a path": ('"square"', '"../up"', 4, "../up", "letters"),
    "an activity name with a dot": ('"square"', '"s.1"', 4, 's.1', "letters, digits, _ or -"),
    "a long activity name": ('"square"', f'"{"a" * 64}"', 4, "aaa", "62"),
    "a relation name with a dot": ('"squares"', '"s.q"', 6, "s.q", "letters"),
    "a field name with a blank": ('"Y"', '"Y Z"', 9, "Y Z", "letters"),
    "a relation name with a dash": ('"squares"', '"s-q"', 6, "s-q", "letters, digits or _"),
    "an unknown reltype": ('"Output" n', '"Outputs" n', 6, "Outputs", "did you mean Output?"),
    "an unknown dependency": ('name="numbers"/>', 'dependency="sqare"/>',
                              5, "sqare", "another activity"),
    "a dependency of an output": ('"squares"/>', '"squares" dependency="x"/>',
                                  6, "Output with a dependency", "Input"),
    "an input without anything": ('name="numbers"/>\n', "/>\n", 5, "without name", "dependency"),
    "an output without name": (' name="squares"', "", 6, "without a name", "name"),
    "an activity without tag": (' tag="square"', "", 4, "no tag", "tag="),
    "an empty command": ("bin/square %=ID% %=X%", "", 4, "empty activation", "activation="),
    "a dataset without file": (' filename="numbers.txt"', "", 13, "no filename", "filename="),
    "an unknown element": ("<environment", "<enviroment", 2, "<enviroment>", "mean environment"),
    "an element in a wrong place": ("</activity>", "<vm/></activity>",
                                    10, "<vm> inside <activity>", "<relation>, <field>"),
    "no attempts": ('"demo-1"', '"demo-1" max_failure="0"', 12, '"0"', "from 1 up"),
    "attempts in full": ('"demo-1"', '"demo-1" max_failure="3.0"', 12, '"3.0"', "from 1 up"),
    "a foreign tag in a path": ('"demo-1"', '"demo-1" expdir="%=ID%"', 12, "%=ID%", "%=WFDIR%"),
    "two datasets": ('"numbers.txt"/>', '"numbers.txt"/>\n<relation name="numbers" filename="x"/>',
                     14, "second dataset", "one"),
    "another root": ("SciCumulus>", "Workflow>", 1, "<Workflow>", "<SciCumulus>"),
    "a second environment": ("<conc", "<environment type='LOCAL'/><conc", 3, "second", "one"),
    "two algorithms": ("<exec", "<algorithm>a</algorithm><algorithm>b</algorithm><exec",
                       12, "one more <algorithm>", "whole workflow"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_its_line_and_with_what_to_write(
    mistake: str, broken: Broken
) -> None:
    old, new, line, found, expected = MISTAKES[mistake]
    matching = [defect for defect in broken((old, new)) if defect.line == line]
    assert any(found in each.found and expected in each.expected for each in matching), matching


def test_a_missing_input_or_output_is_told_at_the_activity(broken: Broken) -> None:
    defect = the_only(broken(('<relation reltype="Input" name="numbers"/>', "")))
    expected = "exactly one Input relation per activity; MR_QUERY alone reads several"
    assert (defect.line, defect.expected) == (4, expected)
    assert "square" in defect.found


def test_a_second_input_is_told_where_it_stands(broken: Broken) -> None:
    relation = '<relation reltype="Input" name="numbers"/>'
    defect = broken((relation, f"{relation}\n{relation}"))[0]
    assert (defect.line, defect.found) == (6, "one more Input relation in activity square")


def test_an_input_that_nobody_gives_is_told_with_what_is_close(broken: Broken) -> None:
    defect = the_only(broken(('<relation name="numbers"', '<relation name="number"')))
    assert defect.line == 5
    assert "numbers" in defect.found
    assert "did you mean number?" in defect.expected


def test_a_missing_half_is_told_and_the_other_half_is_still_read(broken: Broken) -> None:
    xml = dedent("""\
        <SciCumulus>
          <conceptualWorkflow tag="empty"/>
        </SciCumulus>
        """)
    no_half, no_activity = broken(xml=xml)
    assert no_half.found == "no <executionWorkflow> inside <SciCumulus>"
    assert (no_activity.line, no_activity.found) == (2, "a workflow without activities")


def test_a_defect_points_at_its_attribute_in_a_tag_over_several_lines(broken: Broken) -> None:
    defect = the_only(broken(('type="MAP" ', '\n  description="a > b"\n  type="MAPP"\n  ')))
    assert (defect.line, defect.found) == (6, 'type="MAPP"')


def test_what_has_no_effect_is_a_warning_with_its_line(load: Load, tmp_path: Path) -> None:
    loaded = load(
        ("<conc", "<binary/><query/><query/>\n<conc"),
        ('"LOCAL"', '"LOCAL" verbose="true" cluster_name=""'),
        ('"demo-1"', '"demo-1" execmodel="DYN_FAF" max_failures="2" user_interaction="true"'),
        ('type="MAP"', 'type="MAP" constrained="true"'),
        ('filename="numbers.txt"/>', 'filename="numbers.txt"/><relation name="q" filename="q"/>'),
    )
    place = f"{tmp_path / 'workflow.xml'}"
    assert loaded.warnings == (
        f"{place}:2: verbose of <environment> has no effect: see --help",
        f"{place}:3: <binary> is not used: nothing has to be installed",
        f"{place}:3: <query> is not used: questions are asked by scicumulus query",
        f"{place}:3: <query> is not used: questions are asked by scicumulus query",
        f"{place}:5: constrained of <activity> has no effect: constraints on activities are not"
        " part of the language",
        f"{place}:13: <executionWorkflow> has no attribute max_failures: it is ignored;"
        " did you mean max_failure?",
        f"{place}:13: execmodel of <executionWorkflow> has no effect: tuples flow as soon as they"
        " are there, and the plan says where and in which order activations run, so that there is"
        " no FAF or FTF, STA or DYN to choose",
        f"{place}:13: user_interaction of <executionWorkflow> has no effect: every run can be"
        " steered: scicumulus cancel, pause",
        f"{place}:14: no activity reads the dataset relation q",
    )


@pytest.mark.parametrize(
    "nothing",
    [
        'user_interaction="false" redundancy="False" adaptive="TRUE" verbose="false"',
        'execmodel="" reliability="" exectag=""',
    ],
)
def test_asking_for_what_happens_anyway_is_no_warning(nothing: str, load: Load) -> None:
    assert load(('"demo-1"', f'"demo-1" {nothing}')).warnings == ()


def test_stray_text_and_stray_percent_signs_are_warnings(load: Load) -> None:
    loaded = load(("%=X%", "%=X% '{x %= 3}'"), ("</activity>", "hello</activity>"))
    percent, text = loaded.warnings
    assert "the text inside <activity> is ignored" in text
    assert "%= that is no tag" in percent


def test_inspecting_gives_defects_and_warnings_together(tmp_path: Path, load: Load) -> None:
    source = load().source.replace("%=X%", "%=XX%").replace('"LOCAL"', '"LOCAL" verbose="true"')
    (tmp_path / "bad.xml").write_text(source)
    bad = inspect_workflow(tmp_path / "bad.xml")
    assert bad.loaded is None
    assert (the_only(bad.defects).line, len(bad.warnings)) == (4, 1)
    assert "verbose" in bad.warnings[0]
    good = inspect_workflow(tmp_path / "workflow.xml")
    assert good.loaded == load()
    assert (good.defects, good.warnings) == ((), ())


def test_a_missing_file_is_told_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError) as caught:
        load_workflow(tmp_path / "none.xml")
    assert str(the_only(caught.value.defects)).startswith(f"{tmp_path / 'none.xml'}: found no read")
