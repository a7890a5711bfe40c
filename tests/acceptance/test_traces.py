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
    tasks = console.rows(
        "SELECT values->>'ID', values->>'PARENTS', attempt.started_at, attempt.ended_at "
        "FROM used JOIN tuple USING (run_id, tuple_id) JOIN attempt USING (run_id, activation_id) "
        "WHERE run_id = %s AND generated_by IS NULL",
        done["run_id"],
    )
    ended = {task: ended_at for task, _, _, ended_at in tasks}
    assert len(ended) == done["activations"]
    for _, parents, started_at, _ in tasks:
        assert all(ended[parent] <= started_at for parent in parents.split())


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
