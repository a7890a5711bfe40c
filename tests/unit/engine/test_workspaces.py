"""Workspaces that nothing was left in serve the next attempt, and none is lost on the way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scicore.engine import workspace
from scicore.engine.wire import Welcome
from scicore.engine.workbench import Workbench
from scicore.execution.messages import Start
from tests.unit.engine.program_bench import WORK


def made(directory: Path) -> str:
    workspace.make(str(directory), [])
    return str(directory)


def test_a_fresh_workspace_is_untouched(tmp_path: Path) -> None:
    assert workspace.is_untouched(made(tmp_path / "a/1"))


@pytest.mark.parametrize("what", ["left", "removed again", "a directory", "opened to others"])
def test_whatever_was_done_in_a_workspace_shows(tmp_path: Path, what: str) -> None:
    place = Path(made(tmp_path / "a/1"))
    match what:
        case "left":
            (place / "result").touch()
        case "removed again":
            (place / "result").touch()
            (place / "result").unlink()
        case "a directory":
            (place / "deep").mkdir()
        case _:
            place.chmod(0o755)
    assert not workspace.is_untouched(str(place))


def test_a_spare_workspace_gets_the_name_of_the_next_attempt(tmp_path: Path) -> None:
    spare = [made(tmp_path / "a/1")]
    workspace.make(str(tmp_path / "a/2"), spare)
    assert spare == []
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["2"]
    assert workspace.is_untouched(str(tmp_path / "a/2"))


def test_a_spare_workspace_serves_an_activity_that_has_none_yet(tmp_path: Path) -> None:
    spare = [made(tmp_path / "a/1")]
    workspace.make(str(tmp_path / "b/1"), spare)
    assert spare == []
    assert list((tmp_path / "a").iterdir()) == []
    assert workspace.is_untouched(str(tmp_path / "b/1"))


def test_a_spare_workspace_that_somebody_took_away_is_not_missed(tmp_path: Path) -> None:
    gone = made(tmp_path / "a/1")
    Path(gone).rmdir()
    spare = [made(tmp_path / "a/2"), gone]
    workspace.make(str(tmp_path / "a/3"), spare)
    assert spare == []
    assert (tmp_path / "a/3").is_dir()


def test_what_an_earlier_attempt_left_makes_no_way_for_a_spare_one(tmp_path: Path) -> None:
    spare = [made(tmp_path / "a/1")]
    (tmp_path / "a/2").mkdir()
    (tmp_path / "a/2/old").touch()
    workspace.make(str(tmp_path / "a/2"), spare)
    assert list((tmp_path / "a/2").iterdir()) == []
    assert spare == [str(tmp_path / "a/1")]


def test_what_was_made_ready_and_is_not_needed_is_taken_away_again(tmp_path: Path) -> None:
    here, true = str(tmp_path), replace(WORK, command="true")
    bench = Workbench(Welcome("vm-1", here, here, here, (true,)))
    orders = [Start("vm-1", n, 1, WORK.tag, f"work/{n}", (("1",),)) for n in range(1, 5)]
    bench.make_ready(orders)
    bench.clear()
    before = open_files()  # with what is opened once, for all programs
    bench.make_ready(orders)
    assert len(list((tmp_path / "work").iterdir())) == 4
    assert open_files() > before
    bench.clear()
    assert list((tmp_path / "work").iterdir()) == []
    assert open_files() == before


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
