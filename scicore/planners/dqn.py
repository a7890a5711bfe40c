"""DQN agents in a Markov game: one for time, one for money, and a VM that both can agree on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scicore.kernel.instance import Floats, Ints
from scicore.model.front import Front
from scicore.model.parameters import Parameters, setting
from scicore.model.plan import Plan, Policy
from scicore.model.problem import Problem
from scicore.planners.base import Budget, Planner, Report, order_by_start, to_plan, validated
from scicore.planners.markov_game import AGENTS, FEATURES, Game, GrowthIn
from scicore.planners.q_network import Networks, from_data, new_networks, to_data
from scicore.planners.replay import Replay, Sample
from scicore.planners.trade_off import Appraiser

KIND = "deep-q-networks"
FEW = 12  # activations for which nothing need be compiled
UTILITARIAN = 0.5  # both agents' values count the same
WEIGHTS = (UTILITARIAN, *(number / 20 for number in range(21) if number != 10))  # of the cost agent
CAPACITY = 5_000  # experiences
ROOM = 500_000  # experiences × VMs
STEPS = 6_000  # decisions of a default learning
LEAST_EPISODES = 10
EXPLORING = 0.6  # part of the learning in which exploring falls to its end
LEARNING = 0.85  # part of a budget; the rest is for the schedules that come of it


@dataclass(frozen=True, slots=True)
class DqnParameters(Parameters):
    episodes: int = setting(0, "simulated schedules without a budget; 0 = by the size", 0, 1e6)
    delta: float = setting(0.5, "discount of the next state's value", 0, 1)
    epsilon: float = setting(0.05, "probability of a random VM at the end; at first it is 1", 0, 1)
    rate: float = setting(0.001, "learning rate of the networks", 0, 1)
    batch: int = setting(32, "experiences per step of learning", 1, 10_000)
    every: int = setting(4, "decisions between two steps of learning", 1, 1e6)
    growth_in: GrowthIn = setting(GrowthIn.CHOSEN, "ET of eq. 8: on the chosen VM, or the mean")
    renew: int = setting(50, "steps of learning until the target network is renewed", 1, 1e6)


class Dqn(Planner[DqnParameters]):
    """Deep Q-networks of several agents that play a Markov game.

    Paper
        Y. Wang, H. Liu, W. Zheng, Y. Xia, Y. Li, P. Chen, K. Guo, H. Xie: Multi-Objective Workflow
        Scheduling With Deep-Q-Network-Based Multi-Agent Reinforcement Learning. IEEE Access 7,
        2019, sections III and IV, algorithm 1.

    Idea
        Makespan and cost are two agents. Whenever an activation is ready, both value every VM for
        it by their networks; it goes to the VM with the largest sum (the utilitarian choice among
        the correlated equilibria), or now and then to a random one. Each agent has its own
        reward. Both learn from a replay memory, towards targets of networks that are renewed only
        now and then.

    Symbols
        s, a, r     state: the VMs as they are and the activation that is next; action: its VM;
                    rewards: R1 of the makespan agent, eq. 8, R2 of the cost agent, eq. 9
        Q_i(s, a)   value of the action for agent i, by a network with weights θ
        y           target r + δ max Q(s', a'), eq. 7
        f           the selection: the largest sum of all Q_j(s, a)
        ET, p       runtime of the activation on the VM, price of the VM
        δ, ε        discount; probability of a random action

    Differences
        - Which activation is next is not said: the one that has been ready longest.
        - A network values one VM at a time from ten relative features, instead of all VMs at once:
          what was learned holds for another fleet and another workflow, and is kept with the plan.
        - Agents that name different VMs schedule nothing, which is worth no more to either than
          the worst VM. So every agreement is an equilibrium, and f takes the best one.
        - R1 is cut off at -1. Eq. 9's best and worst are those of the activation over all VMs.
        - The front has the greedy schedules with other weights than one half, and all episodes.
          `plan` is the utilitarian one.
    """

    name = "dqn"
    settable = DqnParameters

    def plan(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Plan:
        learner = Learner(problem, self.parameters, seed, budget, progress, policy)
        order, vm_of = learner.follow(UTILITARIAN)
        return to_plan(self, seed, problem, learner.instance, order, vm_of, learner.policy())

    def front(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Front:
        learner = Learner(problem, self.parameters, seed, budget, progress, policy)
        for weight in WEIGHTS:
            learner.follow(weight)
            if learner.appraise.out_of_time:
                break
        archive = learner.appraise.archive
        return archive.front(self, seed, problem, learner.instance, learner.policy())


def agreed(values: Floats, fits: NDArray[np.bool_], weight: float = UTILITARIAN) -> int:
    """f: the VM with the largest sum of the agents' values, [agent, VM]. With another weight of
    the cost agent than one half, the sum is no longer the paper's."""
    total = np.where(fits, (1 - weight) * values[0] + weight * values[1], -np.inf)
    return int(np.argmax(total))


