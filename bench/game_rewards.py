"""What the rewards of the Markov game know about time and money: rank correlations.

    python bench/game_rewards.py [--size 138] [--episodes 300] [--json]

VMs are named at random. An episode's sum of rewards should fall as its makespan, or its cost,
rises: -1 would be perfect, 0 is no knowledge at all.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scicore.kernel.billing import bill_usd, prices_of
from scicore.kernel.instance import Instance
from scicore.model.problem import Problem
from scicore.planners.base import validated
from scicore.planners.markov_game import Game, GrowthIn

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.mixes import SIZES, generated

Floats = NDArray[np.float64]


def rank_correlation(one: Floats, other: Floats) -> float:
    ranks = [np.argsort(np.argsort(values)).astype(np.float64) for values in (one, other)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def played(
    problem: Problem, instance: Instance, growth_in: GrowthIn, episodes: int, fair: bool
) -> Floats:
    """[episode, 5]: sums of both rewards, makespan, cost as billed, cost of the seconds of work.

    Not `fair`: each episode has VMs that it likes more than others, as a policy would.
    """
    chance = np.random.default_rng(0)
    game = Game(problem, instance, episodes, growth_in)
    prices = prices_of(problem)
    price = prices.usd_per_h
    found = []
    for _ in range(episodes):
        likes = np.ones(len(price)) if fair else chance.dirichlet(np.ones(len(price)))
        game.begin()
        rewards = np.zeros(2)
        while not game.over:
            rewards += game.step(int(chance.choice(len(price), p=likes / likes.sum())))
        lengths = instance.runtime_ms[np.arange(len(game.vm_of)), game.vm_of]
        billed = bill_usd(instance, prices, game.vm_of, game.finish_ms)
        used = float((lengths * price[game.vm_of]).sum()) / 3.6e6
        found.append([*rewards, game.makespan_ms, billed, used])
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--size", type=int, default=SIZES[0])
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    problem = generated(options.size).problem
    instance = validated(problem)
    rows = []
    for growth_in in GrowthIn:
        for fair in (True, False):
            seen = played(problem, instance, growth_in, options.episodes, fair)
            rows.append(
                {
                    "growth_in": growth_in.value,
                    "vms": "all alike" if fair else "some liked more",
                    "R1_and_makespan": rank_correlation(seen[:, 0], seen[:, 2]),
                    "R2_and_cost": rank_correlation(seen[:, 1], seen[:, 3]),
                    "R2_and_used": rank_correlation(seen[:, 1], seen[:, 4]),
                    "sum_and_makespan": rank_correlation(seen[:, :2].sum(axis=1), seen[:, 2]),
                }
            )
    if options.json:
        print(json.dumps({"size": options.size, "rows": rows}, indent=2))
        return
    for row in rows:
        print(
            "  ".join(
                f"{k} {v:+.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()
            )
        )


if __name__ == "__main__":
    main()
