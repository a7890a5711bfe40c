"""The thesis's experiment on sizing, on activations whose behaviour is known.

    python bench/sizing.py [--traces DIRECTORY] [--repeats 3] [--only NAME] [--json]

As in chapter 5: 10 runs with what is declared (the feedback loop: with all there is), then 50 runs
of the bandits, 100 of Q-learning, 10 of the others; the last 10 are compared. The machine has 32
CPUs and 125 GB; an attempt waits until both are free, gets what its sizer says, and dies when its
memory, which grows steadily up to its peak, passes that. Families of workflows are told
apart (see populations.py): single activations as in the thesis, those that our parameters were
chosen on, others, and recorded traces.
"""

from __future__ import annotations

import argparse
import heapq
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from scicore.model.sizing import Allocation, Experience, Need, Sized
from scicore.sizing import Sizing
from scicore.sizing.base import Sizer

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.lr_mean import LrMean
from bench.populations import (
    HELD_OUT,
    TUNING,
    Drawn,
    Population,
    Program,
    as_in_the_thesis,
    from_trace,
)

MACHINE = Allocation(32, 125 * 1024)
TRAINING, MEASURED = 10, 10
RUNS = {
    "fixed": 10,
    "feedback": 10,
    "gradient-bandit": 50,
    "q-learning": 100,
    "lr-mean": 10,  # of Witt et al.: a baseline of the kind of ours
    "quantile": 10,
    "q-learning,agents=separate,epsilon=inverse,trace=0.8,cpu_chunks=4,memory_chunks=8": 100,
}
THESIS = {  # relative to the default configuration
    "feedback": {"cpu_h": -0.13, "gb_h": -0.87, "makespan_s": -0.07},
    "gradient-bandit": {"cpu_h": -0.42, "gb_h": -0.80, "makespan_s": 0.04},
    "q-learning": {"cpu_h": -0.07, "gb_h": -0.31, "makespan_s": -0.07},
}
TRACES = Path(__file__).parents[2] / "shared/data/wfformat"  # used when it is there


@dataclass(slots=True)
class Bill:
    """Of some runs together; hours are of the machine's clock."""

    makespan_s: float = 0.0
    cpu_h: float = 0.0  # allocated
    cpu_used_h: float = 0.0
    gb_h: float = 0.0  # allocated, killed attempts included
    gb_used_h: float = 0.0  # peak times runtime, of those that finished
    activations: int = 0
    killed: int = 0  # attempts

    @property
    def wasted_gb_h(self) -> float:
        return self.gb_h - self.gb_used_h

    def add(self, other: Bill) -> None:
        for field in fields(Bill):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


@dataclass(order=True, slots=True)
class _Running:
    ends_s: float
    number: int
    program: Program
    index: int
    allocation: Allocation
    began_s: float
    killed: bool


class Deciding(Protocol):
    def size(self, need: Need) -> Sized: ...

    def learn(self, seen: Experience) -> None: ...


class Run:
    """One run on the machine: who is ready starts as soon as there is room, in order."""

    def __init__(
        self,
        population: Population,
        sizers: Mapping[str, Deciding],
        number: int,
        rng: np.random.Generator,
    ) -> None:
        self._programs = {program.name: program for program in population.programs}
        self._drawn: dict[str, list[Drawn]] = population.draw(rng)
        self._sizers = sizers
        self._number = number
        self._left = {program.name: program.count for program in population.programs}
        self._waiting: list[tuple[Program, int, Allocation]] = []
        self._running: list[_Running] = []
        self._free = MACHINE
        self._now_s = 0.0
        self._started = 0
        self.bill = Bill()

    def go(self) -> Bill:
        for program in self._programs.values():
            if not program.after:
                self._ready(program, range(program.count))
        self._start()
        while self._running:
            ended = heapq.heappop(self._running)
            self._now_s = ended.ends_s
            given = ended.allocation
            free = self._free
            self._free = Allocation(free.cpus + given.cpus, free.memory_mb + given.memory_mb)
            self._end(ended)
            self._start()
        self.bill.makespan_s = self._now_s
        return self.bill

    def _need(self, program: Program, index: int, failed: Allocation | None = None) -> Need:
        size = self._drawn[program.name][index].input_bytes
        return Need(program.request, MACHINE, size, failed)

    def _ready(self, program: Program, indices: Sequence[int]) -> None:
        for index in indices:
            sized = self._sizers[program.name].size(self._need(program, index))
            self._waiting.append((program, index, sized.allocation))

    def _start(self) -> None:
        kept = []
        for program, index, given in self._waiting:
            room = self._free.cpus >= given.cpus and self._free.memory_mb >= given.memory_mb
            if not room:
                kept.append((program, index, given))
                continue
            free = self._free
            self._free = Allocation(free.cpus - given.cpus, free.memory_mb - given.memory_mb)
            drawn = self._drawn[program.name][index]
            runtime_s = drawn.runtime_s(given.cpus)
            killed = drawn.peak_mb > given.memory_mb
            if killed:
                runtime_s *= given.memory_mb / drawn.peak_mb
            self._started += 1
            ends_s = self._now_s + runtime_s
            running = _Running(ends_s, self._started, program, index, given, self._now_s, killed)
            heapq.heappush(self._running, running)
        self._waiting = kept

    def _end(self, ended: _Running) -> None:
        program, given = ended.program, ended.allocation
        drawn = self._drawn[program.name][ended.index]
        took_s = ended.ends_s - ended.began_s
        share = given.memory_mb / drawn.peak_mb if ended.killed else 1.0
        bill, sizer = self.bill, self._sizers[program.name]
        bill.cpu_h += given.cpus * took_s / 3600
        bill.gb_h += given.memory_mb / 1024 * took_s / 3600
        bill.cpu_used_h += drawn.cpu_s * share / 3600
        peak_mb = min(drawn.peak_mb, given.memory_mb)
        sizer.learn(
            Experience(
                self._number, given, program.request, took_s, drawn.cpu_s * share, peak_mb,
                ended.killed, drawn.input_bytes,
            )
        )  # fmt: skip
        if ended.killed:
            bill.killed += 1
            sized = sizer.size(self._need(program, ended.index, given))
            self._waiting.insert(0, (program, ended.index, sized.allocation))
            return
        bill.activations += 1
        bill.gb_used_h += drawn.peak_mb / 1024 * took_s / 3600
        self._left[program.name] -= 1
        for child in self._programs.values():
            if child.after != program.name:
                continue
            if child.count == program.count:
                self._ready(child, [ended.index])
            elif not self._left[program.name]:
                self._ready(child, range(child.count))


