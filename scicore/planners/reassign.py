"""ReASSIGN, faithful: Q-learning of assignments from simulated episodes, as published."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from scicore.kernel.instance import Floats, Instance, Ints
from scicore.kernel.jit import suited
from scicore.kernel.reassign_episode import Memory, Rules, episode
from scicore.model.parameters import Parameters, setting
from scicore.model.plan import Plan, Policy
from scicore.model.problem import Problem
from scicore.planners.base import Budget, Planner, Progress, Report, to_plan, validated
from scicore.planners.bounds import bounds_of
from scicore.planners.q_table import kept, recalled


class EpsilonMeans(StrEnum):
    EXPLORING = "exploring"  # the probability of a random action: prose and results
    BEST = "best"  # the probability of the best action: algorithms 1 and 2


class Reward(StrEnum):
    PAPER = "paper"  # eq. 6: -1 above mean + deviation, else +1
    DISSERTATION = "dissertation"  # eq. IV: -1 above, +1 below mean - deviation, 0 between


class Index(StrEnum):
    EXECUTION = "execution"  # te × mu + (1 - mu) × tf: dissertation, and eqs. 4 and 5 of the paper
    TOTAL = "total"  # (te + tf) × mu + (1 - mu) × tf: the paper's text


class Deviation(StrEnum):
    VMS = "vms"  # of the mean indices of the VMs
    ACTIVATIONS = "activations"  # of the indices of all activations


class Discount(StrEnum):
    POWER = "power"  # gamma to the power of t, the step within the episode
    CONSTANT = "constant"  # gamma


class Update(StrEnum):
    TEMPORAL_DIFFERENCE = "temporal-difference"  # algorithm 2
    RUNNING_MEAN = "running-mean"  # of the reward: dissertation eq. VI


class PerCycle(StrEnum):
    ALL = "all"  # everything ready, while VMs are idle
    ONE = "one"  # one activation whenever one has finished, as the published tables suggest


class Action(StrEnum):
    VM = "vm"  # the next ready activation is given; the action is its VM: the texts' prose
    PAIR = "pair"  # the action is which ready activation and which idle VM: algorithm 2


class PlanFrom(StrEnum):
    GREEDY = "greedy"  # the policy after learning, without exploring
    BEST = "best"  # the episode with the smallest makespan
    LAST = "last"  # the last episode, exploring and all


@dataclass(frozen=True, slots=True)
class ReassignParameters(Parameters):
    alpha: float = setting(0.5, "learning rate", 0, 1)
    gamma: float = setting(1.0, "discount of the next state's value", 0, 1)
    epsilon: float = setting(0.1, "how much is explored, see epsilon_means", 0, 1)
    episodes: int = setting(100, "simulated runs of the workflow", 1, 1e6)
    mu: float = setting(0.5, "weight of execution time against queue time", 0, 1)
    rho: float = setting(0.5, "weight of the newest partial reward", 0, 1)
    epsilon_means: EpsilonMeans = setting(
        EpsilonMeans.EXPLORING, "epsilon is the probability of exploring, or of the best action"
    )
    reward: Reward = setting(Reward.PAPER, "partial reward: paper eq. 6 or dissertation eq. IV")
    index: Index = setting(Index.EXECUTION, "performance index: of execution or of total time")
    deviation: Deviation = setting(Deviation.VMS, "standard deviation in the reward: of what")
    discount: Discount = setting(Discount.POWER, "gamma to the power of the step, or gamma")
    update: Update = setting(Update.TEMPORAL_DIFFERENCE, "of Q: algorithm 2 or eq. VI")
    per_cycle: PerCycle = setting(PerCycle.ALL, "activations scheduled per scheduling cycle")
    action: Action = setting(Action.VM, "what is chosen: a VM, or a pair of activation and VM")
    plan_from: PlanFrom = setting(PlanFrom.GREEDY, "which episode becomes the plan")


class Reassign(Planner[ReassignParameters]):
    """ReASSIGN, Reinforcement-learning-based Activation Scheduling of Scientific workflows.

    Paper
        A. Nascimento, V. Olimpio, V. Silva, A. Paes, D. de Oliveira: A Reinforcement Learning
        Scheduling Strategy for Parallel Cloud-based Workflows, 2019 (sections III.A to III.C,
        algorithm 2); and the dissertation behind it: A. Nascimento, UFF 2018 (chapter 3,
        equations I to VI).

    Idea
        Learn from simulated runs, without a model of cost. An episode runs the workflow once.
        Whenever an activation is ready and a VM is idle, the agent gives the activation to the
        VM with the largest Q value, or now and then to a random one. It is rewarded when that VM
        has not been much slower than the fleet so far, in a mix of execution and queue time.

    Symbols
        S             states of the workflow: available (something ready, some VM idle),
                      unavailable, successfully finished, finished with failure
        A             sched(ac_i, vm_j), or do nothing when unavailable
        te_i, tf_i    execution and queue time of activation i, seconds
        Pi_j, Pw      performance index of VM j and of all VMs: mean te × mu + (1 - mu) × mean tf
        r_i, r^t      partial reward, eq. 6, and smoothed: r^t = r^(t-1) + rho × (r_i - r^(t-1))
        Q(s, a)       a matrix activation × VM; random in [0, 1) at first
        alpha, gamma, epsilon, mu, rho   as in `ReassignParameters`; t counts actions from 1

    Differences
        - The texts contradict each other; each contradiction is a parameter (docs/planners/
          reassign.md lists them with the texts). Eq. 3 also puts t on alpha, which algorithm 2
          does not; alpha is constant here.
        - max Q(s', a') is over what is ready and idle after the action; do nothing is worth 0.
        - A VM with several slots is idle while it has room for the activation. The queue time
          includes boot and data on its way. To treat a VM as one processor, as the papers do, use
          a fleet of VM types with one slot and the speed of all their vCPUs.
        - Simulated activations do not fail, so there is no finish with failure.
        - The plan is the greedy policy after learning, not the last exploring episode; its times
          are those of the strict rule, as of every plan.
    """

    name = "reassign"
    settable = ReassignParameters

    def plan(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Plan:
        instance = validated(problem)
        chance = np.random.default_rng(seed)
        memory = recalled(policy, problem, chance)
        learning = learn(instance, self.parameters, memory, chance, budget, progress)
        chosen = {
            PlanFrom.GREEDY: learning.greedy,
            PlanFrom.BEST: learning.best,
            PlanFrom.LAST: learning.last,
        }[self.parameters.plan_from]
        best = learning.best
        knowledge = kept(memory, problem, best.order, best.vm_of, best.makespan_ms / 1000)
        return to_plan(self, seed, problem, instance, chosen.order, chosen.vm_of, knowledge)


@dataclass(frozen=True, slots=True)
class Run:
    """One episode: the decisions in their order, and how long the workflow took in it."""

    order: Ints
    vm_of: Ints
    makespan_ms: int


@dataclass(frozen=True, slots=True)
class Learning:
    makespans_ms: tuple[int, ...]  # of the episodes
    last: Run
    best: Run  # of the episodes
    greedy: Run  # after them


def learn(
    instance: Instance,
    parameters: ReassignParameters,
    memory: Memory,
    chance: np.random.Generator,
    budget: Budget | None = None,
    progress: Report | None = None,
) -> Learning:
    """Run the episodes; the memory grows. A budget ends them early, but never before the first."""
    count, vms = instance.runtime_ms.shape
    rules = rules_of(parameters)
    simulate = suited(episode, count * vms * parameters.episodes)
    bound_s = bounds_of(instance).makespan_ms / 1000

    def run(rules: Rules, numbers: Floats) -> Run:
        order, vm_of = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        return Run(order, vm_of, int(simulate(instance, rules, memory, numbers, order, vm_of)))

    makespans_ms: list[int] = []
    best: Run | None = None
    while best is None or not (
        len(makespans_ms) == parameters.episodes or (budget and budget.spent)
    ):
        last = run(rules, chance.random((count, 2)))
        if best is None or last.makespan_ms < best.makespan_ms:
            best = last
        makespans_ms.append(last.makespan_ms)
        if progress:
            progress(Progress(len(makespans_ms), best.makespan_ms / 1000, bound_s))
    greedy = run(rules._replace(learn=0, explore=0.0), np.zeros((count, 2)))
    return Learning(tuple(makespans_ms), last, best, greedy)


def rules_of(parameters: ReassignParameters) -> Rules:
    exploring = parameters.epsilon_means is EpsilonMeans.EXPLORING
    return Rules(
        learn=1,
        alpha=parameters.alpha,
        gamma=parameters.gamma,
        mu=parameters.mu,
        rho=parameters.rho,
        explore=parameters.epsilon if exploring else 1 - parameters.epsilon,
        three_valued=int(parameters.reward is Reward.DISSERTATION),
        total_time=int(parameters.index is Index.TOTAL),
        single_indices=int(parameters.deviation is Deviation.ACTIVATIONS),
        growing_discount=int(parameters.discount is Discount.POWER),
        running_mean=int(parameters.update is Update.RUNNING_MEAN),
        one_per_cycle=int(parameters.per_cycle is PerCycle.ONE),
        pairs=int(parameters.action is Action.PAIR),
    )
