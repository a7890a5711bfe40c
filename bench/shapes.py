"""Workflows of well-known shapes and any size, for benchmarks: same arguments, same workflow.

The shapes are those of the public traces (Montage, Epigenomics, CyberShake, Inspiral, Sipht);
runtimes and sizes are drawn from log-normal distributions of their magnitude.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from scicore.model.cloud import Fleet
from scicore.model.problem import Problem, Transfer
from scicore.spec.trace import load_trace

sys.path.insert(0, str(Path(__file__).parents[1]))
from workflows.montage_trace.generate import mosaic


@dataclass
class Shape:
    """A workflow while it is being built, and afterwards."""

    name: str
    random: np.random.Generator
    activities: list[str] = field(default_factory=list)
    runtime_s: list[float] = field(default_factory=list)  # at speed 1.0
    edges: list[tuple[int, int]] = field(default_factory=list)
    edge_bytes: list[int] = field(default_factory=list)

    def add(
        self, activity: str, typical_s: float, spread: float, parents: Sequence[int] = ()
    ) -> int:
        index = len(self.activities)
        self.activities.append(activity)
        self.runtime_s.append(round(typical_s * float(self.random.lognormal(0, spread)), 3))
        for parent in parents:
            self.edges.append((parent, index))
            self.edge_bytes.append(int(4e6 * self.random.lognormal(0, 1)))
        return index

    def problem(self, fleet: Fleet, transfer: Transfer) -> Problem:
        speeds = np.array([vm.type.speed for vm in fleet.vms])
        return Problem(
            activations=tuple(f"{tag}.{n}" for n, tag in enumerate(self.activities, 1)),
            activities=tuple(self.activities),
            edges=tuple(self.edges),
            fleet=fleet,
            runtime_s=np.array(self.runtime_s)[:, None] / speeds[None, :],
            edge_bytes=tuple(self.edge_bytes),
            transfer=transfer,
        )


def of_trace(path: Path) -> Shape:
    """A public trace: its tasks, its edges, and the files that a parent writes for its child."""
    trace = load_trace(path)
    shape = Shape(trace.name, np.random.default_rng(0))
    number = {task.id: index for index, task in enumerate(trace.tasks)}
    for task in trace.tasks:
        shape.activities.append(task.activity)
        shape.runtime_s.append(task.runtime_s)
        reads = {file.name for file in task.reads}
        for parent in task.parents:
            written = trace.tasks[number[parent]].writes
            shape.edges.append((number[parent], number[task.id]))
            shape.edge_bytes.append(sum(file.size_bytes for file in written if file.name in reads))
    return shape


def montage(count: int, seed: int) -> Shape:
    """The shipped generator's mosaic."""
    trace = mosaic(count, seed)
    shape = Shape(f"montage-{len(trace.jobs)}", np.random.default_rng(seed))
    number = {job.id: index for index, job in enumerate(trace.jobs)}
    writes = {job.id: job.writes for job in trace.jobs}
    for job in trace.jobs:
        shape.activities.append(job.program)
        shape.runtime_s.append(job.runtime_s)
        reads = set(job.reads)
        for parent in job.parents:
            shape.edges.append((number[parent], number[job.id]))
            moved = [file for file in writes[parent] if file in reads]
            shape.edge_bytes.append(sum(trace.sizes[file] for file in moved))
    return shape


