"""Sized runs of programs that take real memory, under mpirun: learned, enforced, never lost."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.console import Console
from tests.acceptance.workflows import PYTHON

MB = 1_000_000
DECLARED_MB = 180
FLEET = "1xlocal:4:400mb"
ROWS = 8
# Five bytes of memory per byte of input, and as many threads as it is told to have.
LOAD = """
import os, sys, threading, time
size = os.path.getsize(sys.argv[1])
held = bytearray(b"x") * (5 * size)
threads = int(os.environ.get("OMP_NUM_THREADS", "0"))
burning = [threading.Thread(target=lambda: sum(range(200_000))) for _ in range(threads)]
for each in burning: each.start()
for each in burning: each.join()
time.sleep(0.6)
seen = (*sys.argv[2:], threads, len(os.sched_getaffinity(0)))
open("ERelation.txt", "w").write("ID;GOT_CPUS;GOT_MB;THREADS;CORES\\n" + ";".join(map(str, seen)))
"""
# Dies in its own way as long as it is told that it has less than it wants.
DIE = """
import os, signal, subprocess, sys, time
how, wanted, limit = sys.argv[1], 100, int(os.environ["SCICUMULUS_MEMORY_MB"])
hold = f"import time; held = bytearray(b'x') * {wanted * 1_000_000}; time.sleep(60)"
if limit < wanted:
    if how == "grows": exec(hold)
    if how == "child": sys.exit(subprocess.run([sys.executable, "-S", "-c", hold]).returncode != 0)
    if how == "raises": raise MemoryError
    if how == "aborts": print("what(): std::bad_alloc", file=sys.stderr, flush=True); os.abort()
    if how == "killed": os.kill(os.getpid(), signal.SIGKILL)
    if how == "shell": sys.exit(137)
    if how == "errno": sys.exit("sort: Cannot allocate memory")
open("ERelation.txt", "w").write(f"ID\\n{how}\\n")
"""
DISGUISES = ("grows", "child", "raises", "aborts", "killed", "shell", "errno")


def write(directory: Path, program: str, activity: str, columns: str, rows: list[str]) -> Path:
    (directory / "bin").mkdir(parents=True)
    (directory / "bin/program").write_text(program, encoding="utf-8")
    (directory / "input.dataset").write_text("\n".join([columns, *rows]) + "\n", encoding="utf-8")
    spec = directory / "workflow.xml"
    spec.write_text(activity.replace("PYTHON", PYTHON), encoding="utf-8")
    return spec


def load_workflow(directory: Path, tag: str, sizing: str = "off") -> Path:
    """Eight inputs of 2 to 5.5 MB. Workflows of one tag learn from each other."""
    directory.mkdir()
    rows = []
    for number in range(ROWS):
        file = directory / f"data{number}"
        file.write_bytes(b"x" * (2 * MB + number * MB // 2))
        rows.append(f"{number};{file}")
    return write(
        directory,
        LOAD,
        f"""<SciCumulus>
  <conceptualWorkflow tag="{tag}">
    <activity tag="load" type="MAP" memory="{DECLARED_MB}" cpus="2"
              activation="PYTHON -S %=WFDIR%/bin/program %=DATA% %=ID% %=CPUS% %=MEMORY_MB%">
      <relation reltype="Input" name="input"/>
      <relation reltype="Output" name="output"/>
      <field name="ID" type="string" input="input" output="output"/>
      <field name="DATA" type="file" input="input"/>
      <field name="GOT_CPUS" type="float" output="output"/>
      <field name="GOT_MB" type="float" output="output"/>
      <field name="THREADS" type="float" output="output"/>
      <field name="CORES" type="float" output="output"/>
    </activity>
  </conceptualWorkflow>
  <executionWorkflow tag="load" max_failure="1" sizing="{sizing}">
    <relation name="input" filename="input.dataset"/>
  </executionWorkflow>
