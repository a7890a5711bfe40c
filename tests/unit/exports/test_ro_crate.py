"""Provenance Run Crate: written and read by the package `rocrate`."""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scicore.exports.formats import Options, Written
from scicore.exports.snapshot import FileRow, Snapshot
from tests.unit.exports import building as b

pytest.importorskip("rocrate", reason="the extra `exports` is not installed")

from rocrate.rocrate import ROCrate

from scicore.exports import ro_crate


@pytest.fixture
def run(tmp_path: Path) -> Snapshot:
    """The run with real files: in its directory, outside of it, gone, changed."""
    lab = tmp_path / "lab"
    (lab / "runs").mkdir(parents=True)
    made = b.snapshot()
    head = b.head(
        run=replace(made.head.run, directory=str(lab / "runs")),
        workflow=replace(b.workflow(), directory=str(lab), experiment_directory=str(lab)),
    )
    rows = []
    places = [lab / "a.map", lab / "runs" / "p 1", lab / "runs" / "gone", tmp_path / "outside"]
    for row, path in zip(made.files, places, strict=True):
        path.write_text(f"{path.name} content")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        rows.append(FileRow(row.tuple_id, row.field, str(path), path.stat().st_size, digest))
    (lab / "runs" / "gone").unlink()
    return replace(made, head=head, files=tuple(rows))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "run.crate"


@pytest.fixture
def written(run: Snapshot, target: Path) -> Written:
    return ro_crate.write(run, target, Options())


@pytest.fixture
def crate(written: Written, target: Path) -> Any:
    return ROCrate(target)


def ids(value: Any) -> list[str]:
    return [each.id for each in (value if isinstance(value, list) else [value])]


def test_it_says_which_profiles_it_follows(crate: Any) -> None:
    assert ids(crate.root_dataset["conformsTo"]) == [
        "https://w3id.org/ro/wfrun/process/0.5",
        "https://w3id.org/ro/wfrun/workflow/0.5",
        "https://w3id.org/ro/wfrun/provenance/0.5",
        "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
    ]
    assert crate.version == "1.1"
    for required in ("name", "description", "datePublished", "license", "mainEntity"):
        assert crate.root_dataset[required]


def test_the_workflow_is_the_main_entity_with_its_steps(crate: Any, target: Path) -> None:
    workflow = crate.mainEntity
    assert workflow.id == "workflow.xml"
    assert set(workflow.type) == {"File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"}
    assert (target / "workflow.xml").read_text() == b.SOURCE
    assert ids(workflow["step"]) == ["#step/cut", "#step/fit", "#step/all", "#step/late"]
    programs = [step["workExample"].id for step in workflow["step"]]
    assert programs == ["#program/cut", "#program/fit", "#program/all", "#program/late"]
    assert ids(workflow["hasPart"]) == programs[:3]  # the last never ran
    assert ids(workflow["input"]) == ["#relation/stations"]
    assert workflow["programmingLanguage"]["name"] == "SciCumulus XML"


def test_the_run_is_an_action_of_the_workflow(crate: Any) -> None:
    run = crate.get("#run")
    assert run["instrument"] is crate.mainEntity
    assert run["agent"]["name"] == "ana maria"
    assert run["startTime"] == "2026-05-01T12:00:00.000+00:00"
    assert run["actionStatus"] == "http://schema.org/FailedActionStatus"
    assert run["error"] == "the run is failed"
    assert "relation/stations.csv" in ids(run["object"])
    assert crate.get("#engine-run")["result"] is run


def test_every_activation_that_happened_is_an_action(crate: Any) -> None:
    actions = {action.id: action for action in crate.get_by_type("CreateAction")}
    assert sorted(actions) == [*(f"#activation/{id}" for id in range(1, 7)), "#run"]
    fit = actions["#activation/3"]
    assert fit["instrument"].id == "#program/fit"
    assert ids(fit["object"]) == ["#tuple/3", "file/3/PIECE/p%201"]
    assert ids(fit["result"]) == ["#tuple/6"]
    assert fit["location"]["name"] == "t2.micro-2"
    assert fit["description"].startswith(
        "attempt 1 on t2.micro-1: exit code; attempt 2 on t2.micro-2: finished"
    )
    usage = {each["name"]: each["value"] for each in fit["resourceUsage"]}
    assert usage == {
        "CPU time": "1.75",
        "peak memory": "5000000000",
        "bytes written": "4096",
    }
    failed = actions["#activation/5"]
    assert failed["actionStatus"] == "http://schema.org/FailedActionStatus"
    assert failed["error"] == "exit code 3: no data"
    assert "result" not in failed
    controls = crate.get_by_type("ControlAction")
    assert sorted(id for control in controls for id in ids(control["object"])) == sorted(
        set(actions) - {"#run"}
    )


