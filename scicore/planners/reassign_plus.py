"""ReASSIGN+: learns from simulated episodes what earliest finish time should be biased by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scicore.kernel.arena import Arena, arena_of, spread, vms_of_lanes
from scicore.kernel.instance import Instance, Ints
from scicore.kernel.jit import load, suited
from scicore.kernel.search import FINISH, LANE, START
from scicore.model.parameters import Parameters, setting
from scicore.model.plan import Plan, Policy
from scicore.model.problem import Problem
from scicore.planners.base import (
    Budget,
    Planner,
    Progress,
    Report,
    makespan_of,
    order_by_start,
    to_plan,
    validated,
)
from scicore.planners.bounds import bounds_below, path_bound_ms
from scicore.planners.heft import ranks_ms, schedule
from scicore.planners.policy import Episode, Mind, World, neutral, remembered, to_data, varied
from scicore.planners.refinement import Best, Meter, Phase, anneal, replayed

FEW = 12  # activations for which nothing need be compiled
LARGE = 400  # activations from which on one long search is better than several short ones
RESTARTING = (
    Phase(0.4, 0.1, 0.002, fresh=True),
    Phase(0.7, 0.1, 0.002, fresh=True),
    Phase(1.0, 0.03, 0.0005, fresh=False),
)
ROLL_OUT_COUNTS = 40  # a full episode takes as long as so many that end early
AT_A_STRETCH = (Phase(1.0, 0.03, 0.0005, fresh=False),)


@dataclass(frozen=True, slots=True)
class ReassignPlusParameters(Parameters):
    episodes: int = setting(0, "simulated episodes without a budget; 0 = by the size", least=0)
    policy_part: float = setting(
        0.1, "part of the learning in which the policy itself is varied", least=0, most=1
    )
    heat: float = setting(1.0, "factor of all temperatures of the refinement", least=0.001)


class ReassignPlus(Planner[ReassignPlusParameters]):
    """Reinforcement learning of schedules, in two layers.

    Paper
        Ours. It keeps the idea of ReASSIGN (A. Nascimento, V. Olimpio, V. Silva, A. Paes, D. de
        Oliveira: A Reinforcement Learning Scheduling Strategy for Parallel Cloud-based Workflows):
        learn the schedule from simulated episodes, without a cost model. Its reward, which says
        little about the makespan, is replaced by the makespan. The layers are an evolution
        strategy and simulated annealing (S. Kirkpatrick, C. Gelatt, M. Vecchi, Science 220, 1983).

    Idea
        An episode is one simulated run of the workflow. State: what has been placed and when every
        slot is free. Action: the next activation and the class of VMs for it. Reward: the
        makespan at the end, smaller is better; an episode that cannot be accepted any more ends
        early.
        1. The policy acts: activations by priority, each in the class where its finish time plus a
           bias of its activity for that class is smallest. It starts from HEFT's ranks without
           bias, or from what was learned before. Variations of it that do no worse replace it.
        2. The best episodes are refined action by action: another class, another turn, mostly
           for activations on the chain that the makespan hangs on; annealing decides.
        3. What the best episode did becomes the policy's priorities. Stored with the plan, the
           policy warm-starts the next learning for this workflow.
        The plan is the best one found, and never worse than HEFT's. Learning ends when the proven
        bound is reached.

    Symbols
        priority  of each activation: higher goes first
        bias      of each activity and class of VMs: milliseconds added to the finish time
        heat      temperature: an episode longer by x is kept with probability exp(-x / heat)

    Differences
        From ReASSIGN: no table of activations × VMs (it knows nothing about another fleet or
        input), the reward is the makespan itself, and the result is the best episode.
        VMs of one type with the same runtimes are one class; which of them, the first free decides.
    """

    name = "reassign-plus"
    settable = ReassignPlusParameters

    def plan(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Plan:
        instance = validated(problem)
        order, vm_of = schedule(instance)
        makespan_ms = makespan_of(instance, order, vm_of)
        learned: Policy | None = policy
        bound_ms = path_bound_ms(instance)
        if makespan_ms == bound_ms:
            return to_plan(self, seed, problem, instance, order, vm_of, learned, bound_ms)
        if len(order) > FEW:
            load()
        bounds = bounds_below(instance, makespan_ms)
        if makespan_ms > bounds.makespan_ms:
            learner = _Learner(problem, instance, bounds.tail_ms, bounds.makespan_ms, progress)
            floor = Best(order, instance.vm_type[vm_of], makespan_ms)
            random = np.random.default_rng(seed)
            best, mind = learner.learn(floor, self.parameters, random, budget, policy)
            found = _placed(instance, learner.arena, best)
            if makespan_of(instance, *found) < makespan_ms:
                order, vm_of = found
            learned = learner.policy_of(best, mind)
        return to_plan(self, seed, problem, instance, order, vm_of, learned, bounds.makespan_ms)


def default_episodes(count: int) -> int:
    """A second or two for a hundred activations, some seconds for thousands."""
    if count <= FEW:
        return 300
    return min(400_000, 60_000_000 // count)


class _Learner:
    def __init__(
        self,
        problem: Problem,
        instance: Instance,
        tail_ms: Ints,
        target_ms: int,
        progress: Report | None,
    ) -> None:
        self.arena = arena_of(instance, tail_ms)
        self._world = World(problem, instance, self.arena)
        self._instance = instance
        self._target_ms = target_ms
        self._progress = progress

    def learn(
        self,
        floor: Best,
        parameters: ReassignPlusParameters,
        random: np.random.Generator,
        budget: Budget | None,
        policy: Policy | None,
    ) -> tuple[Best, Mind]:
        """The best decisions found, and the policy; `floor` is HEFT's plan."""
        count = len(floor.order)
        meter = Meter(parameters.episodes or default_episodes(count), budget)

        def tell(makespan_ms: int) -> None:
            if self._progress:
                bound_s = self._target_ms / 1000
                self._progress(Progress(meter.played, makespan_ms / 1000, bound_s))

        tell(floor.makespan_ms)
        mind, followed = self._act(floor, parameters, random, meter, policy)
        best = min(floor, followed, key=lambda each: each.makespan_ms)
        lengths = self.arena.runtime_ms[np.arange(count), best.class_of].astype(np.float64)
        usual_ms = float((lengths**2).sum() / lengths.sum())  # of the work, rather than the count
        starts = [floor, followed] if floor is best else [followed, floor]
        for number, phase in enumerate(RESTARTING if count < LARGE else AT_A_STRETCH):
            start = starts[number % 2] if phase.fresh else best
            heat = parameters.heat * usual_ms
            phase = phase._replace(hot=phase.hot * heat, cold=phase.cold * heat)
            best = anneal(self.arena, start, best, phase, self._target_ms, meter, random, tell)
        tell(best.makespan_ms)
        return best, mind

    def _act(
        self,
        floor: Best,
        parameters: ReassignPlusParameters,
        random: np.random.Generator,
        meter: Meter,
        policy: Policy | None,
    ) -> tuple[Mind, Best]:
        """Layer 1: vary the policy, keep what does no worse."""
        rank_u = ranks_ms(self._instance)
        minds = [neutral(self._world, rank_u)]
        if policy is not None:
            minds += remembered(self._world, rank_u, floor.makespan_ms, policy)
        episodes = [self._world.play(mind) for mind in minds]
        chosen = min(range(len(minds)), key=lambda index: episodes[index].makespan_ms)
        mind, episode = minds[chosen], episodes[chosen]
        runtimes = self.arena.runtime_ms
        scale_ms = 0.1 * float(runtimes[runtimes >= 0].mean())
        done = meter.done
        while done < parameters.policy_part and episode.makespan_ms > self._target_ms:
            other = varied(self._world, mind, scale_ms, random)
            outcome = self._world.play(other)
            if outcome.makespan_ms <= episode.makespan_ms:
                mind, episode = other, outcome
            meter.played += ROLL_OUT_COUNTS
            done = meter.done
        return mind, self._best_of(episode)

    def _best_of(self, episode: Episode) -> Best:
        lengths = np.take_along_axis(self.arena.runtime_ms, episode.class_of[:, None], axis=1)
        order = order_by_start(self._instance, episode.start_ms, episode.start_ms + lengths[:, 0])
        return Best(order, episode.class_of, episode.makespan_ms)

    def policy_of(self, best: Best, mind: Mind) -> Policy:
        starts = replayed(self.arena, best)[:, START]
        return to_data(self._world, mind, starts, best.makespan_ms)


def _placed(instance: Instance, arena: Arena, best: Best) -> tuple[Ints, Ints]:
    """Plan order and VMs of the best decisions."""
    schedule = replayed(arena, best)
    starts = np.ascontiguousarray(schedule[:, START])
    order = order_by_start(instance, starts, schedule[:, FINISH])
    vm_of = vms_of_lanes(instance, arena, schedule[:, LANE])
    if vm_of is None:
        place = suited(spread, len(order) * len(instance.vm_type))
        vm_of = place(instance, order, best.class_of, starts)
    return order, vm_of
