"""The two experiments with genetic algorithms that a Markov decision process chooses between.

    python bench/ga_mdp.py [--days 60] [--seeds 3] [--steady] [--json]

1. Total cost as data grow from 64 to 2,048 MB over four regions.
2. Cost over time under a varying load: 20 to 50 activations, 5 to 15 VMs.
MDP, GA alone and best resource selection, in the world of bench/four_regions.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.four_regions import Task, contention, execute, task_of, workflow
from scicore.model.experience import Experience, Moment, Result
from scicore.planners import planner
from scicore.planners.decision_process import Tally
from scicore.planners.mdp import MdpParameters, choose, rules_of

# Three solvers with 50, 5%, 85% and 3%, as published; that they differ in their confidence is
# published, too, how they do is not.
GA = {
    "processing": "work",  # an activation pays for its own time
    "hour_usd": "0.3",
    "generations": "300",
}
SOLVERS = {f"confidence={weight:g}": f"{weight:g}" for weight in (1.0, 0.5, 0.1)}
CONFIDENT = next(iter(SOLVERS))
MDP, BRS = "mdp", "brs"
SIZES, VMS = (20, 35, 50), (5, 10, 15)
DATA_MB = (64, 128, 256, 512, 1024, 2048)  # experiment 1
FIXED_MB = 256  # experiment 2
PER_DAY = 48  # arrivals
DAYS_PER_SIZE = 10  # of data, experiment 1
DEADLINE = 2.0  # times what the most confident solver predicts
PENALTY_USD = 0.2
TRAINING = 1000  # added to a seed: what GA alone is chosen on is another story

Tasks = Mapping[tuple[int, int], Sequence[Task]]


def planned(activations: int, vms: int, data_mb: float, seed: int) -> Task:
    """By every solver and by best resource selection."""
    problem = workflow(activations, vms, data_mb, seed)
    plans = {
        name: planner("ga", {**GA, "confidence": weight}).plan(problem, seed)
        for name, weight in SOLVERS.items()
    }
    return task_of(problem, {**plans, BRS: planner("brs").plan(problem, seed)})


def workload(data_mb: float, variants: int) -> Tasks:
    return {
        (size, vms): [
            planned(size, vms, data_mb, 1000 * size + 10 * vms + n) for n in range(variants)
        ]
        for size in SIZES
        for vms in VMS
    }


@dataclass(frozen=True)
class Arrival:
    at_s: float
    task: Task


def arrivals(tasks: Tasks, days: int, seed: int) -> list[Arrival]:
    """At a fixed rate; around noon workflows are larger."""
    chance = np.random.default_rng(seed)
    coming = []
    for number in range(days * PER_DAY):
        at_s = number * 86_400 / PER_DAY
        swing = 0.5 - 0.5 * np.cos(2 * np.pi * at_s / 86_400)  # 0 at midnight, 1 at noon
        size = SIZES[min(int((swing + chance.random()) / 2 * len(SIZES)), len(SIZES) - 1)]
        variants = tasks[size, VMS[int(chance.integers(len(VMS)))]]
        coming.append(Arrival(at_s, variants[int(chance.integers(len(variants)))]))
    return coming


@dataclass(frozen=True)
class Story:
    """What each arrival cost, in the order in which they came."""

    cost_usd: NDArray[np.float64]  # the penalty included
    data_usd: NDArray[np.float64]
    late: NDArray[np.bool_]


def live(coming: Sequence[Arrival], who: str, steady: bool, seed: int) -> Story:
    """Who plans: `mdp`, one of the solvers, or BRS. The load is what still runs of what came
    before, per VM; the same noise meets everybody."""
    parameters = MdpParameters(penalty_usd=PENALTY_USD)
    tally = Tally(list(SOLVERS), rules_of(parameters))
    chance = np.random.default_rng(seed)
    ends_s = np.zeros(0)  # of all activations that were given out
    result = Result.SUCCESS
    rows = []
    for arrival in coming:
        task, vms = arrival.task, len(arrival.task.speeds)
        ends_s = ends_s[ends_s > arrival.at_s]
        now = Moment(_hour(arrival.at_s), len(ends_s) / vms, result)
        solver = choose(tally, now, parameters, seed).solver if who == MDP else who
        outcome = execute(task, solver, contention(now.hour, now.load, steady), chance)
        late = outcome.makespan_s > DEADLINE * task.schedules[CONFIDENT].makespan_s
        ends_s = np.concatenate([ends_s, arrival.at_s + outcome.ends_s])
        ended_s = arrival.at_s + outcome.makespan_s
        result = Result.FAILURE if late else Result.SUCCESS
        after = Moment(_hour(ended_s), float((ends_s > ended_s).sum() / vms), result)
        tally.add(Experience(solver, now, after, outcome.cost_usd, outcome.makespan_s))
        rows.append((outcome.cost_usd + PENALTY_USD * late, outcome.data_usd, late))
    cost_usd, data_usd, late_ones = (np.array(column) for column in zip(*rows, strict=True))
    return Story(cost_usd, data_usd, late_ones)


def _hour(at_s: float) -> int:
    return int(at_s // 3600) % 24


def best_alone(tasks: Tasks, days: int, steady: bool, seed: int) -> str:
    """The configuration of GA alone: the one that does best over all loads, on other arrivals."""
    coming = arrivals(tasks, days, seed + TRAINING)
    costs = {name: live(coming, name, steady, seed + TRAINING).cost_usd.mean() for name in SOLVERS}
    return min(costs, key=lambda name: costs[name])


# -- the experiments ------------------------------------------------------------------------------


def growing_data(steady: bool, seed: int) -> list[dict[str, Any]]:
    rows = []
    for data_mb in DATA_MB:
        tasks = workload(data_mb, 1)
        coming = arrivals(tasks, DAYS_PER_SIZE, seed)
        alone = best_alone(tasks, DAYS_PER_SIZE, steady, seed)
        stories = {who: live(coming, who, steady, seed) for who in (MDP, alone, BRS)}
        row: dict[str, Any] = {"data_mb": data_mb, "ga_alone": alone}
        for label, who in (("mdp", MDP), ("ga", alone), ("brs", BRS)):
            row[f"{label}_usd"] = float(stories[who].cost_usd.mean())
            row[f"{label}_data_usd"] = float(stories[who].data_usd.mean())
        rows.append(row)
    return rows


def varying_load(days: int, seeds: int, steady: bool) -> dict[str, Any]:
    tasks = workload(FIXED_MB, 3)
    # The first days one by one: there the MDP knows nothing yet.
    marks = sorted({0, *(mark for mark in (1, 2, 4, 8, 16, 32) if mark < days), days})
    windows = list(pairwise(marks))
    everybody = (MDP, *SOLVERS, BRS)
    means = {who: np.zeros((seeds, len(windows))) for who in everybody}
    late = dict.fromkeys(everybody, 0.0)
    alone = best_alone(tasks, days, steady, 0)
    for seed in range(seeds):
        coming = arrivals(tasks, days, seed)
        for who in everybody:
            story = live(coming, who, steady, seed)
            late[who] += float(story.late.mean()) / seeds
            for number, (begin, end) in enumerate(windows):
                part = story.cost_usd[begin * PER_DAY : end * PER_DAY]
                means[who][seed, number] = part.mean()
    return {
        "windows": [f"{begin + 1}-{end}" for begin, end in windows],
        "usd": {who: each.mean(axis=0).tolist() for who, each in means.items()},
        "late": late,
        "ga_alone": alone,
    }


def show(document: dict[str, Any]) -> None:
    print(f"1. USD per workflow as data grow (of these, for data); steady={document['steady']}")
    print(f"{'MB':>6}" + "".join(f"{who:>16}" for who in ("MDP", "GA alone", "BRS")))
    for row in document["growing_data"]:
        cells = [
            f"{row[f'{who}_usd']:.3f} ({row[f'{who}_data_usd']:.3f})"
            for who in ("mdp", "ga", "brs")
        ]
        print(f"{row['data_mb']:>6}" + "".join(f"{cell:>16}" for cell in cells))
    load = document["varying_load"]
    print("\n2. USD per workflow over time, penalties included, by day; share that was late")
    print(f"{'':<27}" + "".join(f"{window:>8}" for window in load["windows"]) + f"{'late':>8}")
    for who, values in load["usd"].items():
        name = f"{who}{' (GA alone)' if who == load['ga_alone'] else ''}"
        figures = "".join(f"{value:>8.3f}" for value in values)
        print(f"{name:<27}{figures}{load['late'][who]:>8.1%}")
    print(f"\n{document['seconds']:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=int, default=60, help="of experiment 2")
    parser.add_argument("--seeds", type=int, default=3, help="of experiment 2")
    parser.add_argument("--steady", action="store_true", help="VMs deliver what they promise")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    asked = parser.parse_args()
    began = time.perf_counter()
    document: dict[str, Any] = {
        "steady": asked.steady,
        "growing_data": growing_data(asked.steady, 0),
        "varying_load": varying_load(asked.days, asked.seeds, asked.steady),
    }
    document["seconds"] = time.perf_counter() - began
    if asked.json:
        print(json.dumps(document, indent=2))
    else:
        show(document)


if __name__ == "__main__":
    main()
