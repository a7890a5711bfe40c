"""Planners side by side: instance × fleet × planner, and how planning time grows with the size.

    python bench/planning.py [--quick] [--planners heft,reassign-plus] [--fleets S16,P32]
                             [--budget 1] [--best 60] [--transfer none|edge|shared] [--json]

Every makespan stands beside the proven bound and the best that is known from this run; every time
beside HEFT's in this run. Planners run once unmeasured, so that compiled code is there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.plan import Plan
from scicore.model.problem import Problem, Transfer
from scicore.planners import PLANNERS, planner
from scicore.planners.base import Budget, makespan_of, validated
from scicore.planners.heft import schedule

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.shapes import SHAPES, Shape, of_trace

ROOT = Path(__file__).parents[1]
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
SIZES = (50, 100)
GROWTH = (100, 1_000, 10_000, 100_000)
SLOW = {"exact"}  # asked for by name only


@dataclass(frozen=True)
class Row:
    instance: str
    activations: int
    fleet: str
    planner: str
    makespan_s: float
    bound_s: float  # the best that any planner of this run has proved
    gap_to_bound: float
    gap_to_best: float
    planning_s: float
    times_heft: float  # planning time in HEFT's


def fleet(name: str) -> Fleet:
    parts = FLEETS[name]
    vms = (Vm(f"{kind.name}-{n}", kind) for kind, count in parts for n in range(1, count + 1))
    return Fleet(tuple(vms), ",".join(f"{count}x{kind.name}" for kind, count in parts))


def shapes(sizes: Sequence[int], traces: Path) -> Iterator[Shape]:
    for path in sorted(traces.glob("*.xml")):
        yield of_trace(path)
    for make in SHAPES.values():
        for size in sizes:
            yield make(size, 1)


def timed(name: str, problem: Problem, budget_s: float | None) -> tuple[Plan, float]:
    started = time.perf_counter()
    budget = None if budget_s is None else Budget(budget_s, time.perf_counter)
    plan = planner(name).plan(problem, 0, budget)
    return plan, time.perf_counter() - started


def compare(shape: Shape, place: str, transfer: Transfer, options: argparse.Namespace) -> list[Row]:
    problem = shape.problem(fleet(place), transfer)
    plans = {name: timed(name, problem, options.budget) for name in options.planners}
    if "heft" not in plans:
        plans["heft"] = timed("heft", problem, None)
    proofs = [plan for plan, _ in plans.values()]
    if options.best and min(plan.gap for plan in proofs) > 0:
        for name in ("exact", "reassign-plus"):
            proofs.append(timed(name, problem, options.best)[0])
    best_s = min(plan.makespan_s for plan in proofs)
    bound_s = max(plan.lower_bound_s for plan in proofs)
    heft_s = plans["heft"][1]
    return [
        Row(
            shape.name,
            len(shape.activities),
            place,
            name,
            plan.makespan_s,
            bound_s,
            plan.makespan_s / bound_s - 1,
            plan.makespan_s / best_s - 1,
            seconds,
            seconds / heft_s,
        )
        for name, (plan, seconds) in plans.items()
        if name in options.planners
    ]


def growth(sizes: Sequence[int], budget_s: float | None) -> list[dict[str, object]]:
    """Montage on S64: HEFT's planning, one simulation, and ReASSIGN+ without a budget."""
    rows: list[dict[str, object]] = []
    for size in sizes:
        problem = SHAPES["montage"](size, 1).problem(fleet("S64"), Transfer.EDGE)
        plan, heft_s = timed("heft", problem, None)
        instance = validated(problem)
        order, vm_of = schedule(instance)
        started = time.perf_counter()
        makespan_of(instance, order, vm_of)
        simulation_s = time.perf_counter() - started
        row: dict[str, object] = {
            "activations": len(problem.activations),
            "heft_s": heft_s,
            "simulation_s": simulation_s,
            "heft_gap_to_bound": plan.gap,
        }
        if size <= 10_000:
            learned, learned_s = timed("reassign-plus", problem, budget_s)
            row["reassign_plus_s"] = learned_s
            row["reassign_plus_to_heft"] = learned.makespan_s / plan.makespan_s
            row["reassign_plus_gap_to_bound"] = learned.gap
        rows.append(row)
    return rows


