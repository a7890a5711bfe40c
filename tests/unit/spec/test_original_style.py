"""Workflows as the original system's users write them load as they are, placeholders filled in.

Each is ours, but in the original's manner: inputs by dependency without a name, fields with an
output only, decimalplaces, execution models, database passwords, templates and extractors.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from scicore.model.workflow import Field, FieldType, FileOperation, Operator, Staging
from tests.unit.spec.loader import LoadFile

FRAME = """<SciCumulus>
\t<environment type="LOCAL"/>
\t<constraint workflow_exectag="{tag}" cores="3"/>
\t<workspace workflow_dir="{directory}"/>
\t<database name="prov" username="ann" password="none of ours" port="5432" server="localhost"/>
\t<conceptualWorkflow tag="{tag}" description="">
{activities}
\t</conceptualWorkflow>
\t<executionWorkflow tag="{tag}" execmodel="DYN_FAF" expdir="%=WFDIR%/exp" max_failure="5" \
user_interaction="false" redundancy="false" reliability="0.1">
{datasets}
\t</executionWorkflow>
</SciCumulus>
"""

MAP = """
<activity tag="act1" description="" type="MAP"
  activation="java -jar %=WFDIR%/bin/Wait.jar ID=%=ID% SECONDS=%=T1%">
  <relation reltype="Input" name="IAct1"/>
  <relation reltype="Output" name="OAct1" />
  <field name="ID" type="float" input="IAct1" output="OAct1" decimalplaces="0"/>
  <field name="T1" type="float" input="IAct1" decimalplaces="0"/>
  <field name="T2" type="float" input="IAct1" output="OAct1" decimalplaces="0"/>
</activity>
<activity tag="act2" description="" type="MAP"
  activation="java -jar %=WFDIR%/bin/Wait.jar ID=%=ID% SECONDS=%=T2%">
  <relation reltype="Input" name="IAct2" dependency="act1"/>
  <relation reltype="Output" name="OAct2" />
  <field name="ID" type="float" input="IAct2" output="OAct2" decimalplaces="0"/>
  <field name="T2" type="float" input="IAct2" output="OAct2" decimalplaces="0"/>
</activity>"""

SPLIT_MAP = """
<activity tag="cut" description="" type="SPLIT_MAP"
  activation="java -jar %=WFDIR%/bin/Cut.jar ID=%=ID% PIECES=%=T1%">
  <relation reltype="Input" name="IAct1"/>
  <relation reltype="Output" name="OCut" />
  <field name="ID" type="float" input="IAct1" output="OCut" decimalplaces="0"/>
  <field name="T1" type="float" input="IAct1" decimalplaces="0"/>
  <field name="T2" type="float" input="IAct1" decimalplaces="0"/>
  <field name="PIECE" type="file" output="OCut" operation="MOVE"/>
</activity>
<activity tag="look" description="" type="MAP"
  activation="java -jar %=WFDIR%/bin/Look.jar %=PIECE%">
  <relation reltype="Input" dependency="cut"/>
  <relation reltype="Output" name="OLook" />
  <field name="ID" type="float" output="OLook" decimalplaces="0"/>
  <field name="PIECE" type="file" output="OLook" operation="MOVE"/>
</activity>"""

FILTER = """
<activity tag="act1" description="" type="FILTER"
  activation="java -jar %=WFDIR%/bin/Keep.jar ID=%=ID% T1=%=T1% T2=%=T2%">
  <relation reltype="Input" name="IAct1"/>
  <relation reltype="Output" name="OAct1" />
  <field name="ID" type="float" input="IAct1" output="OAct1" decimalplaces="0"/>
  <field name="T1" type="float" input="IAct1" output="OAct1" decimalplaces="0"/>
  <field name="T2" type="float" input="IAct1" output="OAct1" decimalplaces="0"/>
</activity>
<activity tag="act2" description="" type="MAP"
  activation="java -jar %=WFDIR%/bin/Wait.jar ID=%=ID% SECONDS=%=T2%">
  <relation reltype="Input" dependency="act1"/>
  <relation reltype="Output" name="OAct2" />
  <field name="ID" type="float"  output="OAct2" decimalplaces="0"/>
  <field name="T1" type="float"  decimalplaces="0"/>
  <field name="T2" type="float"  output="OAct2" decimalplaces="0"/>
