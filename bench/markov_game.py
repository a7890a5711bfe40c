"""Time against money: DQN agents and the baselines that they claim to beat, on mixed workflows.

    python bench/markov_game.py [--sizes 138,252] [--budget 10] [--pictures DIR] [--json]

Five templates (CyberShake, Epigenomics, Inspiral, Montage, Sipht) are mixed to 138, 252, 358 and
497 activations and share seven EC2 types with the paper's prices and scores. Every planner has the
same seconds of CPU. `hypervolume` is that of the front where 0 and 1 are the best and the worst of
all fronts together, in each coordinate, and (1.1, 1.1) is the reference. `used_usd` is what only
the seconds of work would cost, as in the paper's reward; `cost_usd` is paid until a VM's last
second.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scicore.model.front import Front, Point, hypervolume, point_of
from scicore.model.objective import Goal, Objective
from scicore.model.plan import Plan, Policy
from scicore.planners import PLANNERS, planner
from scicore.planners.base import Budget
from scicore.reports.gantt import Bar, Chart, draw_gantt

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.fronts import draw_fronts
from bench.instances import TRACES
from bench.mixes import PUBLISHED, SIZES, Mix, generated, public

REFERENCE: Point = (1.1, 1.1)
OURS = "reassign-pareto"


@dataclass(frozen=True)
class Contestant:
    name: str
    algorithm: str
    settings: Mapping[str, str]
    reuses: str = ""  # contestant whose networks, of the smallest mix, it starts from


CONTESTANTS = (
    Contestant("dqn", "dqn", {}),
    Contestant("dqn, ET = mean", "dqn", {"growth_in": "mean"}),
    Contestant("dqn, reused", "dqn", {"growth_in": "mean", "episodes": "1"}, "dqn, ET = mean"),
    Contestant("nsga2", "nsga2", {}),
    Contestant("mopso", "mopso", {}),
    Contestant("gtbga", "gtbga", {}),
    Contestant("heft", "heft", {}),
    *([Contestant(OURS, OURS, {})] if OURS in PLANNERS else []),
)


@dataclass(frozen=True)
class Row:
    mix: str
    planner: str
    makespan_s: float  # of the plan that it would give if asked for one
    cost_usd: float
    used_usd: float
    fastest_s: float  # ends of its front
    cheapest_usd: float
    plans: int  # in the front
    hypervolume: float
    planning_s: float


@dataclass(frozen=True)
class Result:
    plan: Plan
    front: Front
    planning_s: float


def contest(one: Contestant, mix: Mix, budget_s: float, policy: Policy | None) -> Result:
    """The front takes the budget. The one plan is its balanced one; that of the agents is what they
    agree on after learning for as long."""
    made = planner(one.algorithm, one.settings)
    limit_s = None if one.reuses else budget_s
    started = time.process_time()
    front = made.front(mix.problem, 0, _budget(limit_s), policy=policy)
    planning_s = time.process_time() - started
    plan = front.best(Objective(Goal.BALANCED))
    if one.algorithm == "dqn":
        plan = made.plan(mix.problem, 0, _budget(limit_s), policy=policy)
    return Result(plan, front, planning_s)


def _budget(seconds: float | None) -> Budget | None:
    return None if seconds is None else Budget(seconds, time.process_time)


def used_usd(plan: Plan) -> float:
    price = {vm.id: vm.type.price_usd_per_hour for vm in plan.fleet.vms}
    return sum((each.finish_s - each.start_s) * price[each.vm] / 3600 for each in plan.assignments)


def rows_of(mix: Mix, results: Mapping[str, Result]) -> list[Row]:
    points = [point for result in results.values() for point in result.front.points]
    times_s, costs_usd = zip(*points, strict=True)
    fast_s, cheap_usd = min(times_s), min(costs_usd)
    span_s, span_usd = max(times_s) - fast_s, max(costs_usd) - cheap_usd

    def normalised(point: Point) -> Point:
        return (point[0] - fast_s) / span_s, (point[1] - cheap_usd) / span_usd

    return [
        Row(
            mix.name,
            name,
            *point_of(result.plan),
            used_usd(result.plan),
            result.front.points[0][0],
            result.front.points[-1][1],
            len(result.front),
            hypervolume([normalised(point) for point in result.front.points], REFERENCE),
            result.planning_s,
        )
        for name, result in results.items()
    ]


def beside_the_paper(rows: Sequence[Row]) -> list[dict[str, object]]:
    """How much dearer and how much slower the agents' plan is than each baseline's."""
    by_name = {row.planner: row for row in rows}
    return [
        {
            "mix": rows[0].mix,
            "agents": agents,
            "baseline": baseline,
            "dearer": by_name[agents].cost_usd / by_name[baseline].cost_usd - 1,
            "dearer_in_use": by_name[agents].used_usd / by_name[baseline].used_usd - 1,
            "slower": by_name[agents].makespan_s / by_name[baseline].makespan_s - 1,
            "published_dearer": PUBLISHED["dearer_at_138"].get(baseline)
            if rows[0].mix.endswith("-138")
            else None,
        }
        for agents in by_name
        if agents.startswith("dqn")
        for baseline in ("nsga2", "mopso", "gtbga")
    ]


# -- what is shown --------------------------------------------------------------------------------


def draw(directory: Path, mix: Mix, results: Mapping[str, Result]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    fronts = {name: result.front.points for name, result in results.items()}
    draw_fronts(f"{mix.name}: time against money", fronts, directory / f"{mix.name}.png")
    for name, result in results.items():
        plan = result.plan
        word = name.replace(", ", "-").replace(" = ", "-")
        draw_gantt(
            Chart(
                f"{mix.name}: {name}",
                f"{plan.makespan_s:.0f} s, ${plan.cost_usd:.3f}; colours are workflows",
                tuple((vm.id, vm.type.slots) for vm in plan.fleet.vms),
                tuple(
                    Bar(each.vm, each.activity.partition("/")[0], each.start_s, each.finish_s)
                    for each in plan.assignments
                ),
            ),
            directory / f"{mix.name}-{word}.png",
        )


def print_rows(rows: Sequence[Row]) -> None:
    print(f"\n{rows[0].mix}")
    print(f"{'planner':18}{'makespan s':>11}{'cost USD':>10}{'used USD':>10}", end="")
    print(f"{'fastest s':>11}{'cheapest':>10}{'plans':>7}{'volume':>8}{'CPU s':>8}")
    for row in rows:
        print(f"{row.planner:18}{row.makespan_s:11.0f}{row.cost_usd:10.3f}", end="")
        print(f"{row.used_usd:10.3f}{row.fastest_s:11.0f}{row.cheapest_usd:10.3f}", end="")
        print(f"{row.plans:7}{row.hypervolume:8.3f}{row.planning_s:8.2f}")


def print_paper(lines: Sequence[Mapping[str, object]]) -> None:
    for line in lines:
        published = line["published_dearer"]
        beside = "" if published is None else f" (published {published:+.1%})"
        print(
            f"{line['agents']} beside {line['baseline']}: {line['dearer']:+.1%} money{beside}, "
            f"{line['dearer_in_use']:+.1%} by seconds of work, {line['slower']:+.1%} time"
        )


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sizes", type=numbers, default=list(SIZES))
    parser.add_argument("--budget", type=float, default=10.0, help="CPU seconds for each planner")
    parser.add_argument("--traces", type=Path, default=TRACES, help="public traces, where there")
    parser.add_argument(
        "--pictures", type=Path, help="fronts and Gantt charts, into this directory"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    mixes = [generated(size) for size in options.sizes]
    if options.traces.is_dir() and 138 in options.sizes:
        mixes.insert(0, public(options.traces))
    for one in CONTESTANTS:  # once unmeasured, so that compiled code is there
        contest(one, mixes[0], min(0.5, options.budget), None)
    kept: dict[str, Policy | None] = {}
    document: dict[str, list[object]] = {"rows": [], "beside_the_paper": []}
    for mix in mixes:
        results = {
            one.name: contest(one, mix, options.budget, kept.get(one.reuses))
            for one in CONTESTANTS
            if not one.reuses or one.reuses in kept
        }
        for name, result in results.items():
            kept.setdefault(name, result.plan.policy)
        rows = rows_of(mix, results)
        lines = beside_the_paper(rows)
        document["rows"] += [asdict(row) for row in rows]
        document["beside_the_paper"] += lines
        if not options.json:
            print_rows(rows)
            print_paper(lines)
            sys.stdout.flush()
        if options.pictures:
            draw(options.pictures, mix, results)
    if options.json:
        print(json.dumps({"budget_s": options.budget, **document}, indent=2))


if __name__ == "__main__":
    main()