def test_tuples_are_property_values_of_their_relation(crate: Any) -> None:
    tuple_ = crate.get("#tuple/1")
    assert json.loads(tuple_["value"]) == {"NAME": b.ODD, "MAP": "a.map"}
    assert tuple_["exampleOfWork"].id == "#tuple-of/stations"


def test_every_reference_leads_to_an_entity(crate: Any, target: Path) -> None:
    graph = json.loads((target / "ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]
    known = {entity["@id"] for entity in graph}
    assert len(known) == len(graph)
    for entity in graph:
        for name, value in entity.items():
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict) and name != "conformsTo":
                    assert each["@id"] in known, (entity["@id"], name)


def test_small_files_are_copied_and_others_told_about(
    written: Written, crate: Any, run: Snapshot, target: Path
) -> None:
    assert (target / "file/1/MAP/a.map").read_text() == "a.map content"
    assert (target / "file/3/PIECE/p 1").read_text() == "p 1 content"
    assert crate.get("file/3/PIECE/p%201")["sha256"] == run.files[1].sha256
    assert not (target / "file/4").exists()
    assert not (target / "file/5").exists()
    for row in run.files[2:]:
        told = crate.get(f"file://lab7{row.path}")
        assert told["contentSize"] == str(row.size_bytes)
        assert told["sha256"] == row.sha256
    assert set(written.warnings) == {
        "1 file is referred to, not copied: no longer there",
        "1 file is referred to, not copied: outside of the workflow's directories",
    }


def test_large_and_changed_files_are_only_told_about(run: Snapshot, target: Path) -> None:
    Path(run.files[0].path).write_text("another day")
    written = ro_crate.write(run, target, Options(max_file_bytes=len("a.map content")))
    assert set(written.warnings) == {
        "1 file is referred to, not copied: changed since the run",
        "1 file is referred to, not copied: no longer there",
        "1 file is referred to, not copied: larger than 1.3e-05 MB (--max-file-size)",
    }
    assert [str(path.relative_to(target)) for path in (target / "file").rglob("*/*/*")] == [
        "file/3/PIECE/p 1"
    ]


def test_a_link_out_of_the_workflow_is_not_followed(run: Snapshot, target: Path) -> None:
    secret = target.parent / "secret"
    secret.write_text("a.map content")  # even with the same checksum
    map_ = Path(run.files[0].path)
    map_.unlink()
    map_.symlink_to(secret)
    ro_crate.write(run, target, Options())
    assert not (target / "file/1").exists()


def test_a_target_called_zip_is_one_file(run: Snapshot, tmp_path: Path) -> None:
    target = tmp_path / "run.zip"
    written = ro_crate.write(run, target, Options())
    assert written.files == ()
    with zipfile.ZipFile(target) as archive:
        assert archive.testzip() is None
        assert {"ro-crate-metadata.json", "workflow.xml", "file/3/PIECE/p 1"} <= set(
            archive.namelist()
        )
    assert ROCrate(target).mainEntity.id == "workflow.xml"


def test_a_run_that_has_not_started_follows_the_simpler_profile(
    run: Snapshot, target: Path
) -> None:
    ro_crate.write(replace(run, activations=(), attempts=(), used=(), files=()), target, Options())
    crate = ROCrate(target)
    profiles = ids(crate.root_dataset["conformsTo"])
    assert "https://w3id.org/ro/wfrun/workflow/0.5" in profiles
    assert "https://w3id.org/ro/wfrun/provenance/0.5" not in profiles
    assert [action.id for action in crate.get_by_type("CreateAction")] == ["#run"]


def test_relations_are_csv_files(crate: Any, target: Path) -> None:
    lines = (target / "relation/summary.csv").read_text(encoding="utf-8").splitlines()
    assert lines == ["tuple_id,path,generated_by,COUNT", "8,8,6,2.0"]
    assert crate.get("relation/summary.csv")["exampleOfWork"].id == "#relation/summary"
