"""Many activations served by one process: functions and programs on stdin, in whole runs."""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path
from textwrap import dedent

from tests.acceptance.console import PATIENCE_S, SCICUMULUS, Console, eventually, finish

MODULE = """
    import os, pathlib, signal, time

    HERE = pathlib.Path(__file__).parent

    def note(t):
        with open(HERE / "calls", "a") as file:
            file.write(t["ID"] + "\\n")

    def square(t):
        return {"SQUARE": int(t["ID"]) ** 2}

    def odd(t):
        return {} if int(t["ID"]) % 2 else None

    def halves(t):
        return [{"PART": "low"}, {"PART": "high"}]

    def trouble(t):
        if t["ID"] == "3": raise ValueError("three is too much")
        if t["ID"] == "5": os.kill(os.getpid(), signal.SIGKILL)
        if t["ID"] == "7": time.sleep(1000)
        return {"SQUARE": int(t["ID"]) ** 2}

    def once_wrong(t):
        mark = HERE / f"tried-{t['ID']}"
        if t["ID"] == "2" and not mark.exists():
            mark.touch()
            raise OSError("not yet")
        return {"SQUARE": 0}

    def slow(t):
        note(t)
        time.sleep(0.1)
        return {"SQUARE": int(t["ID"]) ** 2}
"""

PROGRAMS = {
    "odd": """
        import csv, sys
        print("ID;SQUARE")
        for t in csv.DictReader(sys.stdin, delimiter=";"):
            if int(t["ID"]) % 2:
                print(t["ID"], t["SQUARE"], sep=";")
            print(flush=True)
    """,
    "square": """
        import csv, os, signal, sys, time
        print("SQUARE")
        for t in csv.DictReader(sys.stdin, delimiter=";"):
            if t["ID"] == "3": print("a;b")
            if t["ID"] == "5": os.kill(os.getpid(), signal.SIGKILL)
            if t["ID"] == "7": time.sleep(1000)
            print(int(t["ID"]) ** 2)
            print(flush=True)
    """,
    "halves": """
        import sys
        print("PART")
        next(sys.stdin)
        for line in sys.stdin:
            print("low\\nhigh\\n", flush=True)
    """,
}


def activity(
    tag: str, operator: str, command: str, gives: str, after: str = "", more: str = ""
) -> str:
    source = f'dependency="{after}"' if after else 'name="numbers"'
    given = "" if after else 'input="numbers"'
    fields = "".join(
        f'<field name="{name}" type="string" output="{tag}_out" {given if name == "ID" else ""}/>'
        for name in gives.split()
    )
    return f"""
    <activity tag="{tag}" type="{operator}" activation="{command}" {more}>
      <relation reltype="Input" {source}/><relation reltype="Output" name="{tag}_out"/>{fields}
    </activity>"""


def workflow(directory: Path, *activities: str, count: int = 12, max_failure: int = 1) -> Path:
    directory.mkdir()
    (directory / "work.py").write_text(dedent(MODULE))
    for name, text in PROGRAMS.items():
        (directory / f"{name}.py").write_text(dedent(text))
    numbers = "\n".join(map(str, range(1, count + 1)))
    (directory / "numbers.dataset").write_text(f"ID\n{numbers}\n")
    spec = directory / "workflow.xml"
    spec.write_text(
        f"""<SciCumulus><conceptualWorkflow tag="batched">{"".join(activities)}
        </conceptualWorkflow><executionWorkflow tag="batched" max_failure="{max_failure}">
        <relation name="numbers" filename="numbers.dataset"/></executionWorkflow></SciCumulus>"""
    )
    return spec


def stdin(name: str) -> str:
    return f"python3 %=WFDIR%/{name}.py"


def values(console: Console, run: int, relation: str) -> list[tuple[str, ...]]:
    question = (
        'SELECT path, "values" FROM tuple JOIN relation USING (relation_id)'
        " WHERE run_id = %s AND name = %s"
    )
    found = console.rows(question, run, relation)
    return sorted((path, *row.values()) for path, row in found)


def causes(console: Console, run: int) -> dict[str, tuple[str, str]]:
    question = (
        "SELECT name, cause, stderr_tail FROM attempt JOIN activation USING (run_id, activation_id)"
        " WHERE run_id = %s AND cause <> 'finished'"
    )
    return {name: (cause, tail) for name, cause, tail in console.rows(question, run)}


def test_functions_and_programs_feed_each_other(console: Console) -> None:
    warm = 'batch="stdin"'
    spec = workflow(
        console.directory / "wf",
        activity("square", "MAP", "python:work.square", "ID SQUARE"),
        activity("odd", "FILTER", stdin("odd"), "ID SQUARE", "square", warm),
        activity("halves", "SPLIT_MAP", "python:work.halves", "ID PART", "odd"),
        activity("again", "FILTER", "python:work.odd", "ID PART", "halves"),
        activity("more", "SPLIT_MAP", stdin("halves"), "ID PART", "odd", warm),
        activity("plain", "MAP", stdin("odd"), "ID SQUARE", "odd", warm),
    )
    run = console.run(spec)
    assert run["activations"] == run["finished"] == run["attempts"] == 12 + 12 + 6 + 12 + 6 + 6
    squares = [(str(n), str(n), str(n * n)) for n in range(1, 13)]
    assert values(console, run["run_id"], "square_out") == sorted(squares)
    odd = [row for row in squares if int(row[0]) % 2]
    assert values(console, run["run_id"], "odd_out") == sorted(odd)
    parts = [(f"{n}.{k}", str(n), p) for n, *_ in odd for k, p in ((1, "low"), (2, "high"))]
    assert values(console, run["run_id"], "again_out") == sorted(parts)
    assert values(console, run["run_id"], "more_out") == sorted(parts)
    measured = console.rows(
        "SELECT bool_and(cpu_s >= 0 AND ended_at >= started_at AND slot = 1) FROM attempt"
        " WHERE run_id = %s",
        run["run_id"],
    )
    assert measured == [(True,)]
    assert console.processes() == {}


