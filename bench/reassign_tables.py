"""The experiment of the ReASSIGN papers again: Tables I to V beside ours, with the learning time.

    python bench/reassign_tables.py [--seeds 5] [--json]

27 settings of alpha, gamma and epsilon × 3 VM mixes, 100 episodes each, on Montage with 50
activations; a VM is one processor, t2.2xlarge eight times as fast as t2.micro, as in the papers.
The published figures are in bench/data. Afterwards: what the reward knows about the makespan.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scicore.kernel.jit import compiled
from scicore.kernel.reassign_episode import episode
from scicore.kernel.strict import decode, lengths_ms
from scicore.model.cloud import VmType, parse_fleet
from scicore.model.problem import Problem
from scicore.planners import planner
from scicore.planners.base import validated
from scicore.planners.q_table import recalled
from scicore.planners.reassign import (
    PerCycle,
    ReassignParameters,
    learn,
    rules_of,
)
from scicore.spec.trace import load_trace

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = json.loads((ROOT / "bench/data/reassign_published.json").read_text(encoding="utf-8"))
GENERATOR = ROOT / "workflows/montage_trace/generate.py"
TRACE = "shared/data/dax/Montage_50.xml"
PROCESSORS = {  # as in the papers
    "t2.micro": VmType("t2.micro", 1, 0, 1.0, 0.0116),
    "t2.2xlarge": VmType("t2.2xlarge", 1, 0, 8.0, 0.3712),
}
SLOTS = {  # as in the cloud
    "t2.micro": VmType("t2.micro", 1, 0, 1.0, 0.0116),
    "t2.2xlarge": VmType("t2.2xlarge", 8, 0, 1.25, 0.3712),
}
RANDOM_EPISODES = 1000


@dataclass(frozen=True)
class Montage:
    source: str  # which one it is
    path: Path
    published: bool  # whether the papers' plans are for it


def montage(directory: Path) -> Montage:
    """The trace of the papers where it lies beside the project, else one of our own."""
    for parent in ROOT.parents:
        if (parent / TRACE).exists():
            return Montage("Montage_50.xml, the trace of the papers", parent / TRACE, True)
    path = directory / "montage_50.xml"
    words = [sys.executable, str(GENERATOR), "--activations", "50", "--format", "dax"]
    subprocess.run([*words, "-o", str(path)], check=True)
    return Montage("a generated Montage of 50 (the papers' trace is not here)", path, False)


def problem_of(path: Path, mix: dict[str, int], types: dict[str, VmType]) -> Problem:
    trace = load_trace(path)
    fleet = parse_fleet(",".join(f"{count}x{name}" for name, count in mix.items()), types)
    place = {task.id: number for number, task in enumerate(trace.tasks)}
    return Problem(
        activations=tuple(task.id for task in trace.tasks),
        activities=tuple(task.activity for task in trace.tasks),
        edges=tuple((place[each], place[task.id]) for task in trace.tasks for each in task.parents),
        fleet=fleet,
        runtime_s=np.array(
            [[task.runtime_s / vm.type.speed for vm in fleet.vms] for task in trace.tasks]
        ),
    )


# -- the 27 settings ------------------------------------------------------------------------------


def setting_again(problem: Problem, published: dict[str, Any], mix: str, seeds: int) -> Any:
    """Means over the seeds, and the time of one learning."""
    parameters = ReassignParameters(
        alpha=published["alpha"],
        gamma=published["gamma"],
        epsilon=published["epsilon"],
        episodes=PUBLISHED["episodes"],
        mu=PUBLISHED["mu"],
    )
    instance = validated(problem)
    ends: list[list[float]] = []
    learning_s: list[float] = []
    for seed in range(seeds):
        chance = np.random.default_rng(seed)
        memory = recalled(None, problem, chance)
        started = time.perf_counter()
        every = learn(instance, parameters, memory, chance)
        learning_s.append(time.perf_counter() - started)
        chance = np.random.default_rng(seed)
        memory = recalled(None, problem, chance)
        one = learn(instance, replace(parameters, per_cycle=PerCycle.ONE), memory, chance)
        runs = (one.last, every.last, every.greedy, every.best)
        ends.append([run.makespan_ms / 1000 for run in runs])
    one_last, last, greedy, best = np.mean(ends, axis=0).tolist()
    return {
        "alpha": parameters.alpha,
        "gamma": parameters.gamma,
        "epsilon": parameters.epsilon,
        "published_s": published["simulated_s"][mix],
        "one_per_cycle_last_s": one_last,
        "last_s": last,
        "greedy_s": greedy,
        "best_s": best,
        "published_learning_s": published["learning_s"][mix],
        "learning_ms": 1000 * float(np.median(learning_s)),
    }


# -- the published plans --------------------------------------------------------------------------


def replayed(source: Montage, mix: str) -> list[dict[str, Any]]:
    """Tables IV and V: the published plans under our strict rule. They name VMs but no order, so
    activations stand in that of the trace. Activation 0 of the tables is WorkflowSim's stage-in
    job (nine activations find the nine VMs only if it is); the last one is missing and stays where
    its parent is."""
    vms = PUBLISHED["vm_mixes"][mix]
    measured = {
        "baseline" if each["alpha"] is None else f"alpha={each['alpha']}": each["seconds"]
        for each in PUBLISHED["measured_on_aws"]
        if each["vcpus"] == int(mix)
    }
    found = []
    for name, plan in PUBLISHED["plans"][mix].items():
        vm_of = np.array([*plan[1:], plan[-1]], dtype=np.int64)
        count = len(vm_of)
        makespans_s = {}
        for view, types in (("replayed_s", PROCESSORS), ("replayed_with_slots_s", SLOTS)):
            instance = validated(problem_of(source.path, vms, types))
            length_ms = lengths_ms(instance, vm_of)
            times = [np.zeros(count, dtype=np.int64) for _ in range(2)]
            order = np.arange(count, dtype=np.int64)
            makespans_s[view] = decode(instance, order, vm_of, length_ms, *times) / 1000
        found.append({"plan": name, **makespans_s, "published_aws_s": measured[name]})
    return found


# -- what the reward knows ------------------------------------------------------------------------


def reward_of(problem: Problem, seeds: int) -> Any:
    """Random episodes: does a larger sum of rewards mean a smaller makespan? And what is gained
    by learning, with the default parameters?"""
    instance = validated(problem)
    rules = rules_of(ReassignParameters(alpha=0.0, epsilon=1.0))
    chance = np.random.default_rng(0)
    memory = recalled(None, problem, chance)
    count = len(problem.activations)
    order, vm_of = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    gained, makespans_s = np.empty(RANDOM_EPISODES), np.empty(RANDOM_EPISODES)
    simulate = compiled(episode)
    for number in range(RANDOM_EPISODES):
        numbers = chance.random((count, 2))
        makespan_ms = simulate(instance, rules, memory, numbers, order, vm_of)
        gained[number], makespans_s[number] = memory.gained[0], makespan_ms / 1000
    learned_s = [planner("reassign").plan(problem, seed).makespan_s for seed in range(seeds)]
    settled = slice(RANDOM_EPISODES // 10, None)  # by then the statistics hardly move
    return {
        "random_mean_s": float(makespans_s.mean()),
        "random_best_s": float(makespans_s.min()),
        "punished": float(((count - gained[settled]) / 2 / count).mean()),
        "learned_mean_s": float(np.mean(learned_s)),
        "heft_s": planner("heft").plan(problem, 0).makespan_s,
        "rank_correlation": rank_correlation(gained[settled], makespans_s[settled]),
    }


def rank_correlation(left: NDArray[np.float64], right: NDArray[np.float64]) -> float | None:
    """Spearman's; None when one of them never changes."""
    ranks = [np.unique(each, return_inverse=True)[1].astype(np.float64) for each in (left, right)]
    means = [_mean_ranks(each) for each in ranks]
    if any(each.std() == 0 for each in means):
        return None
    return float(np.corrcoef(means[0], means[1])[0, 1])


