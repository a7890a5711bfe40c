"""How attempts end, and what is made of it: real programs, started and watched by the runner."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest

from scicore.engine.workspace import TAIL_BYTES
from scicore.execution.messages import AttemptEnded
from scicore.model.activation import Cause
from scicore.model.workflow import Relation
from tests.unit.engine.program_bench import (
    SLOW,
    WORK,
    WRITES_ITS_ARGUMENT,
    Bench,
    looks,
    order,
    relation,
)


def test_a_program_that_ends_well_gives_its_tuples(bench: Bench) -> None:
    command = bench.python(WRITES_ITS_ARGUMENT)
    attempt = bench.run(replace(WORK, command=f"{command} %=ID%-made"))
    assert (attempt.activation, attempt.number) == (1, 1)
    assert (attempt.cause, attempt.exit_code) == (Cause.FINISHED, 0)
    assert attempt.rows == (("x-made",),)
    assert attempt.command == f"{command} x-made"
    assert attempt.workspace == str(bench.runs / "work/1")
    assert attempt.started_at <= attempt.ended_at


def test_an_exit_code_is_a_failure_and_stderr_tells_why(bench: Bench) -> None:
    code = 'import sys; print("no input", file=sys.stderr); sys.exit(3)'
    attempt = bench.run(replace(WORK, command=bench.python(code)))
    assert (attempt.cause, attempt.exit_code) == (Cause.EXIT_CODE, 3)
    assert attempt.stderr_tail == "no input"
    assert attempt.rows == ()


def test_output_does_not_make_up_for_an_exit_code(bench: Bench) -> None:
    code = 'open("ERelation.txt", "w").write("ID\\n1\\n"); raise SystemExit(1)'
    attempt = bench.run(replace(WORK, command=bench.python(code)))
    assert (attempt.cause, attempt.rows) == (Cause.EXIT_CODE, ())


def test_a_signal_is_told_from_an_exit_code(bench: Bench) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    attempt = bench.run(replace(WORK, command=bench.python(code)))
    assert (attempt.cause, attempt.exit_code) == (Cause.SIGNAL, -signal.SIGSEGV)


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ('open("/dev/full", "w").write("x" * 10_000)', Cause.DISK_FULL),
        ("raise MemoryError", Cause.OUT_OF_MEMORY),
        ("import os; os.kill(os.getpid(), 9)", Cause.SIGNAL),
        ("import os; os._exit(127)", Cause.NO_PROGRAM),
    ],
)
def test_a_program_dies_of_what_it_says(bench: Bench, code: str, cause: Cause) -> None:
    assert bench.run(replace(WORK, command=bench.python(code))).cause is cause


def test_a_missing_program_is_told(bench: Bench) -> None:
    attempt = bench.run(replace(WORK, command="/nowhere/program %=ID%"))
    assert (attempt.cause, attempt.exit_code) == (Cause.NO_PROGRAM, None)
    assert "could not be started" in attempt.stderr_tail
    assert "/nowhere/program" in attempt.stderr_tail
    assert attempt.command == "/nowhere/program x"


def test_a_program_may_appear_after_an_attempt_was_made_ready(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything is made ready before its turn; whether there is a program shows in its turn."""
    monkeypatch.setenv("PATH", f"{bench.directory}:/usr/bin:/bin")
    tool = bench.directory / "tool"
    first = replace(WORK, command=bench.shell(f"sleep 0.2; ln -s /bin/true {tool}"))
    first = replace(first, tag="first", output=Relation("nothing", ()))
    later = replace(WORK, tag="later", command="tool", output=Relation("nothing", ()))
    runner = bench.runner(first, later, slots=1)
    runner.start(order(first, id=1), order(later, id=2))
    causes: dict[int, Cause] = {}
    for _ in looks():
        causes |= {each.activation: each.cause for each in runner.wait(0.1)}
        if not runner.busy:
            break
    assert causes == {1: Cause.FINISHED, 2: Cause.FINISHED}


def test_a_file_that_is_not_executable_is_told(bench: Bench) -> None:
    script = bench.directory / "script"
    script.write_text("#!/bin/sh\n")
    attempt = bench.run(replace(WORK, command=str(script)))
    assert attempt.cause is Cause.NO_PROGRAM
    assert "Permission denied" in attempt.stderr_tail


def test_a_value_that_no_program_can_be_given_is_told(bench: Bench) -> None:
    attempt = bench.run(replace(WORK, command="echo %=ID%"), ("a\x00b",))
    assert attempt.cause is Cause.NOT_STARTED


def test_a_missing_erelation_is_a_failure(bench: Bench) -> None:
    attempt = bench.run(replace(WORK, command="true"))
    assert (attempt.cause, attempt.exit_code) == (Cause.MISSING_OUTPUT, 0)
    assert "wrote no ERelation.txt" in attempt.stderr_tail


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b"ID\n", "found 0 tuples"),
        (b"ID\n1\n2\n", "found 2 tuples"),
        (b"ID\n1;2\n", "found 2 values"),
        (b'ID\n"1\n', "line 2"),
        (b"ID\n\xff\xfe\n", "cannot be read"),
    ],
)
def test_a_malformed_erelation_is_a_failure(bench: Bench, content: bytes, complaint: str) -> None:
    code = f'open("ERelation.txt", "wb").write({content!r})'
    attempt = bench.run(replace(WORK, command=bench.python(code)))
    assert attempt.cause is Cause.BAD_OUTPUT
    assert complaint in attempt.stderr_tail


