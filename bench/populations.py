"""Activations whose behaviour is known: what they need of CPUs, memory and time, drawn by us.

`TUNING` are the workflows on which parameters may be chosen; `HELD_OUT`, which follow other laws,
and the traces of recorded runs (`from_trace`) are for judging them alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from scicore.model.sizing import Allocation

MB = 10**6


@dataclass(frozen=True, slots=True)
class Law:
    """Peak memory: base + slope · (megabytes of input) ** power, times noise; now and then more."""

    base_mb: float
    slope: float = 0.0
    power: float = 1.0
    noise: float = 0.03  # standard deviation of the logarithm
    rare: float = 0.0  # share of activations that need `times` as much, whatever their input
    times: float = 1.0

    def peak_mb(self, input_bytes: int, rng: np.random.Generator) -> float:
        typical = self.base_mb + self.slope * (input_bytes / MB) ** self.power
        factor = self.times if rng.random() < self.rare else 1.0
        return float(max(1.0, typical * factor * rng.lognormal(0, self.noise)))


@dataclass(frozen=True, slots=True)
class Program:
    """An activity: so many activations per run, after all or the same of another activity."""

    name: str
    request: Allocation
    count: int
    memory: Law
    sequential_s: float
    parallel_s: float = 0.0  # CPU seconds that spread over all CPUs it gets
    waiting_s: float = 0.0  # for disks and networks
    input_mb: float = 50.0  # median
    spread: float = 0.5  # of the inputs: standard deviation of the logarithm
    after: str = ""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One activation of one run."""

    input_bytes: int
    peak_mb: float
    sequential_s: float
    parallel_s: float
    waiting_s: float

    def runtime_s(self, cpus: int) -> float:
        return self.sequential_s + self.parallel_s / cpus + self.waiting_s

    @property
    def cpu_s(self) -> float:
        return self.sequential_s + self.parallel_s


@dataclass(frozen=True, slots=True)
class Population:
    name: str
    programs: tuple[Program, ...]
    recorded: Mapping[str, tuple[Drawn, ...]] | None = None  # by program: drawn from, with noise

    def draw(self, rng: np.random.Generator) -> dict[str, list[Drawn]]:
        return {
            program.name: [self._one(program, rng) for _ in range(program.count)]
            for program in self.programs
        }

    def _one(self, program: Program, rng: np.random.Generator) -> Drawn:
        pace = float(rng.lognormal(0, 0.05))
        if self.recorded is not None:
            known = self.recorded[program.name]
            like = known[int(rng.integers(len(known)))]
            peak_mb = like.peak_mb * float(rng.lognormal(0, program.memory.noise))
            return Drawn(like.input_bytes, peak_mb, like.sequential_s * pace, 0.0, like.waiting_s)
        size = int(program.input_mb * MB * rng.lognormal(0, program.spread))
        weight = size / (program.input_mb * MB) * pace
        peak_mb = program.memory.peak_mb(size, rng)
        return Drawn(
            size,
            peak_mb,
            program.sequential_s * weight,
            program.parallel_s * weight,
            program.waiting_s * weight,
        )


def _ask(cpus: int, memory_gb: float) -> Allocation:
    return Allocation(cpus, round(memory_gb * 1024))