def _mean_ranks(groups: NDArray[np.float64]) -> NDArray[np.float64]:
    """Equal values share the mean of their places."""
    sizes = np.bincount(groups.astype(np.int64))
    means = np.cumsum(sizes) - (sizes + 1) / 2
    return means[groups.astype(np.int64)].astype(np.float64)


# -- the whole ------------------------------------------------------------------------------------


def measure(source: Montage, seeds: int) -> dict[str, Any]:
    mixes: dict[str, Any] = {}
    for mix, vms in PUBLISHED["vm_mixes"].items():
        problem = problem_of(source.path, vms, PROCESSORS)
        learn(  # compiles, so that no setting is charged for it
            validated(problem),
            ReassignParameters(),
            recalled(None, problem, np.random.default_rng(0)),
            np.random.default_rng(0),
        )
        settings = [setting_again(problem, each, mix, seeds) for each in PUBLISHED["settings"]]
        baselines = {name: planner(name).plan(problem, 0) for name in ("fcfs", "heft")}
        mixes[mix] = {
            "fleet": problem.fleet.text,
            "lower_bound_s": baselines["heft"].lower_bound_s,
            "fcfs_s": baselines["fcfs"].makespan_s,
            "heft_s": baselines["heft"].makespan_s,
            "one_after_the_other_s": float(problem.runtime_s[:, 0].sum()),
            "settings": settings,
            "by_epsilon": {
                f"{epsilon}": {
                    key: float(np.mean([e[key] for e in settings if e["epsilon"] == epsilon]))
                    for key in ("published_s", "one_per_cycle_last_s", "last_s", "greedy_s")
                }
                for epsilon in (0.1, 0.5, 1.0)
            },
            "published_plans": replayed(source, mix) if source.published else [],
            "reward": reward_of(problem, seeds),
            "reward_with_slots": reward_of(problem_of(source.path, vms, SLOTS), seeds),
        }
    return {"workflow": source.source, "seeds": seeds, "mixes": mixes}


