"""Ctrl-C: what finished is recorded, nothing is left running, whenever it comes."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.acceptance.console import SCICUMULUS, Console, eventually, finish
from tests.acceptance.workflows import PASS_ON, Step, write_workflow

# The first one ends at once; the others have a child and would go on for a minute.
SLEEP = f"""
if [ "$1" = 1 ]; then
    {PASS_ON}
    exit 0
fi
echo $$ > "$(dirname "$0")/pid-$1"
sleep 60 &
wait
"""
STUBBORN = """
trap 'touch "$(dirname "$0")/told-$1"' TERM
touch "$(dirname "$0")/begun-$1"
for patience in $(seq 1 60); do sleep 1; done
"""
ROWS = [("1",), ("2",), ("3",), ("4",)]
START = ("--fleet", "2xlocal", "--json")


@pytest.fixture
def spec(console: Console) -> Path:
    return write_workflow(console.directory / "wf", [Step("a", SLEEP)], ROWS)


def begun(spec: Path, sign: str) -> None:
    """Two programs, one on each VM, have left a file of that name."""
    eventually(lambda: len(list((spec.parent / "bin").glob(sign))) == 2, sign)


def nothing_is_left(console: Console) -> None:
    """Programs sleep for a minute: they cannot have gone by themselves."""
    eventually(lambda: not console.processes(), "the end of all processes", patience_s=20)


def run_states(console: Console) -> list[str]:
    question = "SELECT state FROM run WHERE directory LIKE %s"
    return [state for (state,) in console.rows(question, f"{console.directory}/%")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_run_records_what_finished_and_leaves_no_process(
    console: Console, spec: Path, number: signal.Signals
) -> None:
    process = console.start(SCICUMULUS, "run", spec, *START)
    begun(spec, "pid-*")
    process.send_signal(number)
    said = finish(process)
    assert said.code == 4, said
    run = said.document
    assert (run["state"], run["finished"], run["failed"]) == ("stopped", 1, 0)
    nothing_is_left(console)
    for file in spec.parent.glob("bin/pid-*"):
        assert not Path("/proc", file.read_text().strip()).exists()
    attempts = console.rows(
        "SELECT name, activation.state, cause, attempt.ended_at IS NOT NULL"
        " FROM activation LEFT JOIN attempt USING (run_id, activation_id)"
        " WHERE run_id = %s ORDER BY name",
        run["run_id"],
    )
    first, *others = attempts
    assert first == ("a.1", "finished", "finished", True)
    assert sorted(other[1:] for other in others if other[2]) == [("ready", "cancelled", True)] * 2
    assert [other[1:] for other in others if not other[2]] == [("ready", None, False)]  # not begun
    ended = console.rows("SELECT ended_at IS NOT NULL FROM run WHERE run_id = %s", run["run_id"])
    assert ended == [(True,)]
    assert "Traceback" not in said.err


def loads_the_specification(process: subprocess.Popen[str]) -> bool:
    """So it is past the start of Python itself, whose answer to Ctrl-C is not ours."""
    with suppress(OSError):
        return "/lxml/" in Path(f"/proc/{process.pid}/maps").read_text()
    return False


def talks_to_the_database(process: subprocess.Popen[str]) -> bool:
    with suppress(OSError):
        return "socket:" in "".join(
            str(link.readlink()) for link in Path(f"/proc/{process.pid}/fd").iterdir()
        )
    return False


def mpirun_is_there(process: subprocess.Popen[str]) -> bool:
    with suppress(OSError):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return any(b"scicore" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children)
    return False


def ranks_are_there(process: subprocess.Popen[str]) -> bool:
    with suppress(OSError):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return any(Path(f"/proc/{pid}/task/{pid}/children").read_text().strip() for pid in children)
    return False


@pytest.mark.parametrize(
    "moment", [loads_the_specification, talks_to_the_database, mpirun_is_there, ranks_are_there]
)
def test_ctrl_c_right_after_the_start_leaves_nothing_either(
    console: Console, spec: Path, moment: Callable[[subprocess.Popen[str]], bool]
) -> None:
    assert console.url  # so that the server is up
    process = console.start(SCICUMULUS, "run", spec, *START)
    eventually(lambda: moment(process), moment.__name__)
    process.send_signal(signal.SIGINT)
    said = finish(process)
    assert said.code == 4, said
    nothing_is_left(console)
    assert "Traceback" not in said.err
    assert set(run_states(console)) <= {"stopped"}  # or it was not stored yet


def test_whoever_asks_again_does_not_wait_for_programs_that_do_not_listen(
    console: Console,
) -> None:
    spec = write_workflow(console.directory / "wf", [Step("a", STUBBORN)], ROWS)
    process = console.start(SCICUMULUS, "run", spec, *START)
    begun(spec, "begun-*")
    process.send_signal(signal.SIGINT)
    begun(spec, "told-*")  # the programs know it, and do not care
    process.send_signal(signal.SIGINT)
    said = finish(process)
    assert said.code == 4, said
    nothing_is_left(console)
    assert run_states(console) == ["stopped"]
