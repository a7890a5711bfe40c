"""Real programs, started and watched by the runner; no MPI."""

from __future__ import annotations

import os
import shlex
import signal
import stat
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from scicore.engine.runner import Runner
from scicore.engine.wire import Welcome
from scicore.engine.workspace import TAIL_BYTES
from scicore.execution.messages import AttemptEnded, Start
from scicore.model.activation import Cause
from scicore.model.workflow import Activity, Field, FieldType, Operator, Relation, Row

PATIENCE = 600  # looks of a tenth of a second before a test gives up on a program
SLOW = "import time; time.sleep(1000)"


def relation(name: str, *fields: str) -> Relation:
    return Relation(name, tuple(Field(field, FieldType.STRING) for field in fields))


WORK = Activity(
    "work", Operator.MAP, "", input=relation("given", "ID"), output=relation("made", "ID")
)


class Bench:
    """A place to write programs, and runners that run them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._runners: list[Runner] = []

    def python(self, code: str, name: str = "program") -> str:
        """The command that runs this code; tags may be added to it."""
        path = self.directory / f"{name}.py"
        path.write_text(dedent(code))
        return shlex.join([sys.executable, str(path)])

    def shell(self, code: str) -> str:
        path = self.directory / "program.sh"
        path.write_text(dedent(code))
        return f"sh {path}"

    def runner(self, *activities: Activity, adopts_orphans: bool = False) -> Runner:
        welcome = Welcome(
            "vm-1", str(self.runs), str(self.directory), str(self.runs), activities, slots=4
        )
        runner = Runner(welcome, adopts_orphans=adopts_orphans)
        self._runners.append(runner)
        return runner

    @property
    def runs(self) -> Path:
        return self.directory / "runs"

    def run(self, activity: Activity, *rows: Row) -> AttemptEnded:
        """One attempt from its start to its end."""
        runner = self.runner(activity)
        runner.start(order(activity, *rows))
        return ended(runner)

    def close(self) -> None:
        for runner in self._runners:
            runner.kill_all()
            while runner.busy:
                runner.wait(0.1)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def order(activity: Activity, *rows: Row, id: int = 1) -> Start:
    return Start("vm-1", id, 1, activity.tag, f"{activity.tag}/{id}", rows or (("x",),))


def ended(runner: Runner) -> AttemptEnded:
    """The one attempt that ends next."""
    for _ in range(PATIENCE):
        attempts = runner.wait(0.1)
        if attempts:
            (attempt,) = attempts
            return attempt
    raise AssertionError("the program did not end")


def appears(path: Path, runner: Runner) -> str:
    """The text of a file, as soon as a running program has written it."""
    for _ in range(PATIENCE):
        if path.exists() and path.read_text().endswith("\n"):
            return path.read_text().strip()
        assert runner.wait(0.1) == [], "the program ended too early"
    raise AssertionError(f"{path} did not appear")


def alive(pid: int) -> bool:
    """A zombie is dead; who should reap it may be slow."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def dies(pid: int, runner: Runner) -> bool:
    return any(not alive(pid) or runner.wait(0.1) for _ in range(PATIENCE))


WRITES_ITS_ARGUMENT = """
    import sys
    value = sys.argv[1].replace('"', '""')
    open("ERelation.txt", "w").write(f'ID\\n"{value}"\\n')
"""


# --- how an attempt ends ------------------------------------------------------------------------


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
    for _ in range(PATIENCE):
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
    for _ in range(PATIENCE):
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


# --- ending programs ----------------------------------------------------------------------------


def started(bench: Bench, command: str) -> Runner:
    work = replace(WORK, command=command)
    runner = bench.runner(work)
    runner.start(order(work))
    return runner


def test_a_cancelled_program_is_told_to_end(bench: Bench) -> None:
    runner = started(bench, bench.python(SLOW))
    runner.cancel(1, 1)
    attempt = ended(runner)
    assert (attempt.cause, attempt.exit_code) == (Cause.CANCELLED, -signal.SIGTERM)
    assert not runner.busy