def show(document: dict[str, Any]) -> None:
    print(f"{document['workflow']}; means over {document['seeds']} seeds; makespans in seconds")
    for mix, found in document["mixes"].items():
        print(f"\n{mix} vCPUs ({found['fleet']}, a VM is one processor)")
        print("                     published   ours, one    ours    ours    ours   learning")
        print(
            "alpha gamma epsilon       last   per cycle    last  greedy    best   published / ours"
        )
        for each in found["settings"]:
            print(
                f"{each['alpha']:5} {each['gamma']:5} {each['epsilon']:7}"
                f" {each['published_s']:10.2f} {each['one_per_cycle_last_s']:11.2f}"
                f" {each['last_s']:7.2f} {each['greedy_s']:7.2f} {each['best_s']:7.2f}"
                f"   {each['published_learning_s']:6.0f} s / {each['learning_ms']:.1f} ms"
            )
        print(
            f"FCFS {found['fcfs_s']:.2f}, HEFT {found['heft_s']:.2f}, bound"
            f" {found['lower_bound_s']:.2f}; all activations one after the other on a t2.micro"
            f" {found['one_after_the_other_s']:.2f}"
        )
        for epsilon, means in found["by_epsilon"].items():
            print(
                f"epsilon {epsilon}: published {means['published_s']:.1f}, ours one per cycle"
                f" {means['one_per_cycle_last_s']:.1f}, last {means['last_s']:.1f},"
                f" greedy {means['greedy_s']:.1f} (means over alpha and gamma)"
            )
        for each in found["published_plans"]:
            print(
                f"published plan, {each['plan']}: replayed {each['replayed_s']:.2f}, with slots"
                f" {each['replayed_with_slots_s']:.2f}; measured on AWS"
                f" {each['published_aws_s']:.2f}"
            )
        tell_reward("a VM is one processor", found["reward"])
        tell_reward("a VM has slots", found["reward_with_slots"])


def tell_reward(view: str, reward: dict[str, Any]) -> None:
    related = reward["rank_correlation"]
    print(
        f"{view}: {100 * reward['punished']:.1f}% of random decisions are punished; rank"
        " correlation of reward and makespan"
        f" {'undefined, the reward never changes' if related is None else f'{related:+.2f}'};"
        f" random {reward['random_mean_s']:.2f}, learned {reward['learned_mean_s']:.2f},"
        f" best of {RANDOM_EPISODES} random {reward['random_best_s']:.2f},"
        f" HEFT {reward['heft_s']:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scicumulus-bench-") as directory:
        document = measure(montage(Path(directory)), arguments.seeds)
    if arguments.json:
        print(json.dumps(document))
    else:
        show(document)


if __name__ == "__main__":
    main()
