"""The table of instances that planners are measured on: public traces, generated shapes, fleets."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.problem import Problem

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.shapes import SHAPES, Shape, of_trace

ROOT = Path(__file__).parents[1]
TRACES = ROOT.parent / "shared/data/dax"  # used when it is there
SIZES = (50, 100)

MICRO = VmType("t2.micro", 1, 1024, 1.0, 0.0116, bandwidth_mb_s=20.0)
HUGE = VmType("t2.2xlarge", 8, 32768, 1.25, 0.3712)
PROCESSOR = replace(HUGE, slots=1, speed=8.0)  # the papers' view: one processor, 8 times as fast
LARGE = VmType("t2.large", 2, 8192, 1.25, 0.0928, bandwidth_mb_s=62.5)
C5 = VmType("c5.xlarge", 4, 8192, 1.6, 0.17)
FLEETS = {
    "S16": ((MICRO, 8), (HUGE, 1)),
    "S32": ((MICRO, 8), (HUGE, 3)),
    "S64": ((MICRO, 8), (HUGE, 7)),
    "P16": ((MICRO, 8), (PROCESSOR, 1)),
    "P32": ((MICRO, 8), (PROCESSOR, 3)),
    "P64": ((MICRO, 8), (PROCESSOR, 7)),
    "H9": ((MICRO, 3), (LARGE, 1), (C5, 1)),
}


def fleet(name: str) -> Fleet:
    parts = FLEETS[name]
    vms = (Vm(f"{kind.name}-{n}", kind) for kind, count in parts for n in range(1, count + 1))
    return Fleet(tuple(vms), ",".join(f"{count}x{kind.name}" for kind, count in parts))


def shapes(sizes: Sequence[int], traces: Path, wanted: Sequence[str] | None) -> Iterator[Shape]:
    """Those whose name begins like one that is wanted; None = all."""
    made = [of_trace(path) for path in sorted(traces.glob("*.xml"))]
    made += [make(size, 1) for make in SHAPES.values() for size in sizes]
    for shape in made:
        if not wanted or any(shape.name.startswith(name) for name in wanted):
            yield shape


def _traits(kind: VmType) -> tuple[float, ...]:
    return kind.slots, kind.memory_mb, kind.boot_s, kind.bandwidth_mb_s


def digest_of(problem: Problem) -> str:
    """Whatever decides about makespans: another problem under the same name is told apart."""
    parts = (
        np.ascontiguousarray(problem.runtime_s).tobytes(),
        np.array(problem.edges, dtype=np.int64).tobytes(),
        np.array(problem.edge_bytes, dtype=np.int64).tobytes(),
        repr([_traits(vm.type) for vm in problem.fleet.vms]).encode(),
        problem.transfer.value.encode(),
    )
    return hashlib.sha256(b"|".join(parts)).hexdigest()[:16]
