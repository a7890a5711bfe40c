"""Planners side by side: instance × fleet × planner, and how planning time grows with the size.

    python bench/planning.py [--quick] [--planners heft,reassign-plus] [--fleets S16,P32]
                             [--budget 1] [--transfer none|edge|shared] [--json]
    python bench/planning.py --thousand 600 [--shapes montage,layered] [--fleets S16,H9]

Every makespan stands beside the proven bound and the best known (bench/best_known.py and all that
this run finds); times are seconds of CPU, so that other work on the machine matters little.
Planners run once unmeasured, so that compiled code is there. `--thousand` compares 30 s of learning
with the best that any planner finds in so many seconds.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scicore.model.plan import Plan
from scicore.model.problem import Problem, Transfer
from scicore.planners import PLANNERS, planner
from scicore.planners.base import Budget, makespan_of, validated
from scicore.planners.heft import schedule

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.best_known import Known, case_of, known, read
from bench.instances import FLEETS, SIZES, TRACES, fleet, shapes
from bench.shapes import SHAPES, Shape

GROWTH = (100, 1_000, 10_000, 100_000)
# Asked for by name only: slow, or for time and money rather than time.
SLOW = {"exact", "reassign-pareto", "dqn", "nsga2", "mopso", "gtbga", "ga", "mdp"}
QUICK = ("heft", "peft", "min-min", "max-min", "mct")


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


def timed(name: str, problem: Problem, budget_s: float | None, seed: int = 0) -> tuple[Plan, float]:
    started = time.process_time()
    budget = None if budget_s is None else Budget(budget_s, time.process_time)
    plan = planner(name).plan(problem, seed, budget)
    return plan, time.process_time() - started


def compare(
    shape: Shape, place: str, kept: Mapping[str, Known], options: argparse.Namespace
) -> list[Row]:
    problem = shape.problem(fleet(place), options.transfer)
    plans = {name: timed(name, problem, options.budget) for name in options.planners}
    if "heft" not in plans:
        plans["heft"] = timed("heft", problem, None)
    before = known(kept, case_of(shape.name, place, options.transfer), problem)
    best_s = min(plan.makespan_s for plan, _ in plans.values())
    bound_s = max(plan.lower_bound_s for plan, _ in plans.values())
    if before:
        best_s, bound_s = min(best_s, before.makespan_s), max(bound_s, before.bound_s)
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


def growth(sizes: Sequence[int]) -> list[dict[str, object]]:
    """Montage on S64: HEFT's planning, one simulation, and ReASSIGN+ without a budget."""
    rows: list[dict[str, object]] = []
    for size in sizes:
        problem = SHAPES["montage"](size, 1).problem(fleet("S64"), Transfer.EDGE)
        plan, heft_s = timed("heft", problem, None)
        instance = validated(problem)
        order, vm_of = schedule(instance)
        started = time.process_time()
        makespan_of(instance, order, vm_of)
        simulation_s = time.process_time() - started
        row: dict[str, object] = {
            "activations": len(problem.activations),
            "heft_s": heft_s,
            "simulation_s": simulation_s,
            "heft_gap_to_bound": plan.gap,
        }
        if size <= 10_000:
            learned, learned_s = timed("reassign-plus", problem, None)
            row["reassign_plus_s"] = learned_s
            row["reassign_plus_to_heft"] = learned.makespan_s / plan.makespan_s
            row["reassign_plus_gap_to_bound"] = learned.gap
        row["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        rows.append(row)
    return rows


def thousand(shape: Shape, place: str, transfer: Transfer, long_s: float) -> dict[str, object]:
    """Half a minute of learning against every planner of ours, the learner with `long_s`."""
    problem = shape.problem(fleet(place), transfer)
    heft = timed("heft", problem, None)[0]
    short, short_s = timed("reassign-plus", problem, 30.0)
    others = {name: timed(name, problem, None)[0] for name in QUICK}
    if short.gap > 0:
        others["reassign-plus"] = timed("reassign-plus", problem, long_s, seed=1)[0]
    winner = min(others, key=lambda name: others[name].makespan_s)
    best_s = min(short.makespan_s, others[winner].makespan_s)
    bound_s = max(plan.lower_bound_s for plan in (short, *others.values()))
    return {
        "instance": shape.name,
        "fleet": place,
        "heft_gap_to_bound": heft.makespan_s / bound_s - 1,
        "short_gap_to_bound": short.makespan_s / bound_s - 1,
        "best_gap_to_bound": best_s / bound_s - 1,
        "short_gap_to_best": short.makespan_s / best_s - 1,
        "short_s": short_s,
        "best_of_the_others": winner,
    }


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


def print_table(rows: Sequence[Row]) -> None:
    print(f"{'instance':20}{'n':>6} {'fleet':6}{'planner':15}", end="")
    print(f"{'makespan s':>12}{'to bound':>10}{'to best':>10}{'plan s':>9}{'x HEFT':>8}")
    for row in rows:
        print(f"{row.instance:20}{row.activations:6} {row.fleet:6}{row.planner:15}", end="")
        print(f"{row.makespan_s:12.2f}{row.gap_to_bound:10.2%}{row.gap_to_best:10.2%}", end="")
        print(f"{row.planning_s:9.3f}{row.times_heft:8.1f}")


def print_lines(lines: object) -> None:
    assert isinstance(lines, list)
    for line in lines:
        print(
            "  ".join(
                f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
                for key, value in line.items()
            ),
            flush=True,
        )


def words(text: str) -> list[str]:
    return text.split(",")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    default = [name for name in PLANNERS if name not in SLOW]
    parser.add_argument("--quick", action="store_true", help="a minute instead of many")
    parser.add_argument("--planners", type=words, default=default)
    parser.add_argument("--fleets", type=words, default=None)
    parser.add_argument("--sizes", type=words, default=None, help="of generated workflows")
    parser.add_argument("--shapes", type=words, default=None, help="only these instances")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for planners that learn")
    parser.add_argument("--transfer", type=Transfer, default=Transfer.NONE)
    parser.add_argument("--traces", type=Path, default=TRACES)
    parser.add_argument("--no-growth", action="store_true")
    parser.add_argument("--thousand", type=float, metavar="S", help="only this: see above")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    result: dict[str, object] = {"compile_s": warm(options.planners)}
    if options.thousand:
        rows = []
        for name in options.shapes or SHAPES:
            for place in options.fleets or ("S16", "H9"):
                shape = SHAPES[name](1000, 1)
                rows.append(thousand(shape, place, options.transfer, options.thousand))
                if not options.json:
                    print_lines(rows[-1:])
        result["thousand"] = rows
    else:
        result |= table(options)
    if options.json:
        print(json.dumps(result, indent=2))


def table(options: argparse.Namespace) -> dict[str, object]:
    sizes = [int(size) for size in options.sizes or (SIZES[:1] if options.quick else SIZES)]
    fleets = options.fleets or (("S16", "H9") if options.quick else FLEETS)
    kept = read()
    rows = [
        row
        for shape in shapes(sizes, options.traces, options.shapes)
        for place in fleets
        for row in compare(shape, place, kept, options)
    ]
    steps = GROWTH[: 0 if options.no_growth else 3 if options.quick else len(GROWTH)]
    result: dict[str, object] = {
        "budget_s": options.budget,
        "transfer": options.transfer.value,
        "rows": [asdict(row) for row in rows],
        "summary": summary(rows),
        "growth": growth(steps),
    }
    if not options.json:
        print_table(rows)
        for title in ("summary", "growth"):
            print(f"\n{title}")
            print_lines(result[title])
    return result


if __name__ == "__main__":
    main()
