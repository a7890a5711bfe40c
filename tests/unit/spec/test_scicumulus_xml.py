"""What the SciCumulus XML language means, and what is said about a text that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from scicore.errors import Defect, SpecificationError
from scicore.model.cloud import VmType
from scicore.model.workflow import Field, FieldType, Operator, Relation
from scicore.spec import Loaded, load_workflow
from scicore.spec.scicumulus_xml import inspect_workflow

Load = Callable[..., Loaded]
LoadFile = Callable[[Path], Loaded]
Broken = Callable[..., tuple[Defect, ...]]

FOUR_OPERATORS = dedent("""\
    <?xml version="1.0" encoding="UTF-8"?>
    <SciCumulus>
      <environment type="CLUSTER"/>
      <constraint workflow_exectag="sky-7"/>
      <workspace workflow_dir="sky"/>
      <conceptualWorkflow tag="sky" description="from files to a mosaic">
        <activity tag="merge" type="REDUCE" operand="band; FIELD" activation="bin/merge %=band%">
          <relation reltype="Input" dependency="select"/>
          <relation reltype="Output" name="merged"/>
          <field name="BAND" type="string" output="merged"/>
          <field name="TOTAL" type="float" output="merged"/>
        </activity>
        <activity tag="list-tiles" type="SPLIT_MAP" description="one tuple per tile"
                  activation="'%=WFDIR%/bin/list tiles' %=REGION%" extractor="bin/collect %=N%">
          <relation reltype="Input" name="regions"/>
          <relation reltype="Output" name="tiles"/>
          <field name="REGION" type="text" input="regions"/>
          <field name="N" type="int" input="regions"/>
          <field name="TILE" type="file" output="tiles"/>
          <field name="BAND" type="string" output="tiles"/>
        </activity>
        <activity tag="measure" type="MAP" activation="bin/measure %=TILE% %=EXPDIR%/out">
          <relation reltype="Input" name="in_measure" dependency="list-tiles"/>
          <relation reltype="Output" name="measured"/>
          <field name="tile" type="file" input="in_measure" output="measured"/>
          <field name="BAND" type="string" input="tiles" output="measured"/>
          <field name="FLUX" type="float" output="measured" decimalplaces="2"/>
        </activity>
        <activity tag="select" type="FILTER" activation="bin/select %=FLUX%">
          <relation reltype="Input" name="measured"/>
          <relation reltype="Output" name="selected"/>
          <field name="BAND" type="string" output="selected"/>
          <field name="FIELD" type="string" output="selected"/>
        </activity>
      </conceptualWorkflow>
      <executionWorkflow tag="sky-7" expdir="%=WFDIR%/exp" max_failure="2" redundancy="false">
        <relation name="regions" filename="in/regions.txt"/>
        <algorithm> q-learning </algorithm>
      </executionWorkflow>
    </SciCumulus>
    """)


def the_only(defects: tuple[Defect, ...]) -> Defect:
    assert len(defects) == 1, "\n".join(map(str, defects))
    return defects[0]


@pytest.fixture
def sky(tmp_path: Path, load_file: LoadFile) -> Loaded:
    (tmp_path / "sky/exp/in").mkdir(parents=True)
    (tmp_path / "sky/exp/in/regions.txt").write_text("N;REGION\n3;north\n4;south\n")
    (tmp_path / "sky.xml").write_text(FOUR_OPERATORS)
    return load_file(tmp_path / "sky.xml")


def test_activities_come_in_the_order_of_their_data(sky: Loaded) -> None:
    tags = [activity.tag for activity in sky.workflow.activities]
    assert tags == ["list-tiles", "measure", "select", "merge"]


def test_each_operator_and_its_command_arrive_as_written(sky: Loaded) -> None:
    activity = sky.workflow.activity("list-tiles")
    assert activity.operator is Operator.SPLIT_MAP
    assert activity.command == "'%=WFDIR%/bin/list tiles' %=REGION%"
    assert activity.extractor == "bin/collect %=N%"
    assert activity.description == "one tuple per tile"
    operators = [activity.operator for activity in sky.workflow.activities[1:]]
    assert operators == [Operator.MAP, Operator.FILTER, Operator.REDUCE]


def test_an_input_is_its_producers_output_whatever_its_alias(sky: Loaded) -> None:
    workflow = sky.workflow
    for consumer, producer in (
        ("measure", "list-tiles"),
        ("select", "measure"),
        ("merge", "select"),
    ):
        assert workflow.activity(consumer).producer == producer
        assert workflow.activity(consumer).input == workflow.activity(producer).output
    assert workflow.consumers("list-tiles", "tiles") == (workflow.activity("measure"),)


def test_operands_are_spelled_as_in_the_relation(sky: Loaded) -> None:
    assert sky.workflow.activity("merge").operand == ("BAND", "FIELD")


def test_type_aliases_become_our_types_and_columns_follow_the_fields(sky: Loaded) -> None:
    (dataset,) = sky.workflow.datasets
    regions = Relation("regions", (Field("REGION", FieldType.STRING), Field("N", FieldType.FLOAT)))
    assert dataset.relation == regions
    assert dataset.rows == (("north", "3"), ("south", "4"))


def test_the_rest_of_the_specification_arrives_too(sky: Loaded, tmp_path: Path) -> None:
    workflow = sky.workflow
    assert (workflow.tag, workflow.description) == ("sky", "from files to a mosaic")
    assert workflow.execution_tag == "sky-7"
    assert workflow.directory == str(tmp_path / "sky")
    assert workflow.experiment_directory == str(tmp_path / "sky/exp")
    assert (workflow.max_attempts, workflow.algorithm) == (2, "q-learning")
    assert sky.warnings == ()
    assert sky.source == FOUR_OPERATORS


def test_without_workspace_and_expdir_everything_is_beside_the_xml_file(
    load: Load, tmp_path: Path
) -> None:
    workflow = load().workflow
    assert workflow.directory == workflow.experiment_directory == str(tmp_path)
    assert (workflow.max_attempts, workflow.algorithm) == (3, "")
    assert workflow.execution_tag == "demo-1"


def test_a_dot_is_a_directory_like_any_other_and_absolute_files_are_allowed(
    load: Load, tmp_path: Path
) -> None:
    loaded = load(
        ('<environment type="LOCAL"/>', '<workspace workflow_dir="."/>'),
        ('"demo-1"', '"demo-1" expdir="results"'),
        ("numbers.txt", f"{tmp_path}/numbers.txt"),
        data="ID;X\na;1\n",
    )
    assert loaded.workflow.directory == str(tmp_path)
    assert loaded.workflow.experiment_directory == str(tmp_path / "results")
    assert loaded.workflow.datasets[0].rows == (("a", "1"),)


def test_activities_that_share_a_dataset_share_the_union_of_its_fields(load: Load) -> None:
    second = dedent("""\
        <activity tag="second" type="MAP" activation="p %=Z% %=ID%">
          <relation reltype="Input" name="numbers"/><relation reltype="Output" name="o"/>
          <field name="id" type="string" input="numbers"/>
          <field name="Z" type="string" input="numbers" output="o"/>
        </activity></conceptualWorkflow>""")
    loaded = load(("</conceptualWorkflow>", second), data="Z;X;ID\nz;1;i\n")
    names = [activity.input.field_names for activity in loaded.workflow.activities]
    assert names == [("ID", "X", "Z")] * 2
    assert loaded.workflow.datasets[0].rows == (("i", "1", "z"),)


def test_an_algorithm_may_stand_below_the_root(load: Load) -> None:
    loaded = load(("<executionWorkflow", "<algorithm>heft</algorithm><executionWorkflow"))
    assert loaded.workflow.algorithm == "heft"


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


def chain(*links: tuple[str, str, str]) -> str:
    """A workflow of activities (tag, input attributes, output name) with one field each."""
    activities = "\n".join(
        f'<activity tag="{tag}" type="MAP" activation="p"><relation reltype="Input" {source}/>'
        f'<relation reltype="Output" name="{output}"/>'
        f'<field name="F" type="string" output="{output}"/></activity>'
        for tag, source, output in links
    )
    return (
        f'<SciCumulus><conceptualWorkflow tag="w">\n{activities}\n</conceptualWorkflow>'
        '<executionWorkflow tag="x"/></SciCumulus>'
    )


def test_a_cycle_is_told_as_the_path_it_takes(broken: Broken) -> None:
    xml = chain(("a", 'dependency="c"', "oa"), ("b", 'name="oa"', "ob"), ("c", 'name="ob"', "oc"))
    defect = the_only(broken(xml=xml))
    assert (defect.line, defect.found) == (2, "the cycle a → b → c → a")


def test_an_activity_that_feeds_itself_is_a_cycle(broken: Broken) -> None:
    assert the_only(broken(xml=chain(("a", 'name="o"', "o")))).found == "the cycle a → a"


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


def test_constraints_name_the_run_and_limit_it(load: Load) -> None:
    constraint = (
        '<constraint workflow_exectag="other" max_time="3600" max_financial_cost="2.5"'
        ' max_vm_amount="20"/>'
    )
    loaded = load(("<conc", f"{constraint}<conc"))
    workflow = loaded.workflow
    assert (workflow.execution_tag, workflow.max_time_s) == ("other", 3600.0)
    assert (workflow.max_cost_usd, workflow.max_vm_amount) == (2.5, 20)
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("written", "redundancy", "reliability"),
    [
        ('redundancy="true" reliability="0.9"', True, 0.9),
        ('redundancy="T" reliability="1"', True, 1.0),
        ('redundancy="FALSE" reliability="0"', False, 0.0),
        ('redundancy="" reliability=""', False, 0.0),
        ("", False, 0.0),
    ],
)
def test_an_execution_says_what_to_do_about_trouble(
    written: str, redundancy: bool, reliability: float, load: Load
) -> None:
    workflow = load(('"demo-1"', f'"demo-1" {written}')).workflow
    assert (workflow.redundancy, workflow.reliability) == (redundancy, reliability)


@pytest.mark.parametrize("bad", ["1.5", "-0.1", "90%", "nan", "high"])
def test_a_reliability_is_a_share(bad: str, broken: Broken) -> None:
    defect = the_only(broken(('"demo-1"', f'"demo-1" reliability="{bad}"')))
    assert defect.found == f'reliability="{bad}"'
    assert defect.expected == "a share from 0 to 1, as in 0.9"


def test_without_constraints_there_are_no_limits(load: Load) -> None:
    workflow = load(("<conc", '<constraint max_time="" max_vm_amount=""/><conc')).workflow
    assert (workflow.max_time_s, workflow.max_cost_usd, workflow.max_vm_amount) == (0, 0, 0)


@pytest.mark.parametrize(
    ("attribute", "value", "expected"),
    [
        *(("max_time", bad, "a number of seconds above 0") for bad in ("0", "-1", "soon", "nan")),
        *(("max_time", bad, "a number of seconds above 0") for bad in ("inf", "1_0", "1e999")),
        ("max_financial_cost", "$5", "a number of US dollars above 0"),
        ("max_vm_amount", "2.5", "a whole number from 1 up"),
        ("max_vm_amount", "0", "a whole number from 1 up"),
    ],
)
def test_a_limit_must_be_a_number_above_0(
    attribute: str, value: str, expected: str, broken: Broken
) -> None:
    defect = the_only(broken(("<conc", f'<constraint {attribute}="{value}"/>\n<conc')))
    assert (defect.line, defect.found) == (3, f'{attribute}="{value}"')
    assert defect.expected == expected


def test_what_the_original_balances_by_weights_is_explained(load: Load) -> None:
    constraint = '<constraint cores="2" alfa1="0.5" total_ram="24" performance="false"/>'
    told = load(("<conc", constraint + "<conc")).warnings
    assert len(told) == 3
    assert "cores of <constraint> has no effect: the fleet says" in told[1]
    assert "alfa1 of <constraint> has no effect: the objective is chosen when" in told[0]


MACHINES = """<machineTypes>
<vm type="t2.micro" cores="1" ram="1" gflops="10" financial_cost="0.0116"/>
<vm type="t2.2xlarge" cores="8" ram="0.5" gflops="12.5" financial_cost="0.3712" platform="64"/>
<vm type="plain" cores="2"/>
</machineTypes>
<conc"""


def test_machine_types_arrive_with_speeds_relative_to_the_slowest(load: Load) -> None:
    loaded = load(("<conc", MACHINES))
    assert loaded.workflow.machine_types == (
        VmType("t2.micro", 1, 1024, speed=1.0, price_usd_per_hour=0.0116),
        VmType("t2.2xlarge", 8, 512, speed=1.25, price_usd_per_hour=0.3712),
        VmType("plain", 2, 0, speed=1.0, price_usd_per_hour=0.0),
    )
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "found", "expected"),
    [
        ('"plain"', '"t2.micro"', 6, "the VM type t2.micro twice", "every VM type once"),
        ('"plain"', '"local"', 6, 'type="local"', "local is this machine"),
        ('"plain"', '"a,b"', 6, 'type="a,b"', "as in t2.micro"),
        ('cores="2"', 'cores="0"', 6, 'cores="0"', "a whole number from 1 up"),
        (' cores="2"', "", 6, "<vm> with no cores", 'cores="…"'),
        ('ram="1"', 'ram="a lot"', 4, 'ram="a lot"', "a number of gigabytes above 0"),
        ('gflops="10"', 'gflops="-1"', 4, 'gflops="-1"', "a number of gigaflops above 0"),
    ],
)
def test_a_machine_type_that_makes_no_sense_is_told(
    old: str, new: str, line: int, found: str, expected: str, broken: Broken
) -> None:
    defect = the_only(broken(("<conc", MACHINES.replace(old, new))))
    assert (defect.line, defect.found) == (line, found)
    assert expected in defect.expected


def test_words_of_the_language_may_be_in_any_case(load: Load) -> None:
    """The original does not care either: its own generators write type="Map"."""
    loaded = load(
        ('"LOCAL"', '"local"'),
        ('"MAP"', '"Map"'),
        ('reltype="Input"', 'reltype="INPUT"'),
        ('reltype="Output"', 'reltype="output"'),
        ('type="float"', 'type="Float"'),
    )
    (activity,) = loaded.workflow.activities
    assert activity.operator is Operator.MAP
    assert activity.output.fields[1].type is FieldType.FLOAT


def test_an_editors_hint_at_the_schema_is_no_unknown_attribute(load: Load) -> None:
    hint = (
        '<SciCumulus xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
        ' xsi:noNamespaceSchemaLocation="scicumulus.xsd">'
    )
    assert load(("<SciCumulus>", hint)).warnings == ()


def test_the_order_of_the_parts_does_not_matter(load: Load) -> None:
    parts = load().source.split("<conceptualWorkflow")
    conceptual, execution = parts[1].split("<executionWorkflow")
    execution = execution.removesuffix("</SciCumulus>\n")
    xml = (
        f"<SciCumulus><executionWorkflow{execution}<environment type='LOCAL'/>"
        f"<conceptualWorkflow{conceptual}<algorithm>heft</algorithm></SciCumulus>"
    )
    assert load(xml=xml).workflow.activities == load().workflow.activities


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
