"""The generator of Montage-shaped traces: its size, its shape, and that our importers read it."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scicore.spec.trace import kind_of, load_trace
from tests.script import loaded

SCRIPT = Path(__file__).resolve().parents[2] / "workflows/montage_trace/generate.py"


generate = loaded(SCRIPT, "montage_generate")

Write = Callable[[Any, str], Iterator[str]]


@pytest.mark.parametrize("activations", [25, 26, 27, 50, 99, 100, 101, 1000, 4321])
def test_the_asked_number_of_activations_is_met(activations: int) -> None:
    assert len(generate.mosaic(activations, seed=1).jobs) == activations


def test_every_number_can_be_met_up_to_the_largest() -> None:
    for activations in (*range(25, 400), 10_000, 99_999, 100_000):
        images, pairs = generate.overlaps(activations, random.Random(1))
        assert 2 * images + len(pairs) + generate.SINGLE == activations


def test_the_shape_is_montages() -> None:
    mosaic = generate.mosaic(1000, seed=1)
    programs = Counter(job.program for job in mosaic.jobs)
    images, overlaps = programs["mProjectPP"], programs["mDiffFit"]
    assert programs == {
        "mProjectPP": images,
        "mDiffFit": overlaps,
        "mConcatFit": 1,
        "mBgModel": 1,
        "mBackground": images,
        "mImgtbl": 1,
        "mAdd": 1,
        "mShrink": 1,
        "mJPEG": 1,
    }
    assert 2 <= overlaps / images <= 3
    program = {job.id: job.program for job in mosaic.jobs}
    steps = {(program[parent], job.program) for job in mosaic.jobs for parent in job.parents}
    assert steps == {
        ("mProjectPP", "mDiffFit"),
        ("mDiffFit", "mConcatFit"),
        ("mConcatFit", "mBgModel"),
        ("mBgModel", "mBackground"),
        ("mProjectPP", "mBackground"),
        ("mBackground", "mImgtbl"),
        ("mBackground", "mAdd"),
        ("mImgtbl", "mAdd"),
        ("mAdd", "mShrink"),
        ("mShrink", "mJPEG"),
    }


def test_every_file_has_one_writer_at_most_and_is_read_after_it() -> None:
    mosaic = generate.mosaic(200, seed=3)
    ancestors: dict[str, set[str]] = {}
    written: dict[str, str] = {}
    for job in mosaic.jobs:
        ancestors[job.id] = set(job.parents).union(*(ancestors[each] for each in job.parents))
        for file in job.reads:
            assert file in mosaic.sizes
            assert file not in written or written[file] in ancestors[job.id]
        for file in job.writes:
            assert written.setdefault(file, job.id) == job.id
    assert all(size > 0 for size in mosaic.sizes.values())


def test_runtimes_lie_around_what_the_programs_take() -> None:
    jobs = generate.mosaic(1000, seed=2).jobs
    runtimes = sorted(job.runtime_s for job in jobs if job.program == "mProjectPP")
    assert 13 < runtimes[len(runtimes) // 2] < 14
    assert runtimes[0] > 8
    assert len(set(runtimes)) > 100


@pytest.mark.parametrize("write", [generate.wfformat, generate.dax])
def test_what_is_written_is_read_back_by_our_importers(write: Write, tmp_path: Path) -> None:
    mosaic = generate.mosaic(150, seed=1)
    path = tmp_path / "montage"
    path.write_text("".join(write(mosaic, "montage")))
    assert kind_of(path) == write.__name__
    trace = load_trace(path)
    assert trace.warnings == ()
    read = {task.id: task for task in trace.tasks}
    for job in mosaic.jobs:
        task = read[job.id]
        assert (task.activity, task.runtime_s, task.parents) == (
            job.program,
            job.runtime_s,
            job.parents,
        )
        for files, names in ((task.reads, job.reads), (task.writes, job.writes)):
            assert {file.name: file.size_bytes for file in files} == {
                name: mosaic.sizes[name] for name in names
            }


def test_the_same_seed_gives_the_same_file_and_another_one_another() -> None:
    def text(seed: int) -> str:
        return "".join(generate.wfformat(generate.mosaic(60, seed), "m"))

    assert text(1) == text(1)
    assert text(1) != text(2)


def test_the_script_needs_nothing_but_python(tmp_path: Path) -> None:
    output = tmp_path / "montage.xml"
    words = [sys.executable, "-I", "-S", str(SCRIPT), "--activations", "30", "--format", "dax"]
    subprocess.run([*words, "--seed", "7", "-o", str(output)], check=True)
    assert len(load_trace(output).tasks) == 30


def test_too_small_a_mosaic_is_refused() -> None:
    words = [sys.executable, str(SCRIPT), "--activations", "24"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "expected at least 25" in done.stderr