def test_an_output_field_that_nobody_gives_a_value_is_a_failure(bench: Bench) -> None:
    code = 'open("ERelation.txt", "w").write("OTHER\\n1\\n")'
    output = relation("made", "ID", "NEW")
    attempt = bench.run(replace(WORK, command=bench.python(code), output=output))
    assert attempt.cause is Cause.BAD_OUTPUT
    assert "'NEW' has no value" in attempt.stderr_tail


def test_what_the_program_said_last_stands_before_our_own_complaint(bench: Bench) -> None:
    code = 'import sys; print("almost there", file=sys.stderr)'
    attempt = bench.run(replace(WORK, command=bench.python(code)))
    said, ours = attempt.stderr_tail.split("\n")
    assert said == "almost there"
    assert ours.startswith("scicumulus: ")


def test_of_a_long_stderr_the_end_is_kept(bench: Bench) -> None:
    code = f'import sys; sys.stderr.write("a" * {2 * TAIL_BYTES} + " the end"); sys.exit(1)'
    attempt = bench.run(replace(WORK, command=bench.python(code)))
    assert len(attempt.stderr_tail) == TAIL_BYTES
    assert attempt.stderr_tail.endswith("a the end")


def test_a_program_that_takes_too_long_is_ended(bench: Bench) -> None:
    attempt = bench.run(replace(WORK, command=bench.python(SLOW), timeout_s=0.01))
    assert (attempt.cause, attempt.exit_code) == (Cause.TIMEOUT, -signal.SIGTERM)


def test_several_programs_run_side_by_side(bench: Bench) -> None:
    """Each waits for the other's file, so neither would end alone."""
    command = bench.python(
        """
        import sys, time, pathlib
        mine, other = sys.argv[1], {"a": "b", "b": "a"}[sys.argv[1]]
        pathlib.Path("..", mine).touch()
        while not pathlib.Path("..", other).exists():
            time.sleep(0.01)
        open("ERelation.txt", "w").write(f"ID\\n{mine}\\n")
        """
    )
    work = replace(WORK, command=f"{command} %=ID%")
    runner = bench.runner(work)
    runner.start(order(work, ("a",), id=1))
    runner.start(order(work, ("b",), id=2))
    attempts: list[AttemptEnded] = []
    for _ in looks():
        if len(attempts) == 2:
            break
        attempts += runner.wait(0.1)
    assert {attempt.activation: attempt.rows for attempt in attempts} == {
        1: (("a",),),
        2: (("b",),),
    }
    assert not runner.busy


def test_while_more_wait_programs_are_judged_together(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until half of what waited has been used up: then the master must hear of it."""
    monkeypatch.setattr("scicore.engine.runner.LEISURE_S", 60.0)
    monkeypatch.setattr("scicore.engine.runner.SAMPLE_S", 60.0)
    silent = replace(WORK, command="true", output=Relation("done", ()))
    runner = bench.runner(silent)
    runner.start(*(order(silent, id=id) for id in range(1, 25)))
    told: list[list[int]] = []
    for _ in looks():
        attempts = runner.wait(0.1)
        told += [[attempt.activation for attempt in attempts]] if attempts else []
        if not runner.busy:
            break
    assert sorted(id for ids in told for id in ids) == list(range(1, 25))
    assert max(map(len, told)) >= 8


def test_what_was_made_ready_for_nothing_leaves_no_workspace(bench: Bench) -> None:
    slow = replace(WORK, command="sleep 60")
    runner = bench.runner(slow)
    runner.start(*(order(slow, id=id) for id in range(1, 9)))
    runner.cancel(5, 1)
    (cancelled,) = runner.wait(0.1)
    assert (cancelled.activation, cancelled.cause) == (5, Cause.CANCELLED)
    runner.kill_all()
    left = {int(path.name) for path in (bench.runs / "work").iterdir()}
    assert left == {1, 2, 3, 4}


# --- the extractor ------------------------------------------------------------------------------

EXTRACTS = """
    text = open("result.txt").read()
    open("ERelation.txt", "w").write(f"ID\\n{text}\\n")
"""


def test_an_extractor_makes_the_tuples_of_what_the_program_left(bench: Bench) -> None:
    program = bench.python('import sys; open("result.txt", "w").write(sys.argv[1] + "!")')
    extractor = bench.python(EXTRACTS, name="extractor")
    attempt = bench.run(replace(WORK, command=f"{program} %=ID%", extractor=extractor))
    assert (attempt.cause, attempt.rows) == (Cause.FINISHED, (("x!",),))
    assert attempt.command == f"{program} x"


def test_an_extractor_that_fails_fails_the_attempt(bench: Bench) -> None:
    extractor = bench.python(EXTRACTS, name="extractor")
    attempt = bench.run(replace(WORK, command="true", extractor=extractor))
    assert (attempt.cause, attempt.exit_code) == (Cause.EXIT_CODE, 1)
    assert "No such file or directory: 'result.txt'" in attempt.stderr_tail


def test_an_extractor_that_does_not_exist_is_told(bench: Bench) -> None:
    attempt = bench.run(replace(WORK, command="true", extractor="/nowhere/extractor"))
    assert attempt.cause is Cause.NO_PROGRAM
    assert "the extractor" in attempt.stderr_tail


def test_there_is_nothing_to_extract_from_a_failure(bench: Bench) -> None:
    extractor = bench.python('open("../extracted", "w")', name="extractor")
    attempt = bench.run(replace(WORK, command="false", extractor=extractor))
    assert (attempt.cause, attempt.exit_code) == (Cause.EXIT_CODE, 1)
    assert not (bench.runs / "work/extracted").exists()
