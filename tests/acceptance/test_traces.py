"""Traces of other systems: imported, planned, and played again for real."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.acceptance.console import Console

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
GENERATOR = ROOT / "workflows" / "montage_trace" / "generate.py"
TRACES = sorted([*SHARED.glob("dax/*.xml"), *SHARED.glob("wfformat/*.json")])


def montage(console: Console, name: str, *options: str) -> Path:
    trace = console.directory / name
    made = console.execute(
        sys.executable, GENERATOR, "--activations", "25", "--seed", "1", "-o", trace, *options
    )
    assert made.code == 0, made
    return trace


@pytest.mark.parametrize(("name", "options"), [("m.json", ()), ("m.xml", ("--format", "dax"))])
def test_a_trace_is_played_again_with_its_edges_and_files(
    name: str, options: tuple[str, ...], console: Console
) -> None:
    trace = montage(console, name, *options)
    done = console.run(trace, "--replay", "--time-scale", "0.001", "--size-scale", "0.001")
    assert done["finished"] == done["activations"] > 20
    files = list(Path(done["directory"], "files").iterdir())
    assert len(files) > 20
    early = console.rows(
        "SELECT child.name FROM attempt AS child_attempt "
        "JOIN activation AS child USING (run_id, activation_id) "
        "JOIN used ON used.run_id = child.run_id AND used.activation_id = child.activation_id "
        "JOIN tuple ON tuple.run_id = used.run_id AND tuple.tuple_id = used.tuple_id "
        "CROSS JOIN LATERAL regexp_split_to_table(tuple.values->>'PARENTS', ' ') AS parent_id "
        "JOIN tuple AS parent_tuple ON parent_tuple.run_id = tuple.run_id "
        " AND parent_tuple.values->>'ID' = parent_id "
        "JOIN used AS parent_used ON parent_used.run_id = tuple.run_id "
        " AND parent_used.tuple_id = parent_tuple.tuple_id "
        "JOIN attempt AS parent ON parent.run_id = tuple.run_id "
        " AND parent.activation_id = parent_used.activation_id "
        "WHERE child.run_id = %s AND child_attempt.started_at < parent.ended_at",
        done["run_id"],
    )
    assert early == []


def test_an_imported_trace_is_a_workflow_like_any_other(console: Console) -> None:
    trace = montage(console, "m.json")
    said = console(
        "import", trace, "-o", "imported/workflow.xml", "--time-scale", "0.001", "--json"
    )
    assert said.code == 0, said
    spec = console.directory / "imported" / "workflow.xml"
    done = console.run(spec)
    assert done["finished"] == said.document["activations"]
    again = console("import", trace, "-o", spec)
    assert (again.code, "--force" in again.err) == (2, True)


def test_a_trace_is_not_run_without_saying_so(console: Console) -> None:
    said = console("run", montage(console, "m.json"))
    assert said.code == 2
    assert "--replay" in said.err
    said = console("run", ROOT / "workflows/climate/workflow.xml", "--replay")
    assert (said.code, "no trace" in said.err) == (2, True)


def test_a_broken_trace_is_refused_with_its_problems(console: Console) -> None:
    trace = montage(console, "m.json")
    document = json.loads(trace.read_text())
    document["workflow"]["specification"]["tasks"][0]["parents"] = ["nobody"]
    trace.write_text(json.dumps(document))
    said = console("plan", trace)
    assert said.code == 2
    assert "nobody" in said.err


@pytest.mark.skipif(not TRACES, reason="the public traces are not beside this checkout")
@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.stem)
def test_every_public_trace_is_planned_and_played_again(trace: Path, console: Console) -> None:
    planned = console("plan", trace, "--fleet", "8xt2.micro,1xt2.2xlarge", "--json")
    assert planned.code == 0, planned
    if planned.document["activations"] > 120:
        return  # playing it again takes too long here
    done = console.run(trace, "--replay", "--time-scale", "0", "--size-scale", "0")
    assert done["finished"] == done["activations"] == planned.document["activations"]