def test_cancelling_another_attempt_cancels_nothing(bench: Bench) -> None:
    runner = started(bench, bench.python(SLOW))
    runner.cancel(1, 2)
    runner.cancel(2, 1)
    assert runner.wait(0.1) == []
    assert runner.busy


def test_cancelling_ends_the_children_of_a_shell_as_well(bench: Bench) -> None:
    runner = started(bench, bench.shell("sleep 1000 & echo $! > child.txt; wait"))
    child = int(appears(bench.runs / "work/1/child.txt", runner))
    runner.cancel(1, 1)
    assert ended(runner).cause is Cause.CANCELLED
    assert dies(child, runner)


def test_cancelling_ends_a_child_in_a_process_group_of_its_own(bench: Bench) -> None:
    """`timeout` makes one, and so does an interactive shell."""
    command = bench.python(
        """
        import os, subprocess
        child = subprocess.Popen(["sleep", "1000"], process_group=0)
        open("child.txt", "w").write(f"{child.pid}\\n")
        child.wait()
        """
    )
    runner = started(bench, command)
    child = int(appears(bench.runs / "work/1/child.txt", runner))
    assert os.getpgid(child) == child
    runner.cancel(1, 1)
    assert ended(runner).cause is Cause.CANCELLED
    assert dies(child, runner)


STUBBORN = """
    import signal, time, os
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open("deaf.txt", "w").write(f"{os.getpid()}\\n")
    time.sleep(1000)
"""


def test_a_program_that_ignores_sigterm_is_killed_after_the_grace_period(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scicore.engine.program.GRACE_S", 0.05)
    runner = started(bench, bench.python(STUBBORN))
    appears(bench.runs / "work/1/deaf.txt", runner)
    runner.cancel(1, 1)
    attempt = ended(runner)
    assert (attempt.cause, attempt.exit_code) == (Cause.CANCELLED, -signal.SIGKILL)


def test_a_child_that_ignores_sigterm_is_killed_even_if_its_parent_did_not(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scicore.engine.program.GRACE_S", 0.05)
    stubborn = bench.python(STUBBORN, name="stubborn")
    runner = started(bench, bench.shell(f"{stubborn} & wait"))
    child = int(appears(bench.runs / "work/1/deaf.txt", runner))
    runner.cancel(1, 1)
    assert ended(runner).cause is Cause.CANCELLED
    assert dies(child, runner)


def test_a_child_has_its_grace_period_even_if_its_parent_ends_at_once(bench: Bench) -> None:
    tidy = bench.python(
        """
        import pathlib, signal, time
        def tidy_up(number, frame):
            time.sleep(0.2)
            pathlib.Path("tidy.txt").touch()
            raise SystemExit
        signal.signal(signal.SIGTERM, tidy_up)
        open("ready.txt", "w").write("yes\\n")
        time.sleep(1000)
        """,
        name="tidy",
    )
    runner = started(bench, bench.shell(f"{tidy} & wait"))
    appears(bench.runs / "work/1/ready.txt", runner)
    runner.cancel(1, 1)
    assert ended(runner).cause is Cause.CANCELLED
    assert (bench.runs / "work/1/tidy.txt").exists()


def test_when_the_slave_is_ended_nothing_it_started_stays(bench: Bench) -> None:
    stubborn = bench.python(STUBBORN, name="stubborn")
    runner = started(bench, bench.shell(f"{stubborn} & wait"))
    child = int(appears(bench.runs / "work/1/deaf.txt", runner))
    runner.kill_all()
    assert ended(runner).exit_code == -signal.SIGKILL
    assert dies(child, runner)


# --- what a program finds -----------------------------------------------------------------------


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
    bench: Bench, code: str, kept: bool
) -> None:
    silent = replace(WORK, output=Relation("nothing", ()), command=bench.python(code))
    runner = bench.runner(silent, adopts_orphans=True)
    for id in (1, 2):
        runner.start(order(silent, id=id))
        ended(runner)
    assert (bench.runs / "work/1").exists() == kept
    assert (bench.runs / "work/2").exists()


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
