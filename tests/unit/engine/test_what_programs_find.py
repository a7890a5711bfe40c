"""What a program finds when it starts, and what it is found to have used."""

from __future__ import annotations

import signal
import stat
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from scicore.model.activation import Cause
from scicore.model.workflow import Operator, Relation
from tests.unit.engine.program_bench import (
    WORK,
    WRITES_ITS_ARGUMENT,
    Bench,
    ended,
    looks,
    order,
)


def test_stdin_is_empty(bench: Bench) -> None:
    code = """
        import sys
        open("ERelation.txt", "w").write(f"ID\\n{len(sys.stdin.read())}\\n")
    """
    assert bench.run(replace(WORK, command=bench.python(code))).rows == (("0",),)


def test_a_program_sees_neither_the_databases_secrets_nor_the_launcher(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = {
        "SCICUMULUS_DATABASE_URL": "postgresql://secret@host/db",
        "PGPASSWORD": "secret",
        "PGPASSFILE": "/secret",
        "OMPI_COMM_WORLD_RANK": "1",
        "PMIX_RANK": "1",
        "PRTE_LAUNCHED": "1",
        "SCICUMULUS_SUPERVISED": "1",
    }
    for name, value in {**hidden, "MY_SETTING": "mine"}.items():
        monkeypatch.setenv(name, value)
    code = """
        import os
        open("ERelation.txt", "w").write("ID\\n" + ",".join(os.environ) + "\\n")
    """
    ((text,),) = bench.run(replace(WORK, command=bench.python(code))).rows
    seen = set(text.split(","))
    assert seen.isdisjoint(hidden)
    assert {"MY_SETTING", "PATH"} <= seen


@pytest.mark.parametrize(
    ("before", "after"),
    [("{ours}:{ours}:/mine::/too", "/mine::/too"), ("{ours}", "none"), ("/mine", "/mine")],
)
def test_a_program_does_not_search_the_launchers_libraries(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    """mpirun puts them before those of the user."""
    monkeypatch.setenv("LD_LIBRARY_PATH", before.format(ours=Path(sys.prefix, "lib")))
    code = """
        import os
        seen = os.environ.get("LD_LIBRARY_PATH", "none")
        open("ERelation.txt", "w").write(f"ID\\n{seen}\\n")
    """
    assert bench.run(replace(WORK, command=bench.python(code))).rows == ((after,),)


def test_a_program_ignores_no_signal_though_its_keeper_does(bench: Bench) -> None:
    """As after `nohup`, or in the background of a shell."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        ended = bench.run(replace(WORK, command="/bin/grep -h SigIgn /proc/self/status"))
    finally:
        signal.signal(signal.SIGHUP, before)
    mask = int(Path(ended.workspace, "stdout.txt").read_text().split()[1], 16)  # a bit for each
    assert not [number for number in signal.valid_signals() if mask >> (number - 1) & 1]


def test_an_activity_may_set_variables_of_its_own(bench: Bench) -> None:
    code = """
        import os
        open("ERelation.txt", "w").write("ID\\n" + os.environ["WHO"] + "\\n")
    """
    work = replace(WORK, command=bench.python(code), environment=(("WHO", "it is %=ID%"),))
    assert bench.run(work).rows == (("it is x",),)


HOSTILE = (
    "; touch pwned",
    "$(touch pwned)",
    "`touch pwned`",
    "a b  c",
    "> pwned",
    "| tee pwned",
    "&& touch pwned",
    "'\"\\",
    "* ? [a-z] ~ {a,b} !!",
    "--help",
    "line\nbreak",
    "%=WFDIR%",
    "ünïcode ☃",
    "",
)


@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_arrives_as_one_argument_whatever_is_in_it(bench: Bench, value: str) -> None:
    command = bench.python(WRITES_ITS_ARGUMENT)
    attempt = bench.run(replace(WORK, command=f"{command} %=ID%"), (value,))
    assert (attempt.cause, attempt.rows) == (Cause.FINISHED, ((value,),))
    left = {path.name for path in bench.runs.rglob("*") if path.is_file()}
    assert left - {"stdout.txt", "stderr.txt"} == {"ERelation.txt"}  # nothing else was run


def test_the_workspace_is_private_fresh_and_the_working_directory(bench: Bench) -> None:
    old = bench.runs / "work/1/leftover.txt"
    old.parent.mkdir(parents=True)
    old.touch()
    code = """
        import os
        open("ERelation.txt", "w").write(f"ID\\n{os.getcwd()}\\n")
    """
    attempt = bench.run(replace(WORK, command=bench.python(code)))
    assert attempt.rows == ((str(bench.runs / "work/1"),),)
    assert not old.exists()
    assert stat.S_IMODE((bench.runs / "work/1").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("code", "kept"),
    [
        ("pass", False),
        ("open('result.bin', 'w')", True),
        ("print('hello')", True),
        ("import os; os.mkdir('empty')", True),
        ("import os; os.chmod('.', 0o755)", True),
        ("raise SystemExit(1)", True),
    ],
)
def test_only_a_workspace_in_which_nothing_was_left_is_handed_on(
    bench: Bench, code: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scicore.engine.runner.LONG_S", 60.0)  # however slow Python is today
    silent = replace(WORK, output=Relation("nothing", ()), command=bench.python(code))
    runner = bench.runner(silent, adopts_orphans=True)
    for id in (1, 2):
        runner.start(order(silent, id=id))
        ended(runner)
    assert (bench.runs / "work/1").exists() == kept
    assert (bench.runs / "work/2").exists()


def test_a_brief_program_that_is_looked_at_leaves_nothing_for_that(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scicore.engine.runner.SAMPLE_S", 0.0)
    monkeypatch.setattr("scicore.engine.runner.LONG_S", 60.0)
    silent = replace(WORK, output=Relation("nothing", ()), command="sleep 0.1")
    runner = bench.runner(silent, adopts_orphans=True)
    for id in (1, 2):
        runner.start(order(silent, id=id))
        ended(runner)
    assert [path.name for path in (bench.runs / "work").iterdir()] == ["2"]


def test_stdout_and_stderr_are_kept_in_the_workspace(bench: Bench) -> None:
    code = 'import sys; print("out"); print("err", file=sys.stderr)'
    bench.run(replace(WORK, command=bench.python(code)))
    assert (bench.runs / "work/1/stdout.txt").read_text() == "out\n"
    assert (bench.runs / "work/1/stderr.txt").read_text() == "err\n"


def test_a_group_is_handed_over_in_a_file(bench: Bench) -> None:
    code = """
        text = open("given.hfrag").read().replace("\\n", ",")
        open("ERelation.txt", "w").write(f"ID\\n{text}\\n")
    """
    total = replace(WORK, operator=Operator.REDUCE, command=bench.python(code))
    assert bench.run(total, ("b",), ("a",)).rows == (("ID,b,a,",),)


def test_a_program_that_names_the_file_finds_its_tuple_there(bench: Bench) -> None:
    code = """
        import sys
        text = open(sys.argv[1]).read().replace("\\n", ",")
        open("ERelation.txt", "w").write(f"ID\\n{text}\\n")
    """
    reads = replace(WORK, command=f"{bench.python(code)} given.hfrag")
    assert bench.run(reads, ("b",)).rows == (("ID,b,",),)


# --- what it cost -------------------------------------------------------------------------------

BUSY = """
    import os, time
    while sum(os.times()[:2]) < 0.3:
        pass
    block = bytearray(40_000_000)
    open("data", "wb").write(bytes(1_000_000))
    open("data", "rb").read()
    open("ERelation.txt", "w").write("ID\\n1\\n")
"""


def test_what_a_program_used_is_measured(bench: Bench) -> None:
    attempt = bench.run(replace(WORK, command=bench.python(BUSY)))
    assert attempt.cause is Cause.FINISHED
    assert attempt.usage.cpu_s > 0.1
    assert attempt.usage.peak_rss_bytes > 40_000_000
    assert attempt.usage.written_bytes >= 1_000_000
    assert attempt.usage.read_bytes >= 1_000_000


def test_programs_that_are_judged_together_are_measured_apart(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scicore.engine.runner.LEISURE_S", 60.0)
    command = bench.shell('head -c "$1" /dev/zero > out') + " %=ID%"
    writing = replace(WORK, command=command, output=Relation("done", ()))
    runner = bench.runner(writing)
    sizes = {id: 100_000 * (id % 3) for id in range(1, 25)}
    runner.start(*(order(writing, (str(size),), id=id) for id, size in sizes.items()))
    written: dict[int, int] = {}
    for _ in looks():
        written |= {each.activation: each.usage.written_bytes for each in runner.wait(0.1)}
        if not runner.busy:
            break
    assert written == sizes


def test_what_a_failed_program_used_is_measured_too(bench: Bench) -> None:
    code = dedent(BUSY) + "raise SystemExit(1)\n"
    attempt = bench.run(replace(WORK, command=bench.python(code)))
    assert attempt.cause is Cause.EXIT_CODE
    assert attempt.usage.cpu_s > 0.1


def test_the_children_of_a_program_and_its_extractor_count_as_its_own(bench: Bench) -> None:
    busy = bench.python(BUSY, name="busy")
    work = replace(WORK, command=bench.shell(busy), extractor=busy)
    usage = bench.run(work).usage
    assert usage.cpu_s > 0.4  # twice 0.3, and not once
    assert usage.written_bytes >= 2_000_000


def test_nothing_is_left_open_by_a_hundred_attempts(bench: Bench) -> None:
    work = replace(WORK, command="true")
    runner = bench.runner(work)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for id in range(1, 101):
        runner.start(order(work, id=id))
        ended(runner)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
