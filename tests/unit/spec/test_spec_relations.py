"""Who feeds whom: inputs, outputs, dependencies, and the knots in them."""

from __future__ import annotations

from textwrap import dedent

import pytest

from scicore.model.workflow import Source
from tests.unit.spec.loader import Broken, Load, the_only


def chain(*links: tuple[str, str, str], operator: str = "MAP", command: str = "p") -> str:
    """A workflow of activities (tag, input attributes, output name) with one field each."""
    activities = "\n".join(
        f'<activity tag="{tag}" type="{operator}" activation="{command}">'
        + "".join(f'<relation reltype="Input" {source}/>' for source in sources.split("|"))
        + f'<relation reltype="Output" name="{output}"/>'
        f'<field name="F" type="string" output="{output}"/></activity>'
        for tag, sources, output in links
    )
    return (
        f'<SciCumulus><conceptualWorkflow tag="w">\n{activities}\n</conceptualWorkflow>'
        '<executionWorkflow tag="x"/></SciCumulus>'
    )


def query(*links: tuple[str, str, str]) -> str:
    return chain(*links, operator="MR_QUERY", command="SELECT 1 AS f")


def test_a_cycle_is_told_as_the_path_it_takes(broken: Broken) -> None:
    xml = chain(("a", 'dependency="c"', "oa"), ("b", 'name="oa"', "ob"), ("c", 'name="ob"', "oc"))
    defect = the_only(broken(xml=xml))
    assert (defect.line, defect.found) == (2, "the cycle a → b → c → a")
    assert "take one input away" in defect.expected


def test_an_activity_that_feeds_itself_is_a_cycle(broken: Broken) -> None:
    assert the_only(broken(xml=chain(("a", 'name="o"', "o")))).found == "the cycle a → a"
    assert the_only(broken(xml=chain(("a", 'dependency="a"', "o")))).found == "the cycle a → a"


def test_a_cycle_through_a_second_input_of_a_query_is_a_cycle(broken: Broken) -> None:
    xml = query(
        ("a", 'dependency="b"', "oa"),
        ("b", 'name="oc"|name="oa"', "ob"),
        ("c", 'dependency="a"', "oc"),
    )
    (defect,) = broken(xml=xml)
    assert defect.line == 2
    assert defect.found in ("the cycle a → b → a", "the cycle a → c → b → a")


def test_every_knot_is_told(broken: Broken) -> None:
    xml = chain(
        ("a", 'dependency="b"', "oa"),
        ("b", 'dependency="a"', "ob"),
        ("c", 'dependency="c"', "oc"),
    )
    told = {(defect.line, defect.found) for defect in broken(xml=xml)}
    assert told == {(2, "the cycle a → b → a"), (4, "the cycle c → c")}


def test_duplicate_tags_and_outputs_are_told_at_the_second_one(broken: Broken) -> None:
    xml = chain(("a", 'dependency="b"', "o"), ("b", 'dependency="a"', "o"), ("b", 'name="o"', "p"))
    told = {(defect.line, defect.found) for defect in broken(xml=xml)}
    assert (3, "a second output relation called o") in told
    assert (4, "a second activity with the tag b") in told


def test_a_name_and_a_dependency_must_not_contradict_each_other(broken: Broken) -> None:
    xml = chain(
        ("a", 'dependency="b"', "oa"),
        ("b", 'dependency="a"', "ob"),
        ("c", 'name="oa" dependency="b"', "oc"),
    )
    defect = next(defect for defect in broken(xml=xml) if defect.line == 4)
    assert defect.expected == "one of the two: oa is what activity a produces"


def test_a_blank_is_no_name(broken: Broken) -> None:
    second = (
        '<activity tag="second" type="MAP" activation="p"><relation reltype="Input" name=" "'
        ' dependency="square"/><relation reltype="Output" name="o"/></activity>'
        "</conceptualWorkflow>"
    )
    defect = the_only(broken(("</conceptualWorkflow>", second)))
    assert (defect.line, defect.found) == (11, 'name=" "')