</activity>"""

REDUCE = """
<activity tag="sum" description="" type="REDUCE" operand="T1,T2"
  activation="java -jar %=WFDIR%/bin/Sum.jar IAct1.hfrag">
  <relation reltype="Input" name="IAct1"/>
  <relation reltype="Output" name="OSum" />
  <field name="ID" type="float" input="IAct1" decimalplaces="0"/>
  <field name="T1" type="float" input="IAct1" output="OSum" decimalplaces="0"/>
  <field name="T2" type="float" input="IAct1" output="OSum" decimalplaces="0"/>
  <field name="TOTAL" type="float" output="OSum" decimalplaces="2"/>
</activity>"""

MR_QUERY = """
<activity tag="act1" description="" type="MAP" activation="./wait ID=%=ID% %=T1% %=T2%">
  <relation reltype="Input" name="IAct1"/>
  <relation reltype="Output" name="OAct1" />
  <field name="ID" type="float" input="IAct1" output="OAct1" decimalplaces="0"/>
  <field name="T1" type="float" input="IAct1" decimalplaces="0"/>
  <field name="T2" type="float" input="IAct1" decimalplaces="0"/>
</activity>
<activity tag="act2" description="" type="MR_QUERY"
  activation="select o.ewkfid, o.%=KEY%, o.id, n.name from OAct1 o, INames n
    where o.ewkfid = %=EWKFID% and n.ewkfid = o.ewkfid and n.id = o.id">
  <relation reltype="Input" name="OAct1" dependency="act1"/>
  <relation reltype="Input" name="INames"/>
  <relation reltype="Output" name="OAct2" />
  <field name="ID" type="float" input="INames" output="OAct2" decimalplaces="0"/>
  <field name="NAME" type="string" input="INames" output="OAct2"/>
</activity>"""

TEMPLATE = """
<activity tag="select" type="MAP" template="%=WFDIR%/template_select" activation="./experiment.cmd"
  description="preliminary selection">
  <relation reltype="Input" name="iselect"/>
  <relation reltype="Output" name="oselect"/>
  <field name="NAME" type="string" input="iselect" output="oselect"/>
  <field name="READS" type="file" input="iselect" output="oselect" instrumented="false"
    operation="COPY"/>
</activity>
<activity tag="align" type="MAP" template="%=WFDIR%/template_align" activation="./experiment.cmd"
  extractor="./extractor.cmd" description="align">
  <relation reltype="Input" name="ialign" dependency="select"/>
  <relation reltype="Output" name="oalign"/>
  <field name="NAME" type="string" input="ialign" output="oalign"/>
  <field name="READS" type="file" input="ialign" output="oalign" operation="COPY"/>
  <field name="ALIGNED" type="file" output="oalign" operation="COPY"/>
</activity>
<activity tag="tree" type="MAP" template="%=WFDIR%/template_tree" activation="./experiment.cmd"
  description="draw a tree">
  <relation reltype="Input" dependency="align"/>
  <relation reltype="Output" name="otree"/>
  <extractor name="etree" type="LOADING" cartridge="EXTERNAL_PROGRAM"
    invocation="./extractor.cmd"/>
  <field name="NAME" type="text" output="otree"/>
  <field name="TREE" type="file" output="otree" operation="COPY" extractor="etree"/>
