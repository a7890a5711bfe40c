"""The shipped workflow, and whether provenance tells what its run really did."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.console import SCICUMULUS, Console, Said, finish

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = {  # DESIGN.md, section 10
    *("run_id", "state", "activations", "finished", "failed", "blocked", "attempts"),
    *("makespan_s", "plan_id", "predicted_makespan_s"),
}
STATIONS = ["Kiruna", "Manaus", "Niterói", "Québec", "Tromsø", "Ushuaia"]


@pytest.fixture(scope="module")
def said(module_console: Console) -> Said:
    copy = module_console.directory / "climate"
    shutil.copytree(ROOT / "workflows/climate", copy, ignore=shutil.ignore_patterns("runs"))
    spec = copy / "workflow.xml"
    words = ("--fleet", "2xlocal", "--dispatch", "strict", "--json")
    return finish(module_console.start(SCICUMULUS, "run", spec, *words))


@pytest.fixture(scope="module")
def run(said: Said) -> Any:
    return said.document


def relations_on_disk(run: Any, activity: str) -> list[list[dict[str, str]]]:
    """What the programs of an activity wrote, workspace by workspace."""
    files = sorted(Path(run["directory"], activity).glob("*/ERelation.txt"))
    return [list(csv.DictReader(io.StringIO(file.read_text()), delimiter=";")) for file in files]


def test_it_runs_to_exit_code_0_and_prints_one_json_document(said: Said, run: Any) -> None:
    assert said.code == 0
    assert set(run) >= CONTRACT
    assert run["state"] == "finished"
    assert run["activations"] == run["finished"] == run["attempts"] == 6 + 30 + 30 + 6
    assert run["failed"] == run["blocked"] == 0
    assert "\x1b" not in said.out + said.err
    assert f"run {run['run_id']} finished: split 6/6, fit 30/30" in said.err


def test_progress_and_times_count_what_lies_on_the_disk(module_console: Console, run: Any) -> None:
    progress = module_console.query("progress", run["run_id"])
    times = module_console.query("times", run["run_id"])
    assert [row["activity"] for row in progress] == ["split", "fit", "significant", "summary"]
    for row, time in zip(progress, times, strict=True):
        on_disk = len(relations_on_disk(run, row["activity"]))
        assert row["finished"] == row["activations"] == time["finished"] == on_disk
        assert row["ready"] == row["running"] == row["failed"] == row["blocked"] == 0
        assert 0 < time["min_s"] <= time["mean_s"] <= time["max_s"] <= time["total_s"]
    assert sum(len(decades) for decades in relations_on_disk(run, "split")) == 30


def test_outputs_are_what_the_last_programs_wrote(module_console: Console, run: Any) -> None:
    outputs = module_console.query("outputs", run["run_id"])
    written = sorted(
        (line["DECADES"], line["WARMING"])
        for lines in relations_on_disk(run, "summary")
        for line in lines
    )
    assert {row["relation"] for row in outputs} == {"stations_warming"}
    assert sorted(row["values"]["STATION"] for row in outputs) == STATIONS
    values = [row["values"] for row in outputs]
    assert sorted((each["DECADES"], each["WARMING"]) for each in values) == written


def test_lineage_leads_from_a_result_to_exactly_its_own_input(
    module_console: Console, run: Any
) -> None:
    outputs = module_console.query("outputs", run["run_id"])
    for output in (row for row in outputs if row["values"]["STATION"] in ("Niterói", "Kiruna")):
        station = output["values"]["STATION"]
        lineage = module_console.query(
            "lineage", run["run_id"], "--set", f"tuple={output['tuple']}"
        )
        assert {row["values"]["STATION"] for row in lineage} == {station}
        steps = [row["relation"] for row in lineage]
        clear = int(output["values"]["DECADES"])
        assert steps == [
            "stations_warming",
            *["clear_trends"] * clear,
            *["trends"] * clear,
            *["decades"] * clear,
            "stations",
        ]
        (source,) = (row for row in lineage if row["generated_by"] is None)
        assert set(source["values"]) == {"STATION", "LATITUDE", "SEED"}
        for row in lineage:
            if row["relation"] == "decades":
                assert Path(row["values"]["SERIES"]).is_file()


def test_nothing_failed_so_the_query_failures_is_empty(module_console: Console, run: Any) -> None:
    assert module_console.query("failures", run["run_id"]) == []


def test_plan_versus_actual_has_every_attempt_on_its_planned_vm(
    module_console: Console, run: Any
) -> None:
    rows = module_console.query("plan_versus_actual", run["run_id"])
    assert len(rows) == run["attempts"]
    assert {row["vm"] for row in rows} == {"local-1", "local-2"}
    planned = [row for row in rows if row["planned_vm"]]
    assert all(row["planned_vm"] == row["vm"] for row in planned)
    # before the first run one tuple is expected of every SPLIT_MAP activation; then the five
    assert len(planned) in (6 + 6 + 6 + 6, run["activations"])
    assert all(row["start_s"] >= 0 and row["took_s"] > 0 for row in rows)


def test_a_query_speaks_csv_too(module_console: Console, run: Any) -> None:
    said = module_console("query", "outputs", "--run", str(run["run_id"]), "--csv")
    rows = list(csv.DictReader(io.StringIO(said.out)))
    assert list(rows[0]) == ["tuple", "relation", "values", "generated_by"]
    assert sorted(json.loads(row["values"])["STATION"] for row in rows) == STATIONS


def test_sql_of_ones_own_may_name_the_run(module_console: Console, run: Any) -> None:
    sql = "SELECT count(*) AS tuples, now() > 'epoch' AS later FROM used WHERE run_id = :run"
    said = module_console("query", "--sql", sql, "--run", str(run["run_id"]), "--csv")
    clear = sum(len(lines) for lines in relations_on_disk(run, "significant"))
    assert said.out == f"tuples,later\n{6 + 30 + 30 + clear},True\n"


def test_status_shows_the_run_in_words_and_in_json(module_console: Console, run: Any) -> None:
    number = str(run["run_id"])
    assert module_console("status", number, "--json").document == run
    words = module_console("status", number)
    assert f"Run {number} of climate: finished" in words.out
    listed = module_console("status").out.splitlines()
    assert any(line.split()[:3] == [number, "climate", "finished"] for line in listed)
    every = module_console("status", "--json").document["runs"]
    assert run in every
    assert module_console("status", "last", "--json").document == every[0]