def test_what_fails_fails_alone(console: Console) -> None:
    for name, command, more in (
        ("function", "python:work.trouble", ""),
        ("program", stdin("square"), 'batch="stdin"'),
    ):
        whole = activity("work", "MAP", command, "ID SQUARE", more=f'{more} timeout="2"')
        run = console.run(workflow(console.directory / name, whole), code=1)
        assert (run["finished"], run["failed"]) == (9, 3), name
        failed = causes(console, run["run_id"])
        assert set(failed) == {"work.3", "work.5", "work.7"}
        assert failed["work.3"][0] == ("exit code" if name == "function" else "bad output")
        assert failed["work.7"][0] == "timeout"
    assert "ValueError: three" in causes(console, run["run_id"] - 1)["work.3"][1]


def test_a_call_that_failed_is_tried_again(console: Console) -> None:
    whole = activity("work", "MAP", "python:work.once_wrong", "ID SQUARE")
    run = console.run(workflow(console.directory / "wf", whole, max_failure=2))
    assert (run["finished"], run["attempts"]) == (12, 13)


def test_a_module_that_is_not_there_is_told_before_anything_starts(console: Console) -> None:
    spec = workflow(console.directory / "wf", activity("work", "MAP", "python:no.such", "ID"))
    for verb in ("validate", "run"):
        said = console(verb, spec)
        assert said.code == 2
        assert "no.py is not there" in said.out + said.err


class Slow:
    """A run of slow calls that can be disturbed."""

    def __init__(self, console: Console, count: int = 40) -> None:
        self.console = console
        self.count = count
        whole = activity("work", "MAP", "python:work.slow", "ID SQUARE")
        self.spec = workflow(console.directory / "wf", whole, count=count)
        words = ("run", self.spec, "--fleet", "2xlocal", "--json")
        self.process = console.start(SCICUMULUS, *words)
        eventually(lambda: self.calls().total() >= 5, "five calls")

    def calls(self) -> Counter[str]:
        path = self.spec.parent / "calls"
        return Counter(path.read_text().split()) if path.exists() else Counter()

    def workers(self) -> list[int]:
        found = self.console.processes()
        return [pid for pid, words in found.items() if "function_worker" in words]

    def complete(self, run_id: int, again: int) -> None:
        results = self.console.rows(
            "SELECT count(*), count(DISTINCT activation_id) FROM attempt"
            " WHERE run_id = %s AND cause = 'finished'",
            run_id,
        )
        assert results == [(self.count, self.count)]
        expected = sorted((str(n), str(n), str(n * n)) for n in range(1, self.count + 1))
        assert values(self.console, run_id, "work_out") == expected
        extra = self.calls().total() - self.count
        assert 0 <= extra <= again, self.calls()
        eventually(lambda: not self.console.processes(), "the end of all processes", 30)


def test_a_killed_worker_costs_only_what_it_ran(console: Console) -> None:
    slow = Slow(console)
    os.kill(slow.workers()[0], signal.SIGKILL)
    said = finish(slow.process)
    run = said.document
    # max_failure is 1: what it was at has failed, and nothing else; between two, nothing at all
    assert run["failed"] <= 1, said
    assert (said.code, run["finished"]) == (run["failed"], slow.count - run["failed"])
    assert slow.count - run["failed"] <= slow.calls().total() <= slow.count


def test_everything_is_killed_and_the_run_is_resumed(console: Console) -> None:
    slow = Slow(console)
    run_id = console.rows("SELECT max(run_id) FROM run")[0][0]
    for pid in console.processes():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: not console.processes(), "the end of all processes")
    said = console("resume", str(run_id), "--json")
    assert said.code == 0, said
    slow.complete(run_id, again=2)


def test_the_master_is_killed_and_calls_go_on(console: Console) -> None:
    slow = Slow(console)
    ranks = [
        pid
        for pid, words in console.processes().items()
        if "-m scicore" in words and "mpirun" not in words and "prterun" not in words
    ]
    os.kill(min(ranks), signal.SIGKILL)
    said = finish(slow.process)
    assert said.code == 0, said
    slow.complete(said.document["run_id"], again=0)


def test_a_run_of_calls_can_be_cancelled(console: Console) -> None:
    slow = Slow(console, count=2000)
    said = console("cancel", "last", "--json")
    assert said.code == 0, said
    done = finish(slow.process)
    assert done.code == 4, done
    assert done.document["state"] == "stopped"
    assert slow.calls().total() < 2000
    eventually(lambda: not console.processes(), "the end of all processes", PATIENCE_S)
