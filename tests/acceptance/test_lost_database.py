"""A database that stays away: the run says so and ends, and can be taken up when it is back."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.console import SCICUMULUS, Console, eventually, finish
from tests.acceptance.workflows import PASS_ON, Step, write_workflow

# Ends when the test says so.
HOLD = f"""
place="$(dirname "$0")"
touch "$place/begun-$1"
for patience in $(seq 1 1200); do
    [ ! -e "$place/go-$1" ] || break
    sleep 0.05
done
{PASS_ON}"""


def test_a_run_whose_database_stays_away_ends_with_a_message_and_can_be_resumed(
    fresh_home: Path, tmp_path: Path
) -> None:
    console = Console(fresh_home, tmp_path, {"SCICUMULUS_DATABASE_PATIENCE_S": "3"})
    spec = write_workflow(tmp_path / "wf", [Step("a", HOLD)], [("1",), ("2",)])
    process = console.start(SCICUMULUS, "run", spec, "--fleet", "2xlocal")
    programs = spec.parent / "bin"
    eventually(lambda: len(list(programs.glob("begun-*"))) == 2, "two programs")
    assert console("db", "stop").code == 0
    (programs / "go-1").touch()  # the master will have something to record
    said = finish(process)
    assert said.code == 3, said
    assert "error: " in said.err
    assert "the provenance database postgresql://" in said.err
    assert "cannot be used" in said.err
    assert "go on with: scicumulus resume 1" in said.err
    assert "Traceback" not in said.err
    eventually(lambda: not console.processes(), "the end of all processes", patience_s=20)

    (programs / "begun-1").unlink()
    (programs / "go-2").touch()
    resumed = console("resume", "last", "--json")
    assert resumed.code == 0, resumed
    assert (resumed.document["state"], resumed.document["finished"]) == ("finished", 2)
    assert not (programs / "begun-1").exists()  # it had ended, and was not run again
    eventually(lambda: not console.processes(), "the end of all processes", patience_s=20)
