"""A real run, exported by the command line in every format and read back by others' readers."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scicore.spec.wfformat import read_wfformat
from tests.acceptance.console import Console
from tests.acceptance.test_query_activities import with_query
from tests.acceptance.workflows import Step, write_workflow
from tests.unit.exports.at_console import EXTRA, count, export
from tests.unit.exports.test_wfformat import check_shape

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def console(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    user = Console(home, tmp_path_factory.mktemp("exports"))
    yield user
    user.leave_nothing()


@pytest.fixture(scope="module")
def climate(console: Console) -> Path:
    copy = console.directory / "climate"
    shutil.copytree(ROOT / "workflows/climate", copy, ignore=shutil.ignore_patterns("runs"))
    return copy / "workflow.xml"


@pytest.fixture(scope="module")
def run(console: Console, climate: Path) -> int:
    return int(console.run(climate)["run_id"])


# --- W3C PROV -----------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["prov-json", "prov-n"])
def document(request: pytest.FixtureRequest, console: Console, run: int) -> Any:
    model = pytest.importorskip("prov.model", reason=EXTRA)
    told = export(console, run, request.param)
    format = {"prov-json": "json", "prov-n": "provn"}[request.param]
    document = model.ProvDocument.deserialize(source=told["path"], format=format)
    assert len(document.records) == sum(told["records"].values())
    return document


def of_type(document: Any, word: str) -> list[Any]:
    """Elements of our own type."""
    return [
        record
        for record in document.records
        if record.is_element() and f"sc:{word}" in map(str, record.get_asserted_types())
    ]


def test_prov_counts_what_the_database_has(document: Any, console: Console, run: int) -> None:
    assert len(of_type(document, "Tuple")) == count(console, "tuple", run)
    assert len(of_type(document, "Activation")) == count(console, "activation", run)
    assert len(of_type(document, "Vm")) == count(console, "vm", run)
    assert len(of_type(document, "File")) == count(console, "file", run) > 0
    attempts = [r for r in document.records if str(r.identifier).startswith(f"run:{run}/attempt/")]
    assert len(attempts) == count(console, "attempt", run)


def test_prov_satisfies_what_its_package_checks(document: Any) -> None:
    assert len(document.unified().records) == len(document.records)


def test_prov_lineage_is_that_of_the_database(document: Any, console: Console, run: int) -> None:
    model = pytest.importorskip("prov.model", reason=EXTRA)
    derived = {
        tuple(int(str(value).rpartition("/")[2]) for _, value in record.formal_attributes[:2])
        for record in document.get_records(model.ProvDerivation)
        if "/tuple/" in str(record.formal_attributes[0][1])
    }
    rows = console.rows(
        "SELECT tuple.tuple_id, used.tuple_id FROM tuple"
        " JOIN used ON used.run_id = tuple.run_id AND used.activation_id = tuple.generated_by"
        " WHERE tuple.run_id = %s",
        run,
    )
    assert derived == set(rows)


def test_prov_tells_values_and_times_as_the_database(
    document: Any, console: Console, run: int
) -> None:
    for tuple_id, values in console.rows(
        "SELECT tuple_id, values FROM tuple WHERE run_id = %s", run
    ):
        [entity] = document.get_record(f"run:{run}/tuple/{tuple_id}")
        assert {name: entity.get_attribute(f"field:{name}") for name in values} == {
            name: {value} for name, value in values.items()
        }
    for activation_id, started_at, ended_at in console.rows(
        "SELECT activation_id, started_at, ended_at FROM attempt WHERE run_id = %s", run
    ):
        [activity] = document.get_record(f"run:{run}/activation/{activation_id}")
        assert activity.get_startTime() == started_at
        assert activity.get_endTime() == ended_at


# --- RO-Crate -----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["climate.crate", "climate.zip"])
def test_the_crate_holds_the_run_and_its_files(
    console: Console, climate: Path, run: int, target: str
) -> None:
    rocrate = pytest.importorskip("rocrate.rocrate", reason=EXTRA)
    told = export(console, run, "ro-crate", "-o", target)
    crate = rocrate.ROCrate(Path(told["path"]))
    assert crate.mainEntity.id == "workflow.xml"
    assert len(crate.mainEntity["step"]) == 4
    actions = crate.get_by_type("CreateAction")
    assert len(actions) == 1 + count(console, "activation", run)
    assert {action["actionStatus"] for action in actions} == {
        "http://schema.org/CompletedActionStatus"
    }
    root = Path(crate.source)
    assert (root / "workflow.xml").read_text() == climate.read_text()
    files = [file for file in crate.get_by_type("File") if file.get("sha256")]
    assert len(files) == count(console, "file", run)
    for file in files:
        content = (root / file.id).read_bytes()
        assert hashlib.sha256(content).hexdigest() == file["sha256"]
        assert str(len(content)) == file["contentSize"]


def test_files_above_the_limit_stay_outside_of_the_crate(console: Console, run: int) -> None:
    pytest.importorskip("rocrate.rocrate", reason=EXTRA)
    told = export(console, run, "ro-crate", "-o", "lean.crate", "--max-file-size", "0.0001")
    assert not (console.directory / "lean.crate" / "file").exists()
    [warning] = told["warnings"]
    assert (
        warning == "30 files are referred to, not copied: larger than 0.0001 MB (--max-file-size)"
    )


# --- WfFormat -----------------------------------------------------------------------------------


def test_the_trace_is_what_our_own_importer_reads(console: Console, run: int) -> None:
    told = export(console, run, "wfformat")
    check_shape(json.loads(Path(told["path"]).read_text(encoding="utf-8")))
    trace = read_wfformat(Path(told["path"]))
    assert trace.warnings == ()
    names = dict(console.rows("SELECT activation_id, name FROM activation WHERE run_id = %s", run))
    edges = console.rows(
        "SELECT DISTINCT used.activation_id, tuple.generated_by FROM used"
        " JOIN tuple USING (run_id, tuple_id)"
        " WHERE run_id = %s AND tuple.generated_by IS NOT NULL",
        run,
    )
    assert {(task.id, parent) for task in trace.tasks for parent in task.parents} == {
        (names[child], names[parent]) for child, parent in edges
    }
    runtimes = dict(
        console.rows(
            "SELECT name, extract(epoch FROM attempt.ended_at - started_at)::float8"
            " FROM attempt JOIN activation USING (run_id, activation_id) WHERE run_id = %s",
            run,
        )
    )
    assert {task.id: task.runtime_s for task in trace.tasks} == pytest.approx(runtimes, abs=1e-3)
    assert {task.activity for task in trace.tasks} == {"split", "fit", "significant", "summary"}
    sizes = {row[0] for row in console.rows("SELECT size_bytes FROM file WHERE run_id = %s", run)}
    written = [file for task in trace.tasks for file in task.writes]
    assert len(written) == count(console, "file", run)
    assert {file.size_bytes for file in written} == sizes


# --- CSV and Parquet ----------------------------------------------------------------------------

TABLES = ("activation", "attempt", "used", "vm", "file", "run")


def test_csv_has_every_row_of_the_database(console: Console, run: int) -> None:
    told = export(console, run, "csv")
    directory = Path(told["path"])
    assert sorted(told["files"]) == sorted(
        str(path.relative_to(directory)) for path in directory.rglob("*.csv")
    )
    for table in TABLES:
        with (directory / f"{table}.csv").open(newline="", encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) == count(console, table, run)
    with (directory / "relation/decades.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row, (tuple_id, values) in zip(rows, tuples(console, run, "decades"), strict=True):
        assert int(row["tuple_id"]) == tuple_id
        assert row["STATION"] == values["STATION"]
        assert float(row["LATITUDE"]) == float(values["LATITUDE"])


def tuples(console: Console, run: int, relation: str) -> list[tuple[Any, ...]]:
    return console.rows(
        "SELECT tuple_id, values FROM tuple JOIN relation USING (relation_id)"
        " WHERE run_id = %s AND relation.name = %s ORDER BY tuple_id",
        run,
        relation,
    )


def test_parquet_has_every_row_of_the_database_with_its_type(console: Console, run: int) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason=EXTRA)
    directory = Path(export(console, run, "parquet")["path"])
    for table in TABLES:
        read = parquet.read_table(directory / f"{table}.parquet")
        assert read.num_rows == count(console, table, run)
    attempts = parquet.read_table(directory / "attempt.parquet").to_pylist()
    rows = console.rows(
        "SELECT activation_id, number, started_at, ended_at, cpu_s, peak_rss_bytes FROM attempt"
        " WHERE run_id = %s ORDER BY activation_id, number",
        run,
    )
    names = ("activation_id", "number", "started_at", "ended_at", "cpu_s", "peak_rss_bytes")
    assert [tuple(attempt[name] for name in names) for attempt in attempts] == rows
    trends = parquet.read_table(directory / "relation" / "trends.parquet").to_pylist()
    assert [(row["tuple_id"], row["SLOPE"]) for row in trends] == [
        (tuple_id, float(values["SLOPE"])) for tuple_id, values in tuples(console, run, "trends")
    ]


# --- other runs --------------------------------------------------------------------------------


def test_a_query_is_the_softwares_own_work(console: Console, tmp_path: Path) -> None:
    model = pytest.importorskip("prov.model", reason=EXTRA)
    run = console.run(with_query(tmp_path))["run_id"]
    target = export(console, run, "prov-json")["path"]
    document = model.ProvDocument.deserialize(source=target, format="json")
    [(query,)] = console.rows(
        "SELECT activation_id FROM activation WHERE run_id = %s AND name = 'join.1'", run
    )
    [attempt] = document.get_record(f"run:{run}/attempt/{query}/1")
    [agent] = attempt.get_attribute("prov:agent")
    assert agent.localpart.startswith("software/")
    used = [
        r for r in document.records if str(r.identifier).startswith(f"run:{run}/usage/{query}/")
    ]
    assert len(used) == 6  # three numbers doubled, three names
    derived = list(document.get_records(model.ProvDerivation))
    assert len(derived) == 1 + 3 + 2  # the plan, what was doubled, what was greeted
    trace = read_wfformat(Path(export(console, run, "wfformat")["path"]))
    [join] = [task for task in trace.tasks if task.id == "join.1"]
    assert len(join.parents) == 3


def test_failures_are_exported_as_failures(console: Console, tmp_path: Path) -> None:
    fail = 'test "$1" = 2 && { echo "no data for $1" >&2; exit 3; }\n'
    steps = [
        Step("first", fail + 'printf "ID\\n%s\\n" "$1" > ERelation.txt\n'),
        Step("second", after="first"),
    ]
    spec = write_workflow(tmp_path / "wf", steps, [("1",), ("2",)], max_failure=2)
    run = console.run(spec, code=1)["run_id"]
    pytest.importorskip("prov.model", reason=EXTRA)
    text = Path(export(console, run, "prov-n")["path"]).read_text(encoding="utf-8")
    assert text.count('sc:stderr_tail="no data for 2"') == 2
    assert "second.2" not in text  # it was blocked, so it never took place
    pytest.importorskip("rocrate.rocrate", reason=EXTRA)
    crate = Path(export(console, run, "ro-crate")["path"])
    graph = json.loads((crate / "ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]
    [failed] = [each for each in graph if each.get("error", "").startswith("exit code")]
    assert failed["error"] == "exit code 3: no data for 2"
    told = export(console, run, "wfformat")
    assert told["records"]["tasks"] == 2
    assert told["warnings"] == ["2 activations have not finished: the trace leaves them out"]
