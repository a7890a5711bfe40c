"""What planning verbs refuse: exit code 2, with what was found and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine

from scicore.cli import main
from scicore.provenance.connection import Database

TRACE = """{"name": "tiny", "schemaVersion": "1.5", "workflow": {"specification": {"tasks": [
{"name": "a", "id": "a1", "parents": [], "children": [], "inputFiles": [], "outputFiles": []}],
"files": []}, "execution": {"makespanInSeconds": 1, "executedAt": "2026-01-01T00:00:00Z",
"tasks": [{"id": "a1", "runtimeInSeconds": 5, "coreCount": 1}]}}}"""


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine) -> str:
    """A specification to ask about. All questions share a connection, which a process would not."""
    database = Database("", engine)
    monkeypatch.setattr("scicore.provenance.connection.connect", lambda url: database)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text("[[vm_type]]\nname = 'x'\n", encoding="utf-8")
    (tmp_path / "tiny.json").write_text(TRACE, encoding="utf-8")
    return "tiny.json"


def test_a_sound_question_is_answered(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", trace, "--fleet", "1xt2.micro", "--algorithms", "heft"]) == 0
    assert "5.000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("verb", "options", "told"),
    [
        ("plan", "--fleet 1xt9.huge", "VM type 't9.huge' is not known"),
        ("plan", "--fleet=", "expected COUNTxTYPE"),
        ("plan", "--fleet 0xlocal", "expected COUNTxTYPE"),
        ("plan", "--algorithm hefty", "did you mean 'heft'?"),
        ("plan", "--algorithm heft --set alpha=1", "has no parameter 'alpha'"),
        ("plan", "--algorithm reassign --set alhpa=1", "did you mean 'alpha'?"),
        ("plan", "--algorithm reassign --set alpha=much", "expected a number"),
        ("plan", "--set alpha", "expected NAME=VALUE"),
        ("plan", "--budget soon", "expected a time such as 5s"),
        ("plan", "--curve curve.pdf", "can be written as .svg or .png"),
        ("plan", "--catalog bad.toml", "VM type 1 has no slots"),
        ("plan", "--catalog none.toml", "cannot be read"),
        ("plan", "--transfer pigeon", "pigeon"),
        ("plan", "--objective speed", "speed"),
        ("plan", "--deadline soon", "expected a time such as 5s"),
        ("plan", "--deadline 0s", "found a deadline of 0, expected more than 0"),
        ("plan", "--max-cost much", "expected USD such as 5"),
        ("plan", "--max-cost 0", "found a highest cost of 0, expected more than 0"),
        ("plan", "--deadline 1h --confidence 1", "--confidence 1: expected more than 0 and less"),
        ("plan", "--deadline 1h --noise=-1", "--noise"),
        ("plan", "--objective cost --picture front.gif", "can be written as .svg or .png"),
        ("plan", "--objective cost --curve curve.png", "draw the front with --picture"),
        ("plan", "--fleet auto --processors", "VMs that are rented have slots"),
        ("plan", "--fleet auto --quota 0", "--quota"),
        ("whatif", "--fleet 1xt9.huge", "VM type 't9.huge' is not known"),
        ("whatif", "--algorithms heft,fsfc", "did you mean 'fcfs'?"),
        ("compare", "--algorithms heft,fsfc", "did you mean 'fcfs'?"),
        ("compare", "--fleet 1xt9.huge", "known types: local, a1.4xlarge"),
        ("simulate", "--noise=-1", "expected a sigma from 0 to 5"),
        ("simulate", "--failures 1.5", "expected a share from 0 to 1"),
        ("simulate", "--failures 1", "expected 0 to less than 1"),
        ("simulate", "--slowdown much", "expected SHARE:FACTOR"),
        ("simulate", "--slowdown 0.5:0.5", "expected 1 or more"),
        ("simulate", "--repeat 0", "--repeat"),
        ("simulate", "--gantt chart.gif", "can be written as .svg or .png"),
        ("simulate", "--plan 99999", "there is no plan 99999"),
        ("simulate", "--plan 1 --fleet 1xlocal", "brings its own fleet"),
    ],
)
def test_what_makes_no_sense_is_refused(
    trace: str, verb: str, options: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, trace, *options.split()]) == 2
    assert told in capsys.readouterr().err


def test_a_plan_that_is_not_there_cannot_be_explained(
    trace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "plan", "99999"]) == 2
    assert "there is no plan 99999" in capsys.readouterr().err