</SciCumulus>
""",
        "ID;DATA",
        rows,
    )


def attempts(console: Console, run: dict[str, Any]) -> list[dict[str, Any]]:
    columns = {
        "name": "name",
        "number": "number",
        "cause": "cause",
        "cpus": "cpus",
        "given_mb": "memory_mb",
        "asked_mb": "asked_memory_mb",
        "peak_mb": "peak_rss_bytes / 1048576.0",
        "granted_s": "extract(epoch FROM granted_at)",
        "ended_s": "extract(epoch FROM attempt.ended_at)",
        "input_bytes": "input_bytes",
        "because": "because",
    }
    rows = console.rows(
        f"SELECT {', '.join(columns.values())} FROM attempt"
        " JOIN activation USING (run_id, activation_id)"
        " LEFT JOIN allocation USING (run_id, activation_id, number)"
        " WHERE run_id = %s ORDER BY activation_id, number",
        run["run_id"],
    )
    return [dict(zip(columns, row, strict=True)) for row in rows]


def wasted_mb(found: list[dict[str, Any]]) -> float:
    return sum(float(each["given_mb"] - each["peak_mb"]) for each in found)


def at_once(found: list[dict[str, Any]]) -> int:
    """How many were granted at the same time, at most."""
    moments = [each["granted_s"] for each in found]
    return max(
        len([each for each in found if each["granted_s"] <= moment < each["ended_s"]])
        for moment in moments
    )


def finished(run: dict[str, Any], count: int = ROWS) -> None:
    assert run["state"] == "finished"
    assert run["finished"] == count


def test_what_is_learned_saves_memory_lets_more_run_at_once_and_loses_nothing(
    console: Console,
) -> None:
    spec = load_workflow(console.directory / "wf", "loaded")

    # Off: what is declared, and nobody is held to it or told.
    plain = console.run(spec, fleet=FLEET)
    finished(plain)
    assert {(each["cpus"], each["given_mb"]) for each in attempts(console, plain)} == {(2, None)}
    told = console.rows(
        "SELECT DISTINCT values->>'GOT_CPUS', values->>'GOT_MB', values->>'THREADS' FROM tuple"
        " WHERE run_id = %s AND generated_by IS NOT NULL",
        plain["run_id"],
    )
    assert told == [("2", str(DECLARED_MB), "0")]

    # Declared and enforced: two slots and 180 MB each, so that two fit.
    before = console.run(spec, "--sizing", "fixed", fleet=FLEET)
    finished(before)
    declared = attempts(console, before)
    assert {(each["cpus"], each["given_mb"]) for each in declared} == {(2, DECLARED_MB)}
    assert at_once(declared) == 2

    # Learned, from both.
    after = console.run(spec, "--sizing", "on", fleet=FLEET)
    finished(after)
    learned = attempts(console, after)
    assert wasted_mb(learned) < 0.5 * wasted_mb(declared)
    assert at_once(learned) > 2
    first = [each for each in learned if each["number"] == 1]
    assert all(each["asked_mb"] == DECLARED_MB for each in first)
    assert all("16 attempts peaked at" in each["because"] for each in first)
    by_input = sorted(first, key=lambda each: each["input_bytes"])
    assert by_input[0]["given_mb"] < by_input[-1]["given_mb"]
    for row in console.rows(
        "SELECT values FROM tuple WHERE run_id = %s AND generated_by IS NOT NULL", after["run_id"]
    ):
        values = row[0]
        (own,) = [each for each in learned if each["name"] == f"load.{int(values['ID']) + 1}"][-1:]
        assert (float(values["GOT_CPUS"]), float(values["GOT_MB"])) == (
            own["cpus"],
            own["given_mb"],
        )
        assert float(values["THREADS"]) == own["cpus"]
        here = len(os.sched_getaffinity(0))
        assert float(values["CORES"]) == (own["cpus"] if 1 < here <= 4 else here)

    # Why.
    said = console("explain", "load.1", "--run", str(after["run_id"]))
    assert said.code == 0
    assert f"(declared: 2 CPUs, {DECLARED_MB} MB; used at its peak:" in said.out
    assert "16 attempts peaked at" in said.out
    document = console("explain", "load.1", "--json").document
    assert document["attempts"][0]["memory_mb"] == first[0]["given_mb"]

    # Plans know what will fit.
    plan = console("plan", spec, "--fleet", FLEET, "--sizing", "on", "--json").document
    unsized = console("plan", spec, "--fleet", FLEET, "--sizing", "off", "--json").document
    assert plan["makespan_s"] < unsized["makespan_s"]


@pytest.fixture(scope="module")
def taught(module_console: Console) -> Path:
    """A workflow that has been run twice at the same time, each run sized and learned from."""
    spec = load_workflow(module_console.directory / "wf", "taught")
    command = ("run", spec, "--fleet", FLEET, "--sizing", "on", "--json")
    for said in module_console.together([command, command]):
        assert said.code == 0, said
        finished(said.document)
    return spec


def again(console: Console, spec: Path, count: int = ROWS) -> list[dict[str, Any]]:
    run = console.run(spec, "--sizing", "on", fleet=FLEET)
    finished(run, count)
    return attempts(console, run)


def test_runs_that_learn_at_the_same_time_all_teach_the_next(
    module_console: Console, taught: Path
) -> None:
    found = again(module_console, taught)
    assert all("16 attempts peaked at" in each["because"] for each in found if each["number"] == 1)


@pytest.mark.parametrize("wrong", ["0", "peak_rss_bytes * 1024"])
def test_one_poisoned_row_of_history_does_no_harm(
    module_console: Console, taught: Path, wrong: str
) -> None:
    (row,) = module_console.rows(
        "SELECT run_id, activation_id, peak_rss_bytes FROM attempt JOIN run USING (run_id)"
        " JOIN workflow USING (workflow_id) WHERE tag = 'taught' AND cause = 'finished'"
        " ORDER BY run_id DESC, activation_id LIMIT 1"
    )
    where = "WHERE run_id = %s AND activation_id = %s AND cause = 'finished' RETURNING 1"
    module_console.rows(f"UPDATE attempt SET peak_rss_bytes = {wrong} {where}", *row[:2])
    try:
        for each in again(module_console, taught):
            assert each["given_mb"] < DECLARED_MB / 2
            assert each["given_mb"] < 2 * each["peak_mb"]
    finally:
        module_console.rows(f"UPDATE attempt SET peak_rss_bytes = %s {where}", row[2], *row[:2])


def test_a_larger_input_than_any_before_finishes(module_console: Console, taught: Path) -> None:
    dataset = taught.parent / "input.dataset"
    before = dataset.read_text(encoding="utf-8")
    large = taught.parent / "large"
    large.write_bytes(b"x" * (28 * MB))
    dataset.write_text(f"ID;DATA\nlarge;{large}\n", encoding="utf-8")
    try:
        found = again(module_console, taught, count=1)
    finally:
        dataset.write_text(before, encoding="utf-8")
    assert found[-1]["given_mb"] >= 28 * MB * 5 / 2**20
    assert [each["cause"] for each in found] == ["finished"]


def test_another_version_of_the_program_starts_from_what_is_declared(
    module_console: Console, taught: Path
) -> None:
    program = taught.parent / "bin/program"
    before = program.read_text(encoding="utf-8")
    program.write_text(before.replace("5 * size", "12 * size"), encoding="utf-8")
    try:
        found = again(module_console, taught)
    finally:
        program.write_text(before, encoding="utf-8")
    declared = [each for each in found if each["given_mb"] == DECLARED_MB]
    assert len(declared) >= 2  # at least those that ran before the first five had ended
    assert all("are known, 5 are needed" in each["because"] for each in declared)
    assert {each["cause"] for each in found} == {"finished"}


def test_lack_of_memory_is_known_in_every_disguise_and_costs_no_failure(console: Console) -> None:
    spec = write(
        console.directory / "wf",
        DIE,
        """<SciCumulus>
  <conceptualWorkflow tag="die">
    <activity tag="die" type="MAP" memory="30" activation="PYTHON -S %=WFDIR%/bin/program %=ID%">
      <relation reltype="Input" name="input"/>
      <relation reltype="Output" name="output"/>
      <field name="ID" type="string" input="input" output="output"/>
    </activity>
  </conceptualWorkflow>
  <executionWorkflow tag="die" max_failure="1" sizing="fixed">
    <relation name="input" filename="input.dataset"/>
  </executionWorkflow>
</SciCumulus>
""",
        "ID",
        list(DISGUISES),
    )
    run = console.run(spec, fleet="1xlocal:2:800mb")
    finished(run, len(DISGUISES))
    found = attempts(console, run)
    for number, how in enumerate(DISGUISES, start=1):
        own = [each for each in found if each["name"] == f"die.{number}"]
        assert [each["given_mb"] for each in own] == [30, 60, 120], how
        causes = [each["cause"] for each in own]
        assert causes == ["out of memory", "out of memory", "finished"], how
    said = console("explain", "die.1")
    assert "it needed more memory than there was" in said.out
    assert "30 MB were not enough: 60 MB" in said.out
    assert "killed at" in console("logs", "die.1").out


def test_an_unknown_sizer_is_refused_before_anything_runs(console: Console) -> None:
    spec = load_workflow(console.directory / "wf", "refused")
    said = console("run", spec, "--sizing", "quantil")
    assert said.code == 2
    assert "there is no sizer 'quantil'" in said.err
    assert "known: quantile, fixed" in said.err
