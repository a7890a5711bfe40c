"""The best makespans known for the instances of bench/planning.py, kept in bench/data.

    python bench/best_known.py [--seconds 60] [--learning 5] [--shapes Montage,layered]

ReASSIGN+ learns for some seconds of CPU; where the proven bound leaves more than 0.1%, CP-SAT gets
a minute with one worker (deterministic seconds, so that other work on the machine does not matter).
The better plan and the higher bound are kept. What is known already is improved, never forgotten;
an instance that has changed is known no more.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from fcntl import LOCK_EX, flock
from pathlib import Path

from scicore.model.plan import Plan
from scicore.model.problem import Problem, Transfer
from scicore.planners import planner
from scicore.planners.base import Budget

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.instances import FLEETS, SIZES, TRACES, digest_of, fleet, shapes

KEPT = Path(__file__).with_name("data") / "best_known.json"
NEAR = 0.001  # so near to the bound, no solver is asked


@dataclass(frozen=True)
class Known:
    digest: str  # of the problem
    makespan_s: float
    bound_s: float  # proved
    how: str  # the plan was found
    solver_s: float = 0.0  # CP-SAT has tried for so long

    @property
    def gap(self) -> float:
        return self.makespan_s / self.bound_s - 1

    def with_plan(self, plan: Plan, how: str) -> Known:
        better = plan.makespan_s < self.makespan_s
        return replace(
            self,
            makespan_s=min(plan.makespan_s, self.makespan_s),
            bound_s=max(plan.lower_bound_s, self.bound_s),
            how=how if better else self.how,
        )


def case_of(instance: str, place: str, transfer: Transfer) -> str:
    return f"{instance} {place} {transfer.value}"


def read() -> dict[str, Known]:
    if not KEPT.exists():
        return {}
    return {case: Known(**each) for case, each in json.loads(KEPT.read_text()).items()}


def known(kept: Mapping[str, Known], case: str, problem: Problem) -> Known | None:
    found = kept.get(case)
    return found if found and found.digest == digest_of(problem) else None


@contextmanager
def alone() -> Iterator[None]:
    """Several of these programs may work on different instances."""
    with KEPT.with_suffix(".lock").open("w") as lock:
        flock(lock, LOCK_EX)
        yield


def keep(case: str, best: Known) -> None:
    with alone():
        everything = {**read(), case: best}
        rows = {name: asdict(everything[name]) for name in sorted(everything)}
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
        KEPT.write_text("{\n" + lines + "\n}\n")


def learn(problem: Problem, before: Known | None, seconds: float) -> Known:
    seed = 1 if before is None else 2
    plan = planner("reassign-plus").plan(problem, seed, Budget(seconds, time.process_time))
    how = f"reassign-plus, {seconds:g} s"
    known = before or Known(digest_of(problem), plan.makespan_s, plan.lower_bound_s, how)
    return known.with_plan(plan, how)


def solve(problem: Problem, before: Known, seconds: float) -> Known:
    solved = planner("exact", {"effort": str(seconds)}).plan(problem, 1)
    best = before.with_plan(solved, f"CP-SAT, {seconds:g} s, one worker")
    return replace(best, solver_s=seconds)


def improved(problem: Problem, before: Known | None, options: argparse.Namespace) -> Known:
    best = before
    if best is None or (options.again and best.gap > NEAR):
        best = learn(problem, best, options.learning)
    if best.gap > NEAR and best.solver_s < options.seconds:
        best = solve(problem, best, options.seconds)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=60.0, help="for CP-SAT; 0 = none")
    parser.add_argument("--learning", type=float, default=5.0, help="CPU seconds of ReASSIGN+")
    parser.add_argument("--shapes", type=lambda text: text.split(","), default=None)
    parser.add_argument("--traces", type=Path, default=TRACES)
    parser.add_argument("--again", action="store_true", help="learn again, too")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    for shape in shapes(SIZES, options.traces, options.shapes):
        for place in FLEETS:
            problem = shape.problem(fleet(place), Transfer.NONE)
            case = case_of(shape.name, place, Transfer.NONE)
            before = known(read(), case, problem)
            best = improved(problem, before, options)
            if best != before:
                keep(case, best)
                print(
                    f"{case:32}{best.makespan_s:12.3f} {best.gap:8.2%}  {best.how}", file=sys.stderr
                )
    if options.json:
        print(json.dumps({case: asdict(best) for case, best in read().items()}, indent=2))


if __name__ == "__main__":
    main()