def experiment(population: Population, name: str, seed: int) -> Bill:
    """The bill of the last runs."""
    chance = np.random.default_rng(seed)
    sizers = {program.name: _sizer(name, chance.spawn(1)[0]) for program in population.programs}
    worlds = np.random.default_rng(1000 + seed)  # the same inputs for every sizer
    declared = {program.name: Sizing("fixed").sizer(chance) for program in population.programs}
    total = Bill()
    runs = TRAINING + RUNS[name]
    for number in range(runs):
        deciding: Mapping[str, Deciding] = sizers
        if number < TRAINING and name != "feedback":
            deciding = {key: _Watched(declared[key], sizers[key]) for key in sizers}
        bill = Run(population, deciding, number, worlds).go()
        if number >= runs - MEASURED:
            total.add(bill)
    return total


def _sizer(name: str, rng: np.random.Generator) -> Sizer:
    return LrMean(rng) if name == LrMean.name else Sizing(name).sizer(rng)


class _Watched:
    """The first sizer decides, both learn."""

    def __init__(self, deciding: Sizer, learning: Sizer) -> None:
        self._deciding = deciding
        self._learning = learning

    def size(self, need: Need) -> Sized:
        return self._deciding.size(need)

    def learn(self, seen: Experience) -> None:
        self._learning.learn(seen)


def compare(
    populations: Sequence[Population], repeats: int, sizers: Sequence[str] = tuple(RUNS)
) -> dict[str, Any]:
    bills = {name: Bill() for name in sizers}
    for population in populations:
        for name, bill in bills.items():
            for seed in range(repeats):
                bill.add(experiment(population, name, seed))
    base = bills["fixed"]
    return {
        name: {
            **{
                key: round(getattr(bill, key) / getattr(base, key) - 1, 4)
                for key in ("cpu_h", "gb_h", "makespan_s", "cpu_used_h")
            },
            "allocated": {"cpu_h": round(bill.cpu_h, 2), "gb_h": round(bill.gb_h, 2)},
            "used": {"cpu_h": round(bill.cpu_used_h, 2), "gb_h": round(bill.gb_used_h, 2)},
            "runs_h": round(bill.makespan_s / 3600, 3),
            "wasted_gb_h": round(bill.wasted_gb_h, 2),
            "memory_used": round(bill.gb_used_h / bill.gb_h, 4),
            "killed": round(bill.killed / bill.activations, 5),
            "activations": bill.activations,
            "thesis": THESIS.get(name),
        }
        for name, bill in bills.items()
    }


def show(family: str, results: dict[str, Any]) -> None:
    print(f"\n{family} (relative to what is declared)")
    print(f"{'':26}{'CPU h':>8}{'GB h':>8}{'time':>8}{'wasted GB h':>13}{'used':>7}{'killed':>8}")
    for name, row in results.items():
        print(
            f"{name[:25]:26}{row['cpu_h']:>+8.0%}{row['gb_h']:>+8.0%}{row['makespan_s']:>+8.0%}"
            f"{row['wasted_gb_h']:>13,.1f}{row['memory_used']:>7.0%}{row['killed']:>8.2%}"
        )
        if row["thesis"]:
            thesis = row["thesis"]
            print(
                f"{'  in the thesis':26}{thesis['cpu_h']:>+8.0%}{thesis['gb_h']:>+8.0%}"
                f"{thesis['makespan_s']:>+8.0%}"
            )
    wasted = {name: row["wasted_gb_h"] for name, row in results.items()}
    for other in ("feedback", "lr-mean"):
        saved = 1 - wasted["quantile"] / wasted[other]
        print(f"quantile wastes {saved:.0%} less memory than {other}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--traces", type=Path, default=TRACES, help="WfFormat files, if there")
    parser.add_argument("--repeats", type=int, default=3, help="seeds per workflow")
    parser.add_argument("--only", help="one workflow")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    recorded = [from_trace(path) for path in sorted(options.traces.glob("*.json"))]
    families = {
        "as in the thesis": [as_in_the_thesis(each) for each in TUNING],
        "tuned on": TUNING,
        "held out": HELD_OUT,
        "traces": [each for each in recorded if each is not None],
    }
    document = {}
    for family, populations in families.items():
        chosen = [each for each in populations if options.only in (None, each.name)]
        if chosen:
            document[family] = compare(chosen, options.repeats)
            if not options.json:
                show(family, document[family])
    if options.json:
        print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