def epigenomics(count: int, seed: int) -> Shape:
    """Lanes that are split into chains of four, merged, and merged again."""
    shape = Shape(f"epigenomics-{count}", np.random.default_rng(seed))
    lanes = max(1, count // 40)
    chains = max(1, (count - 3 - 2 * lanes) // (4 * lanes))
    merged = []
    for _ in range(lanes):
        split = shape.add("fastqSplit", 35, 0.3)
        ends = []
        for _ in range(chains):
            last = split
            for activity, typical_s, spread in (
                ("filterContams", 2.5, 0.5),
                ("sol2sanger", 0.5, 0.4),
                ("fast2bfq", 1.4, 0.3),
                ("map", 200.0, 0.6),
            ):
                last = shape.add(activity, typical_s, spread, [last])
            ends.append(last)
        merged.append(shape.add("mapMerge", 10, 0.5, ends))
    whole = shape.add("mapMerge", 10, 0.5, merged)
    index = shape.add("maqIndex", 40, 0.3, [whole])
    shape.add("pileup", 55, 0.3, [index])
    return shape


def cybershake(count: int, seed: int) -> Shape:
    """A few long extractions, each feeding many syntheses of very different length."""
    shape = Shape(f"cybershake-{count}", np.random.default_rng(seed))
    extracts = [shape.add("ExtractSGT", 110, 0.4) for _ in range(max(2, count // 25))]
    syntheses = []
    for number in range((count - len(extracts) - 2) // 2):
        parent = extracts[number % len(extracts)]
        syntheses.append(shape.add("SeismogramSynthesis", 30, 0.7, [parent]))
    peaks = [shape.add("PeakValCalc", 1, 0.3, [parent]) for parent in syntheses]
    shape.add("ZipSeis", 0.2, 0.1, syntheses)
    shape.add("ZipPSA", 0.2, 0.1, peaks)
    return shape


def inspiral(count: int, seed: int) -> Shape:
    """Groups that are analysed, compared, and analysed again."""
    shape = Shape(f"inspiral-{count}", np.random.default_rng(seed))
    groups = max(1, count // 24)
    width = max(1, (count // groups - 2) // 4)
    for _ in range(groups):
        banks = [shape.add("TmpltBank", 18, 0.1) for _ in range(width)]
        first = [shape.add("Inspiral", 450, 0.4, [bank]) for bank in banks]
        compared = shape.add("Thinca", 5, 0.1, first)
        triggers = [shape.add("TrigBank", 5, 0.1, [compared]) for _ in range(width)]
        second = [shape.add("Inspiral", 450, 0.4, [trigger]) for trigger in triggers]
        shape.add("Thinca", 5, 0.1, second)
    return shape


def sipht(count: int, seed: int) -> Shape:
    """Many short searches beside a few very long programs, joined and joined again."""
    shape = Shape(f"sipht-{count}", np.random.default_rng(seed))
    for _ in range(max(1, count // 30)):
        patsers = [shape.add("Patser", 1, 0.3) for _ in range(17)]
        concat = shape.add("PatserConcate", 0.1, 0.1, patsers)
        long = [
            shape.add(tag, typical_s, 0.5)
            for tag, typical_s in (
                ("Transterm", 30.0),
                ("Findterm", 600.0),
                ("RNAMotif", 25.0),
                ("Blast", 1500.0),
            )
        ]
        found = shape.add("SRNA", 12, 0.3, long)
        parsed = shape.add("FFNParse", 0.7, 0.2, [found])
        blasts = [
            shape.add(tag, typical_s, 0.5, [parsed if tag == "BlastSynteny" else found])
            for tag, typical_s in (
                ("BlastSynteny", 4.0),
                ("BlastCandidate", 0.6),
                ("BlastQRNA", 440.0),
                ("BlastParalogues", 0.7),
            )
        ]
        shape.add("SRNAAnnotate", 0.5, 0.2, [concat, *blasts])
    return shape


def layered(count: int, seed: int) -> Shape:
    """Any edges between neighbouring layers of any width."""
    shape = Shape(f"layered-{count}", np.random.default_rng(seed))
    width = max(2, round(count**0.5))
    before: list[int] = []
    while len(shape.activities) < count:
        size = min(int(shape.random.integers(1, 2 * width)), count - len(shape.activities))
        layer = []
        for _ in range(size):
            degree = min(len(before), int(shape.random.integers(1, 4)))
            parents = shape.random.choice(before, degree, replace=False).tolist() if before else []
            tag = f"layer{int(shape.random.integers(5))}"
            layer.append(shape.add(tag, 20, 0.8, parents))
        before = layer
    return shape


SHAPES: Mapping[str, Callable[[int, int], Shape]] = {
    "montage": montage,
    "epigenomics": epigenomics,
    "cybershake": cybershake,
    "inspiral": inspiral,
    "sipht": sipht,
    "layered": layered,
}
