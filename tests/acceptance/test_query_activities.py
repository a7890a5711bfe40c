"""SR_QUERY and MR_QUERY: SQL of the workflow, in the database, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from tests.acceptance.console import Console
from tests.acceptance.test_language import program, specification

HALVES = """
<activity tag="double" type="MAP" activation="sh %=WFDIR%/double.sh %=X%">
  <relation reltype="Input" name="numbers"/>
  <relation reltype="Output" name="doubled"/>
  <field name="ID" type="float" input="numbers" output="doubled"/>
  <field name="X" type="float" input="numbers"/>
  <field name="Y" type="float" output="doubled"/>
</activity>
<activity tag="join" type="MR_QUERY" activation={sql}>
  <relation reltype="Input" dependency="double"/>
  <relation reltype="Input" name="names"/>
  <relation reltype="Output" name="joined"/>
  <field name="ID" type="float" input="names" output="joined"/>
  <field name="NAME" type="string" input="names" output="joined"/>
  <field name="Y" type="float" output="joined"/>
</activity>
<activity tag="greet" type="MAP" activation="sh %=WFDIR%/greet.sh %=NAME% %=Y%">
  <relation reltype="Input" dependency="join"/>
  <relation reltype="Output" name="greetings"/>
  <field name="TEXT" type="string" output="greetings"/>
</activity>"""
JOIN = (
    'SELECT %=EWKFID% AS ewkfid, d.%=KEY%, n.name, d.id, d.y FROM "language".doubled d '
    "JOIN names n ON n.id = d.id WHERE d.ewkfid = %=EWKFID% AND d.y > 2 ORDER BY d.id DESC"
)


def with_query(directory: Path, sql: str = JOIN) -> Path:
    program(directory, "double.sh", 'printf "Y\\n%s\\n" "$(($1 * 2))" > ERelation.txt\n')
    program(directory, "greet.sh", 'printf "TEXT\\n\\"%s is %s\\"\\n" "$1" "$2" > ERelation.txt\n')
    return specification(
        directory,
        HALVES.format(sql=quoteattr(sql)),
        {
            "numbers": "ID;X\n1;1\n2;2\n3;3\n",
            "names": "ID;NAME\n1;one\n2;two; touch owned\n".replace(
                "two; touch owned", '"two; touch owned"'
            )
            + "3;three\n",
        },
    )


def texts(console: Console, run: int) -> list[str]:
    rows = console.rows(
        "SELECT values->>'TEXT' FROM tuple JOIN relation USING (relation_id) "
        "WHERE run_id = %s AND relation.name = 'greetings' ORDER BY tuple.path",
        run,
    )
    return [text for (text,) in rows]


def test_a_query_joins_relations_and_its_tuples_flow_on(console: Console, tmp_path: Path) -> None:
    done = console.run(with_query(tmp_path))
    assert texts(console, done["run_id"]) == ["three is 6", "two; touch owned is 4"]
    vms = console.rows(
        "SELECT DISTINCT attempt.vm FROM attempt JOIN activation USING (run_id, activation_id) "
        "WHERE run_id = %s AND name = 'join.1'",
        done["run_id"],
    )
    assert vms == [("master",)]


def test_columns_without_names_count_by_their_places(console: Console, tmp_path: Path) -> None:
    done = console.run(with_query(tmp_path, "SELECT 7, 'x' || 'y', 1.5"))
    assert texts(console, done["run_id"]) == ["xy is 1.5"]


def test_lineage_leads_through_a_query(console: Console, tmp_path: Path) -> None:
    done = console.run(with_query(tmp_path))
    (result, *_) = console.query("outputs", done["run_id"])
    lineage = console.query("lineage", done["run_id"], "--set", f"tuple={result['tuple']}")
    assert {row["relation"] for row in lineage} == {
        "greetings",
        "joined",
        "doubled",
        "names",
        "numbers",
    }


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1, state, 2 FROM public.run",
        "SELECT 1, 'x', count(*) FROM public.tuple",
        "SELECT 1, query_to_xml('select * from run', true, true, '')::text, 2",
        "SELECT 1, set_config('role', 'scicumulus', false), 2",
        "SELECT 1, pg_read_file('/etc/passwd'), 2",
        "WITH gone AS (DELETE FROM doubled RETURNING *) SELECT 1, 'x', 2 FROM gone",
        "SELECT 1, rolpassword, 2 FROM pg_authid",
        "SELECT 1, 'x', 2 FROM nowhere",
    ],
)
def test_a_workflows_sql_reaches_nothing_but_its_own_relations(
    sql: str, console: Console, tmp_path: Path
) -> None:
    before = console.rows("SELECT count(*) FROM attempt") if console.url else []
    done = console.run(with_query(tmp_path, sql), code=1)
    (failure,) = console.query("failures", done["run_id"])
    assert failure["activation"] == "join.1"
    assert failure["stderr"]
    assert done["blocked"] == 1
    assert console.rows("SELECT count(*) FROM attempt")[0][0] > before[0][0]
    assert console.rows(
        "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'scicumulus_query%%'"
    ) == [(0,)]


def test_a_query_sees_no_other_run(console: Console, tmp_path: Path) -> None:
    spec = with_query(tmp_path, "SELECT 1, 'rows', count(*) FROM doubled")
    for _ in range(2):
        done = console.run(spec)
        assert texts(console, done["run_id"]) == ["rows is 3"]


def test_a_query_over_an_empty_relation_runs(console: Console, tmp_path: Path) -> None:
    spec = with_query(tmp_path, "SELECT 1, 'rows', count(*) FROM doubled")
    (tmp_path / "numbers.dataset").write_text("ID;X\n")
    done = console.run(spec)
    assert texts(console, done["run_id"]) == ["rows is 0"]