TUNING = (
    Population(
        "reads",
        (
            Program("quality", _ask(2, 6), 12, Law(250, 0.5), 20, 40, input_mb=400),
            Program("trim", _ask(4, 12), 12, Law(180, 2.0), 15, 240, input_mb=400, after="quality"),
            Program("align", _ask(8, 36), 12, Law(3000, 8), 30, 1900, input_mb=350, after="trim"),
            Program("report", _ask(1, 6), 1, Law(300, 0, noise=0.1), 60, after="align"),
        ),
    ),
    Population(
        "peptides",
        (
            Program("convert", _ask(2, 6), 8, Law(120, 1.2), 60, waiting_s=60, input_mb=900),
            Program("search", _ask(10, 24), 8, Law(900, 3.0), 20, 3000, after="convert"),
            Program("score", _ask(6, 24), 8, Law(400, rare=0.05, times=3), 90, 60, after="search"),
        ),
    ),
    Population(
        "spectra",
        (
            Program("pick", _ask(2, 8), 30, Law(80, 4.0, noise=0.06), 40, input_mb=120),
            Program("match", _ask(4, 16), 30, Law(300, 0, noise=0.2), 20, 100, after="pick"),
            Program("group", _ask(6, 32), 2, Law(1500, 9.0), 300, 100, input_mb=700, after="match"),
        ),
    ),
    Population(
        "downloads",
        (
            Program("fetch", _ask(2, 4), 40, Law(30, 0.05), 4, waiting_s=80, input_mb=600),
            Program("check", _ask(1, 4), 40, Law(18, 0.0, noise=0.02), 15, after="fetch"),
            Program("index", _ask(4, 16), 5, Law(700, 1.1), 100, 40, 100, after="check"),
        ),
    ),
    Population(
        "assembly",
        (
            Program("count", _ask(8, 30), 6, Law(1200, 5.0), 30, 700, input_mb=800),
            Program(
                "build", _ask(16, 64), 6, Law(2500, 20.0), 200, 4000, input_mb=800, after="count"
            ),
            Program("polish", _ask(4, 16), 6, Law(500, 0.8, noise=0.1), 100, 500, after="build"),
        ),
    ),
)
HELD_OUT = (
    Population(
        "sky",
        (
            Program(
                "project", _ask(1, 2), 60, Law(60, 9.0, noise=0.02), 25, input_mb=4, spread=0.2
            ),
            Program(
                "differ", _ask(1, 2), 90, Law(40, 5.0, noise=0.02), 6, input_mb=9, after="project"
            ),
            Program("add", _ask(1, 8), 1, Law(100, 1.5), 120, input_mb=900, after="differ"),
            Program("shrink", _ask(4, 8), 1, Law(90, 0.9), 30, 60, input_mb=900, after="add"),
        ),
    ),
    Population(
        "genomes",
        (
            Program("split", _ask(1, 4), 4, Law(15, 0.02), 30, waiting_s=30, input_mb=2000),
            Program(
                "map",
                _ask(8, 32),
                48,
                Law(2400, 0.4, noise=0.04),
                20,
                900,
                input_mb=500,
                after="split",
            ),
            Program(
                "sort",
                _ask(4, 24),
                48,
                Law(60, 3.1, noise=0.05),
                40,
                150,
                input_mb=300,
                after="map",
            ),
            Program(
                "call",
                _ask(4, 24),
                48,
                Law(8, 90, power=0.6, noise=0.1),
                150,
                200,
                input_mb=250,
                after="sort",
            ),
        ),
    ),
    Population(
        "trees",
        (
            Program(
                "align",
                _ask(2, 4),
                50,
                Law(20, 0.9, power=1.7, noise=0.05),
                30,
                20,
                input_mb=25,
                spread=0.8,
            ),
            Program(
                "model",
                _ask(4, 16),
                50,
                Law(100, 14, noise=0.08),
                100,
                700,
                input_mb=25,
                after="align",
            ),
            Program("consensus", _ask(1, 8), 1, Law(400, noise=0.1), 60, after="model"),
        ),
    ),
    Population(
        "climate",
        (
            Program(
                "regrid",
                _ask(2, 12),
                24,
                Law(500, 2.2, noise=0.03),
                50,
                waiting_s=100,
                input_mb=900,
                spread=0.3,
            ),
            Program(
                "mean", _ask(2, 12), 24, Law(90, 0.0, noise=0.3), 40, input_mb=900, after="regrid"
            ),
            Program(
                "train",
                _ask(12, 48),
                3,
                Law(6000, 4.0, noise=0.05),
                100,
                6000,
                input_mb=2000,
                after="mean",
            ),
        ),
    ),
    Population(
        "molecules",
        (
            Program("prepare", _ask(1, 2), 80, Law(35, 0.0, noise=0.04), 10, input_mb=1),
            Program(
                "dock",
                _ask(2, 8),
                80,
                Law(110, 30, noise=0.06, rare=0.01, times=2),
                100,
                200,
                input_mb=2,
                after="prepare",
            ),
            Program("rank", _ask(1, 4), 1, Law(50, 0.3), 20, input_mb=100, after="dock"),
        ),
    ),
)


def as_in_the_thesis(population: Population) -> Population:
    """One activation of each activity, on the same input in every run, and users who ask for
    several times more memory than these: the thesis cut its inputs down to that."""
    return replace(
        population,
        programs=tuple(
            replace(
                program,
                count=1,
                spread=0.0,
                request=Allocation(program.request.cpus, 2 * program.request.memory_mb),
            )
            for program in population.programs
        ),
    )


def from_trace(path: Path) -> Population | None:
    """The tasks of a recorded run; None if it says nothing about memory.

    A trace has no requests. As the thesis found that programs use a twentieth of what is asked
    for on average, each asks for twenty times the activity's mean, and for one CPU.
    """
    from scicore.spec.trace import load_trace

    known: defaultdict[str, list[Drawn]] = defaultdict(list)
    for task in load_trace(path).tasks:
        if task.memory_mb and task.runtime_s > 0:
            size = sum(file.size_bytes for file in task.reads)
            known[task.activity].append(Drawn(size, task.memory_mb, task.runtime_s, 0.0, 0.0))
    if not known:
        return None
    programs: list[Program] = []
    for name, tasks in known.items():
        request = _ask(1, 20 * _mean([task.peak_mb for task in tasks]) / 1024)
        law = Law(0, noise=0.03)
        after = programs[-1].name if programs else ""
        programs.append(Program(name, request, len(tasks), law, 0, after=after))
    drawn = {name: tuple(tasks) for name, tasks in known.items()}
    return Population(path.stem, tuple(programs), drawn)


def _mean(figures: Sequence[float]) -> float:
    return sum(figures) / len(figures)