</activity>"""

NUMBERS = '\t\t<relation name="{name}" filename="{name}.dataset"/>'


def written(directory: Path, activities: str, **datasets: str) -> Path:
    """The specification's path, in a directory like those of the original's examples."""
    (directory / "exp").mkdir(parents=True)
    for name, text in datasets.items():
        (directory / "exp" / f"{name}.dataset").write_text(text)
    spec = directory / "SciCumulus.xml"
    spec.write_text(
        FRAME.format(
            tag=directory.name,
            directory=directory,
            activities=activities,
            datasets="\n".join(NUMBERS.format(name=name) for name in datasets),
        )
    )
    return spec


@pytest.mark.parametrize(
    ("activities", "operators"),
    [
        (MAP, [Operator.MAP, Operator.MAP]),
        (SPLIT_MAP, [Operator.SPLIT_MAP, Operator.MAP]),
        (FILTER, [Operator.FILTER, Operator.MAP]),
        (REDUCE, [Operator.REDUCE]),
    ],
    ids=["MAP", "SPLIT_MAP", "FILTER", "REDUCE"],
)
def test_an_example_of_each_operator_loads(
    activities: str, operators: list[Operator], tmp_path: Path, load_file: LoadFile
) -> None:
    spec = written(tmp_path / "example", activities, IAct1="ID;T1;T2\n0;1000;1001\n1;2000;2001")
    loaded = load_file(spec)
    workflow = loaded.workflow
    assert [activity.operator for activity in workflow.activities] == operators
    assert workflow.datasets[0].rows == (("0", "1000", "1001"), ("1", "2000", "2001"))
    assert (workflow.max_attempts, workflow.execution_tag) == (5, "example")
    assert workflow.experiment_directory == f"{workflow.directory}/exp"


def test_all_that_has_no_effect_in_them_is_told(tmp_path: Path, load_file: LoadFile) -> None:
    loaded = load_file(written(tmp_path / "example", FILTER, IAct1="ID;T1;T2\n0;1;2"))
    cores, unused, password, execmodel = loaded.warnings
    assert "cores of <constraint> has no effect" in cores
    assert "<database> is not used" in unused
    assert "the password in <database> is not used" in password
    assert "execmodel of <executionWorkflow> has no effect: tuples flow" in execmodel
    assert "none of ours" not in loaded.source


def test_a_filters_reader_takes_fields_that_it_only_gives(
    tmp_path: Path, load_file: LoadFile
) -> None:
    workflow = load_file(written(tmp_path / "example", FILTER, IAct1="ID;T1;T2\n0;1;2")).workflow
    keep, wait = workflow.activities
    assert (wait.producer, wait.input, wait.alias) == ("act1", keep.output, "")
    assert wait.output.fields == (
        Field("ID", FieldType.FLOAT, 0),
        Field("T2", FieldType.FLOAT, 0),
    )


def test_a_file_made_by_split_map_is_moved_to_its_reader(
    tmp_path: Path, load_file: LoadFile
) -> None:
    workflow = load_file(written(tmp_path / "example", SPLIT_MAP, IAct1="ID;T1;T2\n0;1;2")).workflow
    assert workflow.activity("cut").staging == ()
    assert workflow.activity("look").staging == (Staging("PIECE", FileOperation.MOVE),)


def test_a_reduce_may_group_by_several_fields(tmp_path: Path, load_file: LoadFile) -> None:
    workflow = load_file(written(tmp_path / "example", REDUCE, IAct1="ID;T1;T2\n0;1;2")).workflow
    assert workflow.activity("sum").operand == ("T1", "T2")


def test_a_query_over_an_output_and_a_dataset_loads(tmp_path: Path, load_file: LoadFile) -> None:
    datasets = {"IAct1": "ID;T1;T2\n0;1;2", "INames": "ID;NAME\n0;zero"}
    loaded = load_file(written(tmp_path / "example", MR_QUERY, **datasets))
    query = loaded.workflow.activity("act2")
    assert (query.input.name, query.producer) == ("OAct1", "act1")
    assert [source.relation.name for source in query.also_reads] == ["INames"]
    assert query.command.startswith("select o.ewkfid, o.%=KEY%, o.id")


def test_templates_extractors_and_files_load(tmp_path: Path, load_file: LoadFile) -> None:
    directory = tmp_path / "phylogeny"
    for step in ("select", "align", "tree"):
        (directory / f"template_{step}").mkdir(parents=True)
        (directory / f"template_{step}" / "experiment.cmd").write_text("run %=NAME% %=READS%\n")
    (directory / "template_tree" / "experiment.cmd").write_text("run %=NAME% %=ALIGNED%\n")
    reads = directory / "exp/input/sequences"
    spec = written(directory, TEMPLATE, iselect=f"NAME;READS\ni1;{reads}\ni2;sequences")
    reads.parent.mkdir()
    reads.write_text(">1\nACGT\n")
    loaded = load_file(spec)
    select, align, tree = loaded.workflow.activities
    assert loaded.workflow.datasets[0].rows == (("i1", str(reads)), ("i2", str(reads)))
    assert select.staging == (Staging("READS", FileOperation.COPY),)
    assert align.staging == (Staging("READS", FileOperation.COPY),)
    assert [each.field for each in tree.staging] == ["READS", "ALIGNED"]
    assert align.extractor == tree.extractor == "./extractor.cmd"
    assert any("extractor of <field> has no effect" in warning for warning in loaded.warnings)
