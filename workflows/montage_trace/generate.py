#!/usr/bin/env python3
"""Montage-shaped traces of any size: a mosaic of overlapping images of the sky.

    python3 generate.py --activations 1000 [--seed 1] [--format wfformat|dax] -o montage.json

The same arguments give the same file, byte for byte. Python's standard library is all it needs.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

SMALLEST = 25
SINGLE = 6  # mConcatFit, mBgModel, mImgtbl, mAdd, mShrink, mJPEG
OVERLAPS_PER_IMAGE = 2.4
SPREAD = 0.1  # sigma of the log-normal runtimes

IMAGE_BYTES = 4_222_080
PROJECTED_BYTES = 4_160_000
MOSAIC_BYTES_PER_IMAGE = 2_600_000  # images overlap
HEADER = "region.hdr"


@dataclass(frozen=True, slots=True)
class Job:
    id: str
    program: str
    runtime_s: float
    parents: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mosaic:
    jobs: tuple[Job, ...]  # parents stand before their children
    sizes: dict[str, int]  # bytes by file

    @property
    def edges(self) -> int:
        return sum(len(job.parents) for job in self.jobs)

    @property
    def longest_path_s(self) -> float:
        ends: dict[str, float] = {}
        for job in self.jobs:
            ends[job.id] = job.runtime_s + max((ends[each] for each in job.parents), default=0.0)
        return max(ends.values())


def neighbours(images: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Images in rows of a square: pairs that share a side, and pairs that share a corner."""
    width = math.isqrt(images - 1) + 1
    sides, corners = [], []
    for image in range(images):
        column, below = image % width, image + width
        if column + 1 < width and image + 1 < images:
            sides.append((image, image + 1))
        if below < images:
            sides.append((image, below))
        if column > 0 and below - 1 < images:
            corners.append((image, below - 1))
        if column + 1 < width and below + 1 < images:
            corners.append((image, below + 1))
    return sides, corners


def overlaps(activations: int, chance: random.Random) -> tuple[int, list[tuple[int, int]]]:
    """How many images give so many activations, and which of them overlap.

    Images that share a side always do; of those that share a corner, as many as are missing.
    """
    images = max(2, round((activations - SINGLE) / (2 + OVERLAPS_PER_IMAGE)))
    while True:
        sides, corners = neighbours(images)
        missing = activations - SINGLE - 2 * images - len(sides)
        if missing <= len(corners):
            return images, sorted(sides + chance.sample(corners, max(0, missing)))
        images += 1


def mosaic(activations: int, seed: int) -> Mosaic:
    """The trace, with exactly so many activations where the shape allows it, else a few more."""
    chance = random.Random(seed)
    images, pairs = overlaps(activations, chance)
    builder = _Builder(images, chance)
    projections = builder.project()
    model = builder.compare(projections, pairs)
    builder.assemble(builder.correct(projections, model))
    return Mosaic(tuple(builder.jobs), builder.sizes)