def targets(sample: Sample, target: Networks, delta: float) -> Floats:
    """y of each agent and experience, eq. 7; the reward alone after the last step."""
    rows, actions, features = sample.following.shape
    values = target.values(sample.following.reshape(rows * actions, features))
    values = np.where(sample.possible, values.reshape(-1, rows, actions), -np.inf).max(axis=2)
    y: Floats = sample.rewards + delta * np.where(sample.possible.any(axis=1), values, 0.0)
    return y


class Learner:
    """Learns as soon as it is made; the memory and the networks are of both agents."""

    def __init__(
        self,
        problem: Problem,
        parameters: DqnParameters,
        seed: int,
        budget: Budget | None,
        progress: Report | None,
        policy: Policy | None,
    ) -> None:
        self.instance = validated(problem)
        count, vms = self.instance.runtime_ms.shape
        episodes = parameters.episodes or default_episodes(count)
        self.appraise = Appraiser(problem, self.instance, episodes, budget, progress)
        self._game = Game(problem, self.instance, episodes, parameters.growth_in)
        self._parameters = parameters
        self._chance = np.random.default_rng(seed)
        known = from_data((policy or {}).get("networks"), AGENTS, FEATURES)
        self._networks = known or new_networks(AGENTS, FEATURES, self._chance)
        self._target = self._networks.copy()
        self._replay = Replay(min(CAPACITY, ROOM // vms + 1), AGENTS, vms, FEATURES)
        self._decided = self._learned = 0
        done = 0.0
        while done < 1 and count:
            explore = parameters.epsilon
            if known is None:  # what is known already need not be explored again
                explore = max(explore, 1 - done / EXPLORING)
            self._episode(UTILITARIAN, explore, learn=True)
            self._appraised()
            done = self.appraise.done() / (1.0 if budget is None else LEARNING)
        self._networks = self._networks.rounded()

    def follow(self, weight: float) -> tuple[Ints, Ints]:
        """The schedule without exploring and learning."""
        self._episode(weight, explore=0.0, learn=False)
        return self._appraised()

    def policy(self) -> Policy:
        return {"kind": KIND, "networks": to_data(self._networks)}

    def _episode(self, weight: float, explore: float, learn: bool) -> None:
        game = self._game
        game.begin()
        seen = None if game.over else game.features()
        while seen is not None:
            fits = game.fits[game.activation]
            if explore and self._chance.random() < explore:
                vm = int(self._chance.choice(np.flatnonzero(fits)))
            else:
                vm = agreed(self._networks.values(seen), fits, weight)
            rewards = game.step(vm)
            following = None if game.over else game.features()
            if learn:
                possible = None if game.over else game.fits[game.activation]
                self._replay.store(seen[vm], rewards, following, possible)
                self._decided += 1
                if self._decided % self._parameters.every == 0:
                    self._learn()
            seen = following

    def _learn(self) -> None:
        parameters = self._parameters
        sample = self._replay.sample(parameters.batch, self._chance)
        y = targets(sample, self._target, parameters.delta)
        self._networks.fit(sample.taken, y, parameters.rate)
        self._learned += 1
        if self._learned % parameters.renew == 0:
            self._target = self._networks.copy()

    def _appraised(self) -> tuple[Ints, Ints]:
        game = self._game
        lengths = self.instance.runtime_ms[np.arange(len(game.vm_of)), game.vm_of]
        order = order_by_start(self.instance, game.finish_ms - lengths, game.finish_ms)
        self.appraise(order[None, :], game.vm_of[None, :])
        return order, game.vm_of


def default_episodes(count: int) -> int:
    """A few seconds, whatever the size."""
    return max(STEPS // max(count, 1), LEAST_EPISODES) if count > FEW else 20