def test_relations_that_differ_only_in_case_would_be_one_in_sql(broken: Broken) -> None:
    second = (
        '<activity tag="second" type="MAP" activation="p"><relation reltype="Input"'
        ' name="squares"/>\n<relation reltype="Output" name="Numbers"/>'
        '<field name="F" type="string" output="Numbers"/></activity></conceptualWorkflow>'
    )
    defect = the_only(broken(("</conceptualWorkflow>", second)))
    assert (defect.line, defect.found) == (11, "the relation Numbers beside numbers")
    assert "one spelling" in defect.expected


JOIN = (
    "</conceptualWorkflow>",
    dedent("""\
    <activity tag="join" type="MR_QUERY"
     activation="SELECT n.id, s.y FROM numbers n JOIN sq s ON s.id = n.id">
    <relation reltype="Input" name="numbers"/>
    <relation reltype="Input" name="sq" dependency="square"/>
    <relation reltype="Output" name="joined"/>
    <field name="ID" type="string" input="numbers" output="joined"/>
    <field name="ID" type="string" input="sq"/>
    <field name="Y" type="float" input="squares" output="joined"/>
    </activity></conceptualWorkflow>"""),
)


def test_mr_query_reads_several_relations_by_its_own_names(load: Load) -> None:
    loaded = load(JOIN)
    square, join = loaded.workflow.activities
    assert (join.input.name, join.producer, join.alias) == ("numbers", None, "")
    assert join.also_reads == (Source(square.output, "square", "sq"),)
    assert join.output.field_names == ("ID", "Y")
    assert loaded.warnings == ()


def test_mr_query_waits_for_all_that_it_reads(load: Load) -> None:
    join = JOIN[1].removesuffix("</conceptualWorkflow>")
    loaded = load(('<activity tag="square"', f'{join}<activity tag="square"'))
    assert [each.tag for each in loaded.workflow.activities] == ["square", "join"]


def test_two_inputs_of_a_query_need_two_names(broken: Broken) -> None:
    defects = broken(JOIN, ('name="sq" dependency="square"', 'name="numbers"'))
    defect = defects[0]
    assert (defect.line, defect.found) == (14, "a second input called numbers in activity join")
    assert defect.expected == "every input once; a query may use it as often as it likes"


@pytest.mark.parametrize("operator", ["MAP", "SPLIT_MAP", "FILTER", "SR_QUERY"])
def test_only_mr_query_reads_several_relations(operator: str, broken: Broken) -> None:
    defects = broken(JOIN, ("MR_QUERY", operator))
    told = [(defect.line, defect.found) for defect in defects]
    assert (14, "one more Input relation in activity join") in told


def test_a_second_output_is_told(broken: Broken) -> None:
    output = '<relation reltype="Output" name="squares"/>'
    more = output.replace("squares", "more")
    defects = broken((output, f"{output}\n{more}"))
    assert (7, "one more Output relation in activity square") in [
        (defect.line, defect.found) for defect in defects
    ]


def test_an_input_dataset_without_a_single_field_is_told(broken: Broken) -> None:
    defect = the_only(
        broken(
            (' input="numbers"', ""),
            ("%=ID% %=X%", ""),
            ('<field name="X" type="float"/>', ""),
        )
    )
    assert (defect.line, defect.found) == (5, "the input numbers without fields")
    assert defect.expected == 'at least one <field … input="numbers"/>'


@pytest.mark.parametrize("operator", ["SPLIT_MAP", "FILTER", "SR_QUERY", "MR_QUERY"])
def test_an_operator_that_counts_tuples_needs_fields_to_put_them_in(
    operator: str, broken: Broken
) -> None:
    defect = the_only(
        broken(
            ('"MAP"', f'"{operator}"'),
            ("bin/square %=ID% %=X%", "SELECT 1"),
            (' output="squares"', ""),
            ('<field name="Y" type="float"/>', ""),
        )
    )
    assert (defect.line, defect.expected) == (6, 'at least one <field … output="squares"/>')


def test_a_map_may_be_run_for_its_effect_alone(load: Load) -> None:
    loaded = load((' output="squares"', ""), ('<field name="Y" type="float"/>', ""))
    assert loaded.workflow.activities[0].output.fields == ()
