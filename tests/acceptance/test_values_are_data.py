"""Whatever stands in a dataset reaches programs and provenance unchanged, and never runs."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.acceptance.console import Console
from tests.acceptance.workflows import PYTHON, Step, write_workflow

VALUES = [
    "; touch owned",
    "$(touch owned)",
    "`touch owned`",
    "'; touch owned; '",
    '"; touch owned; "',
    "|touch owned",
    "&& touch owned",
    "> owned",
    "%=ID%",
    "%=WFDIR%",
    "%s%d%%",
    ":run {curly} \\backslash\\",
    "'; DROP TABLE tuple; --",
    "-rf",
    "--help",
    "~",
    "*",
    "$HOME",
    " leading and trailing ",
    "\ttab",
    "naïve Ωμέγα 漢字 שלום",
    "emoji 🦜 and joined 👩‍🔬",
    "e\u0301 is not \u00e9",
    "two\nlines",
    "",
    "x" * 100_000,
]
TELL = """
import csv, os, pathlib, sys
pathlib.Path("argv").write_bytes(b"\\0".join(map(os.fsencode, sys.argv[1:])))
with open("ERelation.txt", "w", newline="", encoding="utf-8") as stream:
    csv.writer(stream, delimiter=";", lineterminator="\\n").writerows([["VALUE"], [sys.argv[2]]])
"""
GATHER = """
import csv, hashlib, pathlib
with open("again_out.hfrag", newline="", encoding="utf-8") as stream:
    values = sorted(row["VALUE"] for row in csv.DictReader(stream, delimiter=";"))
digest = hashlib.sha256("\\0".join(values).encode()).hexdigest()
pathlib.Path("ERelation.txt").write_text(f"DIGEST\\n{digest}\\n")
"""
FIELDS = ("ID", "VALUE", "TEAM")
STEPS = [
    Step("tell", TELL, ("ID", "VALUE"), FIELDS, interpreter=PYTHON),
    Step("again", TELL, ("ID", "VALUE"), FIELDS, after="tell", interpreter=PYTHON),
    Step(
        "gather",
        GATHER,
        (),
        ("DIGEST",),
        after="again",
        operator="REDUCE",
        operand="TEAM",
        interpreter=PYTHON,
    ),
]


def test_values_arrive_unchanged_and_are_never_run(console: Console) -> None:
    directory = console.directory / 'it\'s a "strange" $(touch owned) ;name ☂'
    rows = [(str(number), value, "all") for number, value in enumerate(VALUES, start=1)]
    too_long = [("long", "x" * 200_000, "none")]  # for the system to start any program with it
    run = console.run(write_workflow(directory, STEPS, [*rows, *too_long], FIELDS), code=1)
    assert run["finished"] == 2 * len(VALUES) + 1
    assert (run["failed"], run["blocked"]) == (1, 2)

    for activity in ("tell", "again"):
        for number, value, _ in rows:
            seen = Path(run["directory"], activity, number, "argv").read_bytes()
            assert seen == number.encode() + b"\0" + value.encode()
    assert not list(console.directory.rglob("owned*"))

    stored = console.rows(
        "SELECT name, values->>'ID', values->>'VALUE' FROM tuple JOIN relation USING (relation_id)"
        " WHERE run_id = %s AND name <> 'gather_out' AND values->>'ID' <> 'long'",
        run["run_id"],
    )
    relations = ("input", "tell_out", "again_out")
    expected = {(relation, *row[:2]) for relation in relations for row in rows}
    assert set(stored) == expected
    assert len(stored) == len(expected)

    digest = hashlib.sha256("\0".join(sorted(VALUES)).encode()).hexdigest()
    (output,) = console.query("outputs", run["run_id"])
    assert output["values"] == {"DIGEST": digest}
    (failure,) = console.query("failures", run["run_id"])
    assert (failure["activation"], failure["cause"]) == (f"tell.{len(rows) + 1}", "not started")
    assert "too long" in failure["stderr"]


def test_a_program_inherits_nothing_of_the_engine(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its descriptors nor what mpirun has put into the environment."""
    code = """
import os
seen = sorted(int(name) for name in os.listdir("/proc/self/fd"))[:-1]  # the last one lists them
names = [name for name in os.environ if name.startswith(("OMPI", "PMIX", "PRTE", "LD_LIBRARY"))]
open("ERelation.txt", "w").write(f"SEEN\\n{seen + names}\\n")
"""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    step = Step("look", code, gives=("SEEN",), interpreter=PYTHON)
    run = console.run(write_workflow(console.directory / "wf", [step], [("1",), ("2",)]))
    assert {row["values"]["SEEN"] for row in console.query("outputs", run["run_id"])} == {
        "[0, 1, 2]"
    }


def test_an_empty_dataset_gives_a_finished_run_without_activations(console: Console) -> None:
    steps = [Step("a"), Step("b", after="a", operator="REDUCE", operand="ID"), Step("c", after="b")]
    run = console.run(write_workflow(console.directory / "wf", steps, rows=[]))
    assert run["state"] == "finished"
    assert run["activations"] == run["attempts"] == run["failed"] == 0
    assert run["activities"] == [{"activity": tag} for tag in ("a", "b", "c")]
    assert console.rows("SELECT * FROM tuple WHERE run_id = %s", run["run_id"]) == []
