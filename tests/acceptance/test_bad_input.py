"""What cannot be run is refused before anything is touched, with everything that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from scicore.cli import VERBS
from tests.acceptance.console import Console
from tests.acceptance.workflows import Step, write_workflow

TABLES = (
    *("workflow", "activity", "relation", "field", "plan", "assignment"),
    *("run", "vm", "activation", "attempt", "tuple", "used"),
)
BAD = """<SciCumulus>
  <conceptualWorkflow tag="bad">
    <activity tag="first" type="MAPP" activation="/bin/true %=NAME%">
      <relation reltype="Input" name="people"/>
      <relation reltype="Output" name="out"/>
      <field name="NAME" type="sting" input="people"/>
      <field name="AGE" type="float" input="people"/>
    </activity>
    <activity tag="second" type="MAP" activation="/bin/echo %=NAMES% | tee log">
      <relation reltype="Input" dependency="frist"/>
      <relation reltype="Output" name="more"/>
      <field name="NAME" type="string" output="more"/>
    </activity>
  </conceptualWorkflow>
  <executionWorkflow tag="bad" max_failure="never">
    <relation name="people" filename="people.dataset"/>
  </executionWorkflow>
</SciCumulus>
"""
PLACES = {  # line: a piece of what was found, and of what was expected
    3: ('type="MAPP"', "did you mean MAP?"),
    6: ('type="sting"', "did you mean string?"),
    9: ("shell syntax ('|')", "put shell code into a script"),
    10: ('dependency="frist"', "did you mean first?"),
    15: ('max_failure="never"', "a whole number"),
}


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    (tmp_path / "people.dataset").write_text("NAME;AGE\nAda;36\nBob;old\nCarl\n")
    spec = tmp_path / "bad.xml"
    spec.write_text(BAD)
    return spec


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return write_workflow(tmp_path / "wf", [Step("a")], [("1",)])


def test_all_problems_of_a_specification_are_told_at_once_with_their_places(
    console: Console, bad: Path
) -> None:
    said = console("run", bad, "--json")
    assert said.code == 2
    problems = said.document["problems"]
    in_xml = {each["line"]: each for each in problems if each["file"] == str(bad)}
    assert sorted(in_xml) == sorted(PLACES)
    for line, (found, expected) in PLACES.items():
        assert found in in_xml[line]["found"]
        assert expected in in_xml[line]["expected"]
        assert f"{bad}:{line}: found " in said.err
    dataset = bad.with_name("people.dataset")
    in_dataset = {each["line"]: each for each in problems if each["file"] == str(dataset)}
    assert in_dataset[3]["found"] == "'old' in the float field AGE"
    assert in_dataset[4]["found"] == "1 values"
    assert len(problems) == len(in_xml) + len(in_dataset)


def test_a_bad_specification_leaves_no_trace_in_the_database(console: Console, bad: Path) -> None:
    counts = "SELECT " + ", ".join(f"(SELECT count(*) FROM {table})" for table in TABLES)
    before = console.rows(counts)
    answers = console.together((verb, bad) for verb in ("run", "plan"))
    assert [said.code for said in answers] == [2, 2]
    assert console.rows(counts) == before


def test_a_bad_specification_does_not_even_start_the_embedded_server(
    fresh_home: Path, bad: Path
) -> None:
    assert Console(fresh_home, bad.parent)("run", bad).code == 2
    assert list(fresh_home.iterdir()) == []


WISHES = {
    ("--fleet", "2xt9.huge"): "VM type 't9.huge' is not known\n  known types: local, a1.",
    ("--fleet", "0xlocal"): "expected COUNTxTYPE such as 2xlocal\n  write the fleet as 2xlocal",
    ("--fleet", "2xt2.micro"): "run on this machine with --fleet 2xlocal",
    ("--algorithm", "hefty"): "algorithm 'hefty' is not known; did you mean 'heft'?",
    ("--plan", "999999"): "there is no plan 999999\n  `scicumulus plan SPEC` makes one",
    ("--plan", "1", "--fleet", "1xlocal"): "--plan brings its own fleet and algorithm",
    ("--plan", "one"): "'one' is not a valid integer",
    ("--flete", "2xlocal"): "No such option '--flete'",
}


def test_a_wish_that_makes_no_sense_is_refused_with_what_to_do(
    console: Console, good: Path
) -> None:
    answers = console.together(("run", good, *options) for options in WISHES)
    for message, said in zip(WISHES.values(), answers, strict=True):
        assert said.code == 2, said
        assert message in said.err
        assert said.out == ""
        assert "Traceback" not in said.err


def test_a_plan_for_another_workflow_is_refused(console: Console, good: Path) -> None:
    other = write_workflow(console.directory / "other", [Step("b")], [("1",)])
    plan = console("plan", other, "--fleet", "1xlocal", "--json").document["plan_id"]
    said = console("run", good, "--plan", str(plan))
    assert said.code == 2
    assert f"plan {plan} was made for another workflow" in said.err


def test_a_file_that_is_not_there_is_named(console: Console) -> None:
    said = console("run", "nowhere.xml")
    assert said.code == 2
    assert "nowhere.xml: found no readable file (No such file or directory)" in said.err


QUESTIONS = {
    ("query", "progres"): "there is no query 'progres'\n  did you mean progress? known: ",
    ("query", "lineage", "--set", "12"): "expected NAME=VALUE, e.g. --set tuple=12",
    ("query", "progress", "--run", "99999"): "there is no run 99999",
    ("query", "progress", "--sql", "SELECT 1"): "either a query's NAME or --sql, not both",
    ("query", "--sql", "SELECT nonsense"): 'column "nonsense" does not exist',
    ("status", "yesterday"): "expected a run's number, or last",
    ("sing",): "No such command 'sing'",
}


def test_a_question_that_makes_no_sense_is_refused_with_what_to_do(console: Console) -> None:
    for message, said in zip(QUESTIONS.values(), console.together(QUESTIONS), strict=True):
        assert said.code == 2, said
        assert message in said.err
        assert "Traceback" not in said.err


def test_every_verb_explains_itself_with_an_example(console: Console) -> None:
    parts = [("db", word) for word in ("start", "stop", "url", "shell", "dump", "restore")]
    verbs = [(), *((verb,) for verb in VERBS), *parts]
    for said in console.together((*verb, "--help") for verb in verbs):
        assert said.code == 0, said
        assert said.err == ""
        assert "scicumulus " in said.out.partition("Options:")[2]  # the example stands at the end
        assert "\x1b" not in said.out


def test_the_example_of_the_first_help_is_a_file_that_exists(console: Console) -> None:
    example = console("--help").out.rpartition("scicumulus run ")[2].strip()
    assert (Path(__file__).resolve().parents[2] / example).is_file()
