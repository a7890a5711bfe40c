"""Real programs that are held to their sizes; no MPI."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from scicore.engine import limits
from scicore.engine.runner import Runner
from scicore.engine.wire import Welcome
from scicore.execution.messages import AttemptEnded, Start
from scicore.model.activation import Cause
from scicore.model.workflow import Activity, Field, FieldType, Operator, Relation
from tests.unit.engine.program_bench import looks

FIELDS = (Field("ID", FieldType.STRING), Field("TOLD", FieldType.STRING))
WORK = Activity(
    "work", Operator.MAP, "", input=Relation("given", FIELDS[:1]), output=Relation("made", FIELDS)
)
TELL = 'open("ERelation.txt", "w").write("ID;TOLD\\n1;" + told + "\\n")\n'


class Place:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._runners: list[Runner] = []

    def program(self, code: str) -> str:
        """What it leaves in `told` is its output."""
        path = self.directory / "program.py"
        path.write_text(dedent(code) + "\n" + TELL)
        return shlex.join([sys.executable, "-S", str(path)])

    def run(
        self, activity: Activity, *, cpus: int = 1, memory_mb: int = 0, sized: bool = True
    ) -> AttemptEnded:
        runs = str(self.directory / "runs")
        slots = len(os.sched_getaffinity(0))
        runner = Runner(Welcome("vm-1", runs, str(self.directory), runs, (activity,), slots=slots))
        self._runners.append(runner)
        runner.start(Start("vm-1", 1, 1, "work", "work/1", (("1",),), cpus, sized, memory_mb))
        for _ in looks():
            ended = runner.wait(min(0.1, runner.patience_s()))
            if ended:
                return ended[0]
        pytest.fail("the program did not end")

    def close(self) -> None:
        for runner in self._runners:
            runner.kill_all()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    (tmp_path / "runs").mkdir()
    place = Place(tmp_path)
    yield place
    place.close()


def test_a_program_that_takes_more_memory_than_it_got_is_killed(place: Place) -> None:
    command = place.program("import time; held = bytearray(b'x') * 200_000_000; time.sleep(60)")
    attempt = place.run(replace(WORK, command=command), memory_mb=50)
    assert attempt.cause is Cause.OUT_OF_MEMORY
    assert "MB of 50 MB" in attempt.stderr_tail
    assert attempt.usage.peak_rss_bytes > 50 * 2**20


def test_a_child_that_takes_it_is_no_way_around(place: Place) -> None:
    command = place.program(
        """
        import subprocess, sys
        hold = "import time; held = bytearray(b'x') * 200_000_000; time.sleep(60)"
        subprocess.run([sys.executable, "-S", "-c", hold])
        """
    )
    assert place.run(replace(WORK, command=command), memory_mb=50).cause is Cause.OUT_OF_MEMORY


def test_memory_that_processes_share_counts_once(place: Place) -> None:
    """Three children of 60 MB, which are their parent's: 240 MB resident, 60 MB of memory."""
    command = place.program(
        """
        import os, time
        held = bytearray(b"x") * 60_000_000
        children = []
        for _ in range(3):
            child = os.fork()
            if child == 0:
                time.sleep(1.5)
                os._exit(0)
            children.append(child)
        for child in children: os.waitpid(child, 0)
        told = "done"
        """
    )
    attempt = place.run(replace(WORK, command=command), memory_mb=120)
    assert attempt.cause is Cause.FINISHED, attempt


def test_reserving_is_not_using(place: Place) -> None:
    """As Java and numba do it: an address space of gigabytes."""
    command = place.program(
        "import mmap, time; space = mmap.mmap(-1, 2**33); time.sleep(0.5); told = 'done'"
    )
    assert place.run(replace(WORK, command=command), memory_mb=60).cause is Cause.FINISHED


def told(attempt: AttemptEnded) -> str:
    assert attempt.cause is Cause.FINISHED, attempt
    return attempt.rows[0][1]


VARIABLES = """
    import os, sys
    names = ("SCICUMULUS_CPUS", "SCICUMULUS_MEMORY_MB", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    told = " ".join([*(os.environ.get(name, "-") for name in names), *sys.argv[1:]])
"""


def test_a_program_is_told_what_it_got(place: Place) -> None:
    command = place.program(VARIABLES) + " %=CPUS% %=MEMORY_MB%"
    activity = replace(WORK, command=command, environment=(("MKL_NUM_THREADS", "7"),))
    attempt = place.run(activity, cpus=1, memory_mb=64)
    assert told(attempt) == "1 64 1 7 1 64"  # the activity's own variable wins


def test_a_program_that_is_not_sized_is_told_only_if_it_asks(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    command = place.program(VARIABLES) + " %=CPUS% %=MEMORY_MB%"
    activity = replace(WORK, command=command, memory_mb="300")
    assert told(place.run(activity, sized=False)) == "- - - - 1 300"


def test_templates_and_extractors_are_told_too(place: Place) -> None:
    template = place.directory / "template"
    template.mkdir()
    (template / "settings").write_text("memory=%=MEMORY_MB%\n")
    command = place.program("told = 'overwritten'")
    extractor = place.directory / "extract.py"
    extractor.write_text(
        "import sys; told = open('settings').read().strip() + sys.argv[1]\n" + TELL
    )
    words = f"{sys.executable} -S {extractor} %=CPUS%"
    activity = replace(WORK, command=command, extractor=words, template=str(template))
    assert told(place.run(activity, memory_mb=64)) == "memory=641"


def test_a_field_of_the_same_name_comes_first(place: Place) -> None:
    source = Relation("given", (Field("CPUS", FieldType.STRING),))
    command = place.program("import sys; told = sys.argv[1]") + " %=CPUS%"
    activity = replace(WORK, command=command, input=source)
    attempt = place.run(activity, memory_mb=64)
    assert told(attempt) == "1"
    assert limits.is_told(activity)


def test_a_program_is_pinned_to_the_cores_of_its_slots(place: Place) -> None:
    command = place.program("import os; told = str(len(os.sched_getaffinity(0)))")
    assert told(place.run(replace(WORK, command=command), cpus=1)) == "1"


def test_a_vm_that_is_not_all_of_its_host_pins_nobody() -> None:
    here = len(os.sched_getaffinity(0))
    assert limits.cores(here - 1) == ()
    assert len(limits.cores(here)) == (here if here > 1 else 0)
    assert len(limits.cores(4 * here)) == (here if here > 1 else 0)