class _Builder:
    """Jobs in the order of the mosaic's making, and the sizes of their files."""

    def __init__(self, images: int, chance: random.Random) -> None:
        self.jobs: list[Job] = []
        self.sizes = {HEADER: 304, "images.tbl": 168 * images}
        self._images = images
        self._chance = chance

    def project(self) -> list[str]:
        """Every image is brought into the mosaic's geometry."""
        jobs = []
        for number in range(self._images):
            raw = f"2mass{number:06}.fits"
            self.sizes[raw] = IMAGE_BYTES
            size = round(PROJECTED_BYTES * self._chance.uniform(0.99, 1.01))
            writes = dict.fromkeys(_image("p", number), size)
            jobs.append(self._add("mProjectPP", 13.5, (), (HEADER, raw), writes))
        return jobs

    def compare(self, projections: Sequence[str], pairs: Iterable[tuple[int, int]]) -> str:
        """Where two images overlap, their brightness differs; one model evens that out."""
        fits, tables = [], []
        for left, right in pairs:
            fit, difference = f"fit{left:06}_{right:06}.txt", f"diff{left:06}_{right:06}.fits"
            reads = (HEADER, *_image("p", left), *_image("p", right))
            size = round(300_000 * self._chance.lognormvariate(0, 0.5))
            parents = (projections[left], projections[right])
            fits.append(self._add("mDiffFit", 10.6, parents, reads, {fit: 272, difference: size}))
            tables.append(fit)
        table = {"fits.tbl": 210 * len(fits)}
        concat = self._add("mConcatFit", 0.08 * len(fits), fits, tables, table)
        corrections = {"corrections.tbl": 53 * self._images}
        inputs = ("images.tbl", "fits.tbl")
        return self._add("mBgModel", 0.1 * len(fits), (concat,), inputs, corrections)

    def correct(self, projections: Sequence[str], model: str) -> list[str]:
        jobs = []
        for number, projection in enumerate(projections):
            projected = _image("p", number)
            writes = dict.fromkeys(_image("c", number), self.sizes[projected[0]])
            reads = (*projected, "corrections.tbl")
            jobs.append(self._add("mBackground", 10.7, (projection, model), reads, writes))
        return jobs

    def assemble(self, corrections: Sequence[str]) -> None:
        """One mosaic of all images, and a picture of it to look at."""
        images = self._images
        pieces = [file for number in range(images) for file in _image("c", number)]
        table, whole, small = "corrected.tbl", "mosaic.fits", "shrunken.fits"
        listed = self._add("mImgtbl", 0.4 * images, corrections, pieces, {table: 320 * images})
        sizes = dict.fromkeys((whole, "mosaic_area.fits"), MOSAIC_BYTES_PER_IMAGE * images)
        reads = (HEADER, table, *pieces)
        added = self._add("mAdd", 0.6 * images, (listed, *corrections), reads, sizes)
        shrunken = {small: sizes[whole] // 25}
        last = self._add("mShrink", 2 + 0.3 * images, (added,), (whole,), shrunken)
        picture = {"shrunken.jpg": shrunken[small] // 5}
        self._add("mJPEG", 0.3 + 0.03 * images, (last,), (small,), picture)

    def _add(
        self,
        program: str,
        typical_s: float,
        parents: Iterable[str],
        reads: Iterable[str],
        writes: dict[str, int],
    ) -> str:
        id = f"{program}_ID{len(self.jobs) + 1:07}"
        runtime_s = round(typical_s * self._chance.lognormvariate(0, SPREAD), 3)
        self.jobs.append(Job(id, program, runtime_s, tuple(parents), tuple(reads), tuple(writes)))
        self.sizes.update(writes)
        return id


def _image(kind: str, number: int) -> tuple[str, str]:
    return f"{kind}{number:06}.fits", f"{kind}{number:06}_area.fits"


def wfformat(trace: Mosaic, name: str) -> Iterator[str]:
    """WfFormat 1.5, piece by piece: a large trace need not be in memory twice."""
    children: dict[str, list[str]] = {job.id: [] for job in trace.jobs}
    for job in trace.jobs:
        for parent in job.parents:
            children[parent].append(job.id)
    tasks = (
        {
            "name": job.id,
            "id": job.id,
            "parents": job.parents,
            "children": children[job.id],
            "inputFiles": job.reads,
            "outputFiles": job.writes,
        }
        for job in trace.jobs
    )
    runs = (
        {
            "id": job.id,
            "runtimeInSeconds": job.runtime_s,
            "command": {"program": job.program, "arguments": []},
            "coreCount": 1,
        }
        for job in trace.jobs
    )
    files = ({"id": file, "sizeInBytes": size} for file, size in trace.sizes.items())
    yield f'{{"name": {json.dumps(name)},\n"schemaVersion": "1.5",\n"workflow": {{\n'
    yield '"specification": {"tasks": [\n'
    yield from _items(tasks)
    yield '],\n"files": [\n'
    yield from _items(files)
    yield f']}},\n"execution": {{"makespanInSeconds": {trace.longest_path_s:.3f},\n'
    yield '"executedAt": "2000-01-01T00:00:00+00:00",\n"tasks": [\n'
    yield from _items(runs)
    yield "]}}}\n"


def _items(items: Iterable[object]) -> Iterator[str]:
    for number, item in enumerate(items):
        yield f"{',' if number else ''}{json.dumps(item)}\n"


def dax(trace: Mosaic, name: str) -> Iterator[str]:
    """DAX 2.1, as in the published synthetic traces."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield '<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" '
    yield f'name={quoteattr(name)} jobCount="{len(trace.jobs)}">\n'
    for job in trace.jobs:
        yield f'  <job id="{job.id}" namespace="Montage" name="{job.program}" version="1.0" '
        yield f'runtime="{job.runtime_s}">\n'
        for link, files in (("input", job.reads), ("output", job.writes)):
            for file in files:
                yield f'    <uses file="{file}" link="{link}" size="{trace.sizes[file]}"/>\n'
        yield "  </job>\n"
    for job in trace.jobs:
        if job.parents:
            parents = "".join(f'<parent ref="{parent}"/>' for parent in job.parents)
            yield f'  <child ref="{job.id}">{parents}</child>\n'
    yield "</adag>\n"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--activations", type=int, default=1000, help=f"from {SMALLEST} up")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=("wfformat", "dax"), default="wfformat")
    parser.add_argument("-o", "--output", type=Path, help="a file; without it, standard output")
    options = parser.parse_args(arguments)
    if options.activations < SMALLEST:
        parser.error(f"--activations {options.activations}: expected at least {SMALLEST}")
    trace = mosaic(options.activations, options.seed)
    write = dax if options.format == "dax" else wfformat
    pieces = write(trace, f"montage-{len(trace.jobs)}")
    if options.output is None:
        sys.stdout.writelines(pieces)
        return
    with options.output.open("w", encoding="utf-8") as stream:
        stream.writelines(pieces)


if __name__ == "__main__":
    main(sys.argv[1:])
