"""A workflow as the original system's users write it does not only load: it runs to its end."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.console import Console
from tests.unit.spec.test_original_style import written

ACTIVITIES = """
<activity tag="cut" description="" type="SPLIT_MAP"
  activation="sh %=WFDIR%/bin/cut.sh ID=%=ID% PIECES=%=T1%">
  <relation reltype="Input" name="IAct1"/>
  <relation reltype="Output" name="OCut" />
  <field name="ID" type="float" input="IAct1" output="OCut" decimalplaces="0"/>
  <field name="T1" type="float" input="IAct1" output="OCut" decimalplaces="0"/>
  <field name="PIECE" type="file" output="OCut" operation="MOVE"/>
</activity>
<activity tag="keep" description="" type="FILTER"
  activation="sh %=WFDIR%/bin/keep.sh %=ID% %=PIECE%">
  <relation reltype="Input" name="IKeep" dependency="cut"/>
  <relation reltype="Output" name="OKeep" />
  <field name="ID" type="float" input="IKeep" output="OKeep" decimalplaces="0"/>
  <field name="T1" type="float" input="IKeep" output="OKeep" decimalplaces="0"/>
  <field name="PIECE" type="file" input="IKeep" output="OKeep" operation="MOVE"/>
</activity>
<activity tag="align" description="align" type="MAP" template="%=WFDIR%/template_align"
  activation="./experiment.cmd" extractor="./extractor.cmd">
  <relation reltype="Input" dependency="keep"/>
  <relation reltype="Output" name="OAlign" />
  <field name="ID" type="float" output="OAlign" decimalplaces="0"/>
  <field name="T1" type="float" output="OAlign" decimalplaces="0"/>
  <field name="LENGTH" type="float" output="OAlign" decimalplaces="2"/>
</activity>
<activity tag="sum" description="" type="REDUCE" operand="ID,T1"
  activation="sh %=WFDIR%/bin/sum.sh ISum.hfrag">
  <relation reltype="Input" name="ISum" dependency="align"/>
  <relation reltype="Output" name="OSum" />
  <field name="ID" type="float" input="ISum" output="OSum" decimalplaces="0"/>
  <field name="T1" type="float" input="ISum" output="OSum" decimalplaces="0"/>
  <field name="LENGTH" type="float" input="ISum" decimalplaces="2"/>
  <field name="COUNT" type="float" output="OSum" decimalplaces="0"/>
</activity>
<activity tag="name" description="" type="MR_QUERY"
  activation="select o.ewkfid, o.%=KEY%, o.id, o.count, n.name from OSum o, INames n
    where o.ewkfid = %=EWKFID% and n.ewkfid = o.ewkfid and n.id = o.id">
  <relation reltype="Input" name="OSum" dependency="sum"/>
  <relation reltype="Input" name="INames"/>
  <relation reltype="Output" name="OName" />
  <field name="ID" type="float" input="INames" output="OName" decimalplaces="0"/>
  <field name="NAME" type="string" input="INames" output="OName"/>
  <field name="COUNT" type="float" output="OName" decimalplaces="0"/>
</activity>
<activity tag="best" description="" type="SR_QUERY"
  activation="select ewkfid, %=KEY%, name, count from OName where ewkfid = %=EWKFID% and count > 1">
  <relation reltype="Input" name="OName" dependency="name"/>
  <relation reltype="Output" name="OBest" />
  <field name="NAME" type="string" input="OName" output="OBest"/>
  <field name="COUNT" type="float" input="OName" output="OBest" decimalplaces="0"/>
</activity>"""

PROGRAMS = {
    "bin/cut.sh": """
echo PIECE > ERelation.txt
for n in $(seq "${2#PIECES=}"); do
  echo "piece $n of $1" > "piece$n.txt"
  echo "piece$n.txt" >> ERelation.txt
done
""",
    # all but the first piece of image 2
    "bin/keep.sh": """
if [ "$1" != 2 ] || ! grep -q "piece 1" "$2"; then printf "ID\\n%s\\n" "$1" > ERelation.txt
else echo ID > ERelation.txt; fi
""",
    "template_align/experiment.cmd": 'cat "%=PIECE%" | wc -c > length.txt\n',
    "template_align/extractor.cmd": 'printf "LENGTH\\n%s\\n" "$(cat length.txt)" > ERelation.txt\n',
    "bin/sum.sh": 'printf "COUNT\\n%s\\n" "$(($(wc -l < "$1") - 1))" > ERelation.txt\n',
}


def test_every_operator_runs_as_the_original_wrote_it(console: Console, tmp_path: Path) -> None:
    directory = tmp_path / "example"
    datasets = {"IAct1": "ID;T1\n1;3\n2;2\n3;1\n", "INames": "ID;NAME\n1;one\n2;two\n3;three\n"}
    spec = written(directory, ACTIVITIES, **datasets)
    for name, text in PROGRAMS.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(text)
    done = console.run(spec)
    # 3 cut, 6 are looked at, 5 kept and aligned, 3 groups, 2 queries
    assert (done["activations"], done["finished"]) == (19, 19)
    found = console.rows(
        'SELECT name, count FROM example."OBest" WHERE ewkfid = %s ORDER BY name', done["run_id"]
    )
    assert found == [("one", 3.0)]
    named = console.rows(
        'SELECT id, name, count FROM example."OName" WHERE ewkfid = %s ORDER BY id', done["run_id"]
    )
    assert named == [(1.0, "one", 3.0), (2.0, "two", 1.0), (3.0, "three", 1.0)]
