"""Without its database a run cannot go on: it says so and ends, instead of waiting for ever."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.console import SCICUMULUS, Console, eventually, finish
from tests.acceptance.workflows import PASS_ON, Step, write_workflow

# Ends when the test says so; the others wait on and have to be ended.
HOLD = f"""
place="$(dirname "$0")"
touch "$place/begun-$1"
for patience in $(seq 1 1200); do
    [ "$1" != 1 ] || [ ! -e "$place/go" ] || break
    sleep 0.05
done
{PASS_ON}"""


def test_a_run_whose_database_goes_away_ends_with_a_message(
    fresh_home: Path, tmp_path: Path
) -> None:
    console = Console(fresh_home, tmp_path)
    spec = write_workflow(tmp_path / "wf", [Step("a", HOLD)], [("1",), ("2",)])
    process = console.start(SCICUMULUS, "run", spec, "--fleet", "2xlocal")
    programs = spec.parent / "bin"
    eventually(lambda: len(list(programs.glob("begun-*"))) == 2, "two programs")
    assert console("db", "stop").code == 0
    (programs / "go").touch()  # the master will have something to record
    said = finish(process)
    assert said.code == 3, said
    assert "error: " in said.err
    assert "the provenance database postgresql://" in said.err
    assert "cannot be used" in said.err
    assert "Traceback" not in said.err
    eventually(lambda: not console.processes(), "the end of all processes", patience_s=20)
