"""The stand-in for a traced task's program, run as the engine runs it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scicore.algebra.relation_text import write_relation
from scicore.engine import burn

HEADER = ("ID", "PARENTS", "RUNTIME", "READS", "WRITES")

Burn = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return tmp_path / "files"


@pytest.fixture
def run(tmp_path: Path, files: Path) -> Burn:
    """Run the program on a tuple, in a workspace of its own."""

    def _run(
        reads: str = "", writes: str = "", runtime: str = "0", mode: str = "sleep", id: str = "a"
    ) -> subprocess.CompletedProcess[str]:
        workspace = tmp_path / "workspace"
        workspace.mkdir(exist_ok=True)
        row = (id, "", runtime, reads, writes)
        (workspace / "t_tasks.hfrag").write_text(write_relation(HEADER, [row]), encoding="utf-8")
        words = [sys.executable, "-S", burn.__file__, mode, str(files), "t_tasks.hfrag"]
        done = subprocess.run(words, cwd=workspace, capture_output=True, text=True, check=False)
        assert done.stdout == ""
        left = {path.name for path in (*workspace.iterdir(), *files.glob("*"))}
        assert done.returncode or not any(name.startswith(burn.MARK) for name in left)
        return done

    return _run


def test_outputs_have_their_sizes(run: Burn, files: Path) -> None:
    assert run(writes="a%2Fb.fits:3000000 empty:0").returncode == 0
    sizes = {path.name: path.stat().st_size for path in files.iterdir()}
    assert sizes == {"a%2Fb.fits": 3_000_000, "empty": 0}


def test_an_input_that_nobody_has_written_is_made_up_without_taking_space(
    run: Burn, files: Path
) -> None:
    assert run(reads="region.hdr:50000000").returncode == 0
    stat = (files / "region.hdr").stat()
    assert stat.st_size == 50_000_000
    assert stat.st_blocks * 512 < 5_000_000


def test_an_input_that_is_there_is_left_alone(run: Burn, files: Path) -> None:
    files.mkdir()
    (files / "x").write_text("as it was")
    assert run(reads="x:5").returncode == 0
    assert (files / "x").read_text() == "as it was"


def test_an_output_replaces_an_older_file_whole(run: Burn, files: Path) -> None:
    files.mkdir()
    (files / "fit.txt").write_text("from another task")
    assert run(reads="fit.txt:17", writes="fit.txt:4").returncode == 0
    assert (files / "fit.txt").stat().st_size == 4


def test_it_sleeps_for_its_runtime(run: Burn) -> None:
    started = time.monotonic()
    assert run(runtime="0.4").returncode == 0
    assert time.monotonic() - started >= 0.35


def test_it_burns_cpu_for_its_runtime(tmp_path: Path) -> None:
    started = time.process_time()
    burn.keep_busy("cpu", 0.2)
    assert time.process_time() - started >= 0.2


def test_lists_longer_than_an_argument_may_be_are_no_problem(run: Burn, files: Path) -> None:
    writes = " ".join(f"{'n' * 40}{number:06}:0" for number in range(3000))
    assert len(writes) > 128 * 1024
    assert run(writes=writes).returncode == 0
    assert sum(1 for _ in files.iterdir()) == 3000


def test_values_in_quotes_are_read_as_they_are_written(run: Burn, files: Path) -> None:
    assert run(writes="x:1", id='a;"b"\nc').returncode == 0
    assert (files / "x").exists()


@pytest.mark.parametrize(
    "word", ["../x:1", "a/b:1", ".:1", "..:1", ":1", "x", "x:-1", "x:y", f"{burn.MARK}x:1"]
)
@pytest.mark.parametrize("side", ["reads", "writes"])
def test_a_file_that_could_leave_its_directory_is_refused(
    word: str, side: str, run: Burn, tmp_path: Path
) -> None:
    done = run(**{side: word})
    assert done.returncode == 2
    assert "expected NAME:BYTES" in done.stderr
    assert not (tmp_path / "x").exists()


def test_without_its_tuple_it_says_what_is_missing(tmp_path: Path) -> None:
    words = [sys.executable, "-S", burn.__file__, "cpu", str(tmp_path / "files"), "t.hfrag"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "No such file or directory: 't.hfrag'" in done.stderr


@pytest.mark.parametrize(
    "words", [[], ["cpu", "files"], ["rest", "files", "t"], ["cpu", "files", "t", "more"]]
)
def test_a_wrong_command_line_is_explained(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-S", burn.__file__, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "burn.py cpu|sleep FILES_DIRECTORY" in done.stderr


@pytest.mark.parametrize("value", ["", "plain", "a;b", 'say "hi"', "two\nlines", '"', "a b%3B"])
def test_its_own_reading_agrees_with_the_way_relations_are_written(value: str) -> None:
    text = write_relation(("X", "Y"), [(value, "1"), ("2", value)])
    assert burn.values_of(text) == [["X", "Y"], [value, "1"], ["2", value]]
