"""What the SciCumulus XML language means, and what is said about a text that breaks it."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from scicore.model.workflow import Field, FieldType, Operator, Relation
from scicore.spec import Loaded
from tests.unit.spec.loader import Load, LoadFile

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