def summary(rows: Sequence[Row]) -> list[dict[str, object]]:
    names = list(dict.fromkeys(row.planner for row in rows))
    return [
        {
            "planner": name,
            "cases": len(own),
            "mean_gap_to_best": statistics.mean(row.gap_to_best for row in own),
            "worst_gap_to_best": max(row.gap_to_best for row in own),
            "mean_gap_to_bound": statistics.mean(row.gap_to_bound for row in own),
            "at_best": sum(row.gap_to_best < 1e-9 for row in own),
            "median_planning_s": statistics.median(row.planning_s for row in own),
        }
        for name in names
        for own in [[row for row in rows if row.planner == name]]
    ]


def warm(names: Sequence[str]) -> float:
    """Seconds until everything is compiled, or read from the cache."""
    started = time.perf_counter()
    for transfer in (Transfer.NONE, Transfer.EDGE):
        for name in {*names, "heft", "reassign-plus"} - SLOW:
            planner(name).plan(SHAPES["layered"](200, 1).problem(fleet("H9"), transfer), 0)
    return time.perf_counter() - started


def print_tables(result: dict[str, object], rows: Sequence[Row]) -> None:
    print(f"compiled code ready after {result['compile_s']:.1f} s")
    print(f"{'instance':20}{'n':>6} {'fleet':6}{'planner':15}", end="")
    print(f"{'makespan s':>12}{'to bound':>10}{'to best':>10}{'plan s':>9}{'x HEFT':>8}")
    for row in rows:
        print(f"{row.instance:20}{row.activations:6} {row.fleet:6}{row.planner:15}", end="")
        print(f"{row.makespan_s:12.2f}{row.gap_to_bound:10.2%}{row.gap_to_best:10.2%}", end="")
        print(f"{row.planning_s:9.3f}{row.times_heft:8.1f}")
    for title in ("summary", "growth"):
        print(f"\n{title}")
        lines = result[title]
        assert isinstance(lines, list)
        for line in lines:
            print(
                "  ".join(
                    f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
                    for key, value in line.items()
                )
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words = lambda text: text.split(",")  # noqa: E731
    default = [name for name in PLANNERS if name not in SLOW]
    parser.add_argument("--quick", action="store_true", help="a minute instead of many")
    parser.add_argument("--planners", type=words, default=default)
    parser.add_argument("--fleets", type=words, default=list(FLEETS))
    parser.add_argument("--sizes", type=words, default=None, help="of generated workflows")
    parser.add_argument("--shapes", type=words, default=None, help="only these instances")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for planners that learn")
    parser.add_argument("--best", type=float, default=0.0, help="seconds for the best known")
    parser.add_argument("--transfer", type=Transfer, default=Transfer.NONE)
    parser.add_argument("--traces", type=Path, default=ROOT.parent / "shared/data/dax")
    parser.add_argument("--no-growth", action="store_true")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes or (SIZES[:1] if options.quick else SIZES)]
    fleets = options.fleets[:1] + options.fleets[-1:] if options.quick else options.fleets
    compile_s = warm(options.planners)
    rows = [
        row
        for shape in shapes(sizes, options.traces)
        if not options.shapes or any(shape.name.startswith(name) for name in options.shapes)
        for place in fleets
        for row in compare(shape, place, options.transfer, options)
    ]
    steps = GROWTH[: 0 if options.no_growth else 3 if options.quick else len(GROWTH)]
    result: dict[str, object] = {
        "budget_s": options.budget,
        "transfer": options.transfer.value,
        "compile_s": compile_s,
        "rows": [asdict(row) for row in rows],
        "summary": summary(rows),
        "growth": growth(steps, None),
    }
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print_tables(result, rows)


if __name__ == "__main__":
    main()
