"""Writing a workflow and loading it again gives the same workflow, valid by the schema."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest
from lxml import etree

from scicore.model.trace import Trace, TraceFile, TraceTask
from scicore.model.workflow import Workflow
from scicore.spec.trace import trace_workflow
from scicore.spec.write import write_workflow
from tests.unit.spec.loader import LoadFile

EVERYTHING = dedent("""\
    <SciCumulus>
      <constraint workflow_exectag="sky-7" max_time="3600" max_financial_cost="1.5"
                  max_vm_amount="4"/>
      <workspace workflow_dir="sky"/>
      <machineTypes>
        <vm type="small" cores="1" ram="0.5" gflops="2"/>
        <vm type="large" cores="8" ram="32" gflops="5" financial_cost="0.3712"/>
      </machineTypes>
      <conceptualWorkflow tag="sky" description="from &lt;files&gt; to a &quot;mosaic&quot;">
        <activity tag="list-tiles" type="SPLIT_MAP" activation="'%=WFDIR%/bin/list it' %=REGION%"
                  description="one tuple per tile" extractor="bin/collect %=N%">
          <relation reltype="Input" name="regions"/>
          <relation reltype="Output" name="tiles"/>
          <field name="REGION" type="string" input="regions"/>
          <field name="N" type="float" input="regions"/>
          <field name="BAND" type="string" output="tiles"/>
          <field name="TILE" type="file" output="tiles"/>
          <field name="SIZE" type="float" output="tiles"/>
        </activity>
        <activity tag="measure" type="MAP" activation="bin/measure %=TILE%" template="template"
                  cpus="2" memory="%=SIZE%" runtime="12.5" timeout="90">
          <relation reltype="Input" name="in_measure" dependency="list-tiles"/>
          <relation reltype="Output" name="measured"/>
          <field name="TILE" type="file" input="tiles" operation="MOVE" instrumented="true"/>
          <field name="BAND" type="string" input="tiles"/>
          <field name="FLUX" type="float" output="measured" decimalplaces="2"/>
          <field name="BAND" type="string" output="measured"/>
          <environment name="OMP_NUM_THREADS" value="2"/>
          <environment name="TITLE" value=""/>
        </activity>
        <activity tag="select" type="FILTER" activation="bin/select %=FLUX%">
          <relation reltype="Input" name="measured"/>
          <relation reltype="Output" name="selected"/>
          <field name="BAND" type="string" output="selected"/>
          <field name="FLUX" type="float" output="selected"/>
        </activity>
        <activity tag="merge" type="REDUCE" operand="BAND, FLUX" activation="bin/merge">
          <relation reltype="Input" dependency="select"/>
          <relation reltype="Output" name="merged"/>
          <field name="BAND" type="string" output="merged"/>
        </activity>
        <activity tag="join" type="MR_QUERY"
                  activation="SELECT m.BAND FROM m JOIN regions ON N &lt; 1&#10; WHERE 1 > 0">
          <relation reltype="Input" name="m" dependency="merge"/>
          <relation reltype="Input" name="regions"/>
          <relation reltype="Output" name="joined"/>
          <field name="BAND" type="string" output="joined"/>
        </activity>
      </conceptualWorkflow>
      <executionWorkflow tag="sky-7" expdir="%=WFDIR%/exp" max_failure="2"
                         redundancy="true" reliability="0.95">
        <relation name="regions" filename="regions.txt"/>
        <algorithm>q-learning</algorithm>
      </executionWorkflow>
    </SciCumulus>
    """)


@pytest.fixture
def everything(tmp_path: Path, load_file: LoadFile) -> Workflow:
    """A workflow that says whatever the language can say."""
    (tmp_path / "sky/exp").mkdir(parents=True)
    (tmp_path / "sky/template").mkdir()
    (tmp_path / "sky/exp/regions.txt").write_text('REGION;N\n"a;b\n""c""";3\n;4\n')
    (tmp_path / "sky.xml").write_text(EVERYTHING)
    return load_file(tmp_path / "sky.xml").workflow


@pytest.fixture
def trace() -> Trace:
    file = TraceFile("dir/a b.fits", 7)
    return Trace(
        "montage 50",
        (
            TraceTask("ID1", "m<Project>", 13.25, writes=(file,), cpus=2, memory_mb=64),
            TraceTask("ID 2", "mDiff-Fit", 10.5, parents=("ID1",), reads=(file,)),
        ),
    )


@pytest.mark.parametrize("place", ["sky", "sky/exp", "sky/exp/deeper", "elsewhere"])
def test_all_of_the_language_comes_back_wherever_it_is_written(
    place: str, everything: Workflow, tmp_path: Path, load_file: LoadFile
) -> None:
    path = write_workflow(everything, tmp_path / place)
    assert path == tmp_path / place / "workflow.xml"
    assert load_file(path).workflow == everything


def test_a_trace_comes_back(trace: Trace, tmp_path: Path, load_file: LoadFile) -> None:
    workflow = trace_workflow(trace, tmp_path, "python3 -S burn.py cpu %=EXPDIR%/files")
    loaded = load_file(write_workflow(workflow, tmp_path))
    assert loaded.workflow == workflow
    assert loaded.warnings == ()


def test_what_is_written_beside_its_datasets_can_be_moved(
    trace: Trace, tmp_path: Path, load_file: LoadFile
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    workflow = trace_workflow(trace, here, "true")
    write_workflow(workflow, here)
    here.rename(there)
    moved = replace(workflow, directory=str(there), experiment_directory=str(there))
    assert load_file(there / "workflow.xml").workflow == moved


def test_the_text_says_no_more_than_it_has_to(trace: Trace, tmp_path: Path) -> None:
    path = write_workflow(trace_workflow(trace, tmp_path, "true"), tmp_path)
    root = etree.parse(str(path)).getroot()
    assert [child.tag for child in root] == ["conceptualWorkflow", "executionWorkflow"]
    assert not root.xpath("//@*[. = '']")
    assert dict(root[1].attrib) == {"tag": "montage_50", "max_failure": "1"}
    activity = root[0][1]
    assert dict(activity.attrib) == {
        "tag": "mDiff_Fit",
        "type": "MAP",
        "description": "mDiff-Fit",
        "activation": "true mDiff_Fit_tasks.hfrag",
        "cpus": "%=CPUS%",
        "memory": "%=MEMORY_MB%",
        "runtime": "%=RUNTIME%",
        "id": "ID",
        "parents": "PARENTS",
    }


def test_datasets_lie_beside_the_text_and_nothing_else_is_left(
    trace: Trace, tmp_path: Path
) -> None:
    write_workflow(trace_workflow(trace, tmp_path, "true"), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"workflow.xml", "m_Project__tasks.dataset", "mDiff_Fit_tasks.dataset"}
    lines = (tmp_path / "mDiff_Fit_tasks.dataset").read_text().splitlines()
    assert lines == [
        "ID;PARENTS;RUNTIME;CPUS;MEMORY_MB;READS;WRITES",
        "ID%202;ID1;10.5;1;0;dir%2Fa%20b.fits:7;",
    ]


def test_a_dataset_longer_than_a_piece_is_written_whole(
    tmp_path: Path, load_file: LoadFile
) -> None:
    tasks = tuple(TraceTask(f"ID{number}", "a", 1) for number in range(2500))
    workflow = trace_workflow(Trace("t", tasks), tmp_path, "true")
    assert load_file(write_workflow(workflow, tmp_path)).workflow == workflow
