"""`validate`, `show` and `init`, as somebody meets them who begins with a workflow."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.acceptance.console import Console

ROOT = Path(__file__).resolve().parents[2]
DAX = """<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" name="two">
  <job id="ID1" name="make" runtime="2.5"/>
  <job id="ID2" name="make" runtime="1.5"/>
  <job id="ID3" name="join" runtime="4"/>
  <child ref="ID3"><parent ref="ID1"/><parent ref="ID2"/></child>
</adag>
"""


@pytest.fixture
def climate(console: Console) -> Path:
    copy = console.directory / "climate"
    shutil.copytree(ROOT / "workflows/climate", copy, ignore=shutil.ignore_patterns("runs"))
    return copy / "workflow.xml"


@pytest.fixture
def broken(climate: Path) -> Path:
    """Two problems and a warning."""
    text = climate.read_text()
    climate.write_text(
        text.replace("%=SERIES%", "%=SERIE%")
        .replace('type="FILTER"', 'type="FLITER"')
        .replace('type="LOCAL"', 'type="LOCAL" verbose="true"')
    )
    return climate


@pytest.fixture
def trace(console: Console) -> Path:
    file = console.directory / "two.dax"
    file.write_text(DAX)
    return file


def test_a_valid_workflow_is_told_to_be_valid(console: Console, climate: Path) -> None:
    said = console("validate", climate)
    assert said.code == 0
    assert said.out == f"{climate} is valid: 4 activities, 1 dataset with 6 tuples; no warnings\n"
    assert said.err == ""


def test_all_problems_and_warnings_come_at_once_with_their_lines(
    console: Console, broken: Path
) -> None:
    said = console("validate", broken)
    assert said.code == 2
    *lines, last = said.out.splitlines()
    assert [line.split(": found")[0] for line in lines[:2]] == [
        f"problem: {broken}:24",
        f"problem: {broken}:34",
    ]
    assert lines[2] == f"warning: {broken}:4: verbose of <environment> has no effect: see --help"
    assert last == f"{broken} cannot be run: 2 problems, 1 warning"


def test_and_in_json(console: Console, broken: Path) -> None:
    said = console("validate", broken, "--json")
    assert said.code == 2
    document = said.document
    assert (document["valid"], document["kind"]) == (False, "scicumulus")
    assert [problem["line"] for problem in document["problems"]] == [24, 34]
    assert set(document["problems"][0]) == {"file", "line", "found", "expected"}
    assert len(document["warnings"]) == 1


def test_a_file_that_is_not_there_is_a_problem_like_any_other(console: Console) -> None:
    said = console("validate", "nowhere.xml", "--json")
    assert said.code == 2
    assert "no readable file" in said.document["problems"][0]["found"]


def test_traces_can_be_validated_too(console: Console, trace: Path) -> None:
    said = console("validate", trace)
    assert said.code == 0
    assert "2 activities, 3 activations, 2 edges" in said.out
    trace.write_text(DAX.replace('<parent ref="ID1"/>', '<parent ref="ID3"/>'))
    said = console("validate", trace, "--json")
    assert (said.code, said.document["kind"]) == (2, "dax")


def test_show_tells_activities_relations_and_draws_a_picture(
    console: Console, climate: Path
) -> None:
    said = console("show", climate)
    assert said.code == 0
    lines = [line.split() for line in said.out.splitlines()]
    assert ["split", "SPLIT_MAP", "stations", "decades", "6"] in lines
    assert ["fit", "MAP", "decades", "trends", "≈", "6"] in lines
    assert ["summary", "REDUCE", "by", "STATION", "clear_trends"] in [line[:5] for line in lines]
    assert "dataset, 6 tuples" in said.out
    assert "│ SPLIT_MAP × 6 │" in said.out
    assert "│ clear_trends" in said.out
    assert "\x1b" not in said.out


def test_show_in_json_has_the_keys_that_are_promised(console: Console, climate: Path) -> None:
    document = console("show", climate, "--json").document
    assert {"activities", "relations", "activations", "edges"} <= set(document)
    assert [each["tag"] for each in document["activities"]] == [
        *("split", "fit", "significant", "summary")
    ]
    assert [each["activations"] for each in document["activities"]] == [6, 6, 6, 6]
    assert [each["exact"] for each in document["activities"]] == [True, False, False, False]
    assert (document["activations"], document["edges"]) == (24, 18)
    assert document["activity_edges"][0] == {
        "source": "split",
        "target": "fit",
        "relation": "decades",
        "edges": 6,
    }
    stations = document["relations"][0]
    assert (stations["name"], stations["producer"], stations["tuples"]) == ("stations", None, 6)
    assert stations["fields"][0] == {
        "name": "STATION",
        "type": "string",
        "decimal_places": None,
    }


@pytest.mark.parametrize("name", ["climate.svg", "climate.png"])
def test_a_picture_goes_to_a_file(console: Console, climate: Path, name: str) -> None:
    said = console("show", climate, "--dag", name, "--json")
    assert said.code == 0
    assert (console.directory / name).stat().st_size > 5000
    assert said.err == f"picture: {name}\n"


def test_a_picture_of_another_kind_is_bad_usage(console: Console, climate: Path) -> None:
    said = console("show", climate, "--dag", "climate.pdf")
    assert said.code == 2
    assert ".svg or .png" in said.err


def test_a_trace_is_shown_by_its_programs(console: Console, trace: Path) -> None:
    said = console("show", trace)
    lines = [line.split() for line in said.out.splitlines()]
    assert ["make", "2", "2.000"] in lines
    assert ["join", "1", "4.000"] in lines
    document = console("show", trace, "--json").document
    assert (document["kind"], document["activations"], document["edges"]) == ("dax", 3, 2)
    assert document["activity_edges"] == [
        {"source": "make", "target": "join", "relation": None, "edges": 2}
    ]


def test_what_is_invalid_is_not_shown(console: Console, broken: Path) -> None:
    said = console("show", broken, "--json")
    assert said.code == 2
    assert len(said.document["problems"]) == 2


def test_a_new_workflow_validates_shows_and_runs_as_it_is(console: Console) -> None:
    said = console("init", "my throws")
    assert said.code == 0
    assert "my throws/workflow.xml" in said.out
    assert "scicumulus run 'my throws/workflow.xml'" in said.err
    spec = console.directory / "my throws" / "workflow.xml"
    assert console("validate", spec, "--json").document == {
        "spec": str(spec),
        "kind": "scicumulus",
        "valid": True,
        "problems": [],
        "warnings": [],
    }
    assert console("show", spec, "--json").document["workflow"] == "my_throws"
    run = console.run(spec)
    assert (run["state"], run["failed"]) == ("finished", 0)
    best = [row["values"] for row in console.query("outputs", run["run_id"])]
    speeds = sorted(float(row["SPEED"]) for row in best)
    assert speeds == [18.0, 24.0, 30.0]  # 12 m/s never gets over the wall
    fastest = next(row for row in best if float(row["SPEED"]) == 30.0)
    assert float(fastest["DISTANCE"]) == max(float(row["DISTANCE"]) for row in best)


def test_init_does_not_write_into_a_directory_with_something_in_it(console: Console) -> None:
    place = console.directory / "place"
    place.mkdir()
    (place / "thesis.tex").write_text("years of work")
    said = console("init", "place")
    assert said.code == 2
    assert "not empty" in said.err
    assert "--force" in said.err
    assert [file.name for file in place.iterdir()] == ["thesis.tex"]
    forced = console("init", "place", "--force", "--json")
    assert forced.code == 0
    assert "workflow.xml" in json.loads(forced.out)["files"]
    assert (place / "thesis.tex").read_text() == "years of work"


def test_init_makes_the_directories_above_and_takes_an_empty_one(console: Console) -> None:
    assert console("init", "a/b/c").code == 0
    (console.directory / "empty").mkdir()
    assert console("init", "empty").code == 0
    assert console("init", "a/b/c/README.md").code == 2
