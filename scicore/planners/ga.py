"""GA: schedules evolve towards little cost and a short makespan."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from scicore.kernel.billing import Prices, prices_of
from scicore.kernel.evolution import PAIRING, Population, Rules, new_population, next_generation
from scicore.kernel.instance import NEVER, Instance, Ints
from scicore.kernel.jit import suited
from scicore.model.front import Front, front_of, non_dominated
from scicore.model.parameters import Parameters, setting
from scicore.model.plan import Plan, Policy
from scicore.model.problem import Problem
from scicore.planners.base import (
    Budget,
    Planner,
    Progress,
    Report,
    makespan_of,
    to_plan,
    validated,
)
from scicore.planners.bounds import bounds_of
from scicore.planners.heft import schedule

PRICES_OF_TIME = (1.0, 0.01, 0.1, 10.0, 100.0)  # of a front, times `hour_usd`


class ConfidenceMeans(StrEnum):
    SHRUNK = "shrunk"  # between the estimate and the mean of all: confidence 0 knows no differences
    SCALED = "scaled"  # estimate × confidence: a "weighting" to the letter; only data weigh more


class Processing(StrEnum):
    RENTED = "rented"  # as plans are priced: every VM from its launch to its last activation
    WORK = "work"  # an activation's own time × the price of the slots that it holds


class Rates(StrEnum):
    PROBABILITY = "probability"  # of crossing and mutating: the text of the experiments
    ALGORITHM = "algorithm"  # algorithm 1 to the letter: it happens if random > rate


class Mutates(StrEnum):
    OFFSPRING = "offspring"  # one gene of it, algorithm 1
    GENE = "gene"  # each gene by itself


class Replacement(StrEnum):
    GENERATION = "generation"  # the offspring are the next generation, beside the elite
    WEAKEST = "weakest"  # offspring replace only those that are weaker than themselves


class Start(StrEnum):
    RANDOM = "random"  # all of the first population
    HEFT = "heft"  # but one, which is HEFT's schedule: nothing worse can come out


@dataclass(frozen=True, slots=True)
class GaParameters(Parameters):
    population: int = setting(50, "schedules in a generation", 2, 1e5)
    generations: int = setting(1000, "after which evolution ends", 0, 1e6)
    elitism: float = setting(0.05, "share of the fittest that goes straight on", 0, 1)
    crossover: float = setting(0.85, "rate of crossover, see rates", 0, 1)
    mutation: float = setting(0.03, "rate of mutation, see rates and mutates", 0, 1)
    mu: float = setting(0.3, "fitness of the weakest, eq. 6", 0, 100)
    hour_usd: float = setting(
        0.0, "what an hour of makespan counts in eq. 5; 0: as an hour of the whole fleet", 0, 1e9
    )
    confidence: float = setting(1.0, "in the runtime estimates", 0, 1)
    confidence_means: ConfidenceMeans = setting(
        ConfidenceMeans.SHRUNK, "estimates are shrunk to their mean, or scaled"
    )
    processing: Processing = setting(Processing.RENTED, "costs: of rented VMs, or of work done")
    rates: Rates = setting(Rates.PROBABILITY, "are probabilities, or read as algorithm 1 does")
    mutates: Mutates = setting(Mutates.OFFSPRING, "one gene of an offspring, or each gene")
    replacement: Replacement = setting(Replacement.GENERATION, "who makes room for offspring")
    start: Start = setting(Start.RANDOM, "the first population: random, or with HEFT's schedule")


class Ga(Planner[GaParameters]):
    """Genetic algorithm, one of the solvers between which `mdp` chooses.

    Paper
        E. Barrett, E. Howley, J. Duggan: A Learning Architecture for Scheduling Workflow
        Applications in the Cloud, 2011, sections II.B, IV.A and IV.B, algorithm 1.

    Idea
        A population of schedules. The fitter a schedule, the likelier it is a parent; offspring
        take the beginning of one parent and the rest of the other, and now and then an
        activation changes its VM. What is small is cost plus makespan.

    Symbols
        {T_i, C_j}    a gene: activation i on VM j; a chromosome has one per activation, in the
                      order of execution
        M_total       makespan, eq. 3
        D_total       cost of data that move between VMs: bytes × the tariff of their regions
        P_total       cost of processing
        Ex_total      D_total + P_total, eq. 4
        f_i           Ex_total + M_total, eq. 5: money and time are made one by `hour_usd`
        F(i)          (f_max - f_i) / (f_max - f_min) + mu, eq. 6: the slices of the roulette wheel

    Differences
        - Where the text leaves something open there is a parameter (docs/planners/ga.md).
        - Repair after crossover, which the paper leaves to another one: the missing genes are
          taken from the second parent in its order. That is always feasible.
        - Mutation gives the activation another VM that it fits, never the same.
        - Elitism of 5% of 50 is 2.5: 3 here. The stopping condition is not given: generations.
        - A VM has slots, a boot and a bandwidth; times and costs are those of the strict rule and
          of billing, as for every plan. With `confidence` below 1 the population lives in a world
          of other runtimes; the plan's own times are those of the estimates.
    """

    name = "ga"
    settable = GaParameters

    def plan(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Plan:
        instance = validated(problem)
        population = evolve(problem, instance, self.parameters, seed, budget, progress)
        return to_plan(self, seed, problem, instance, population.order[0], population.vm_of[0])

    def front(
        self,
        problem: Problem,
        seed: int,
        budget: Budget | None = None,
        progress: Report | None = None,
        policy: Policy | None = None,
    ) -> Front:
        """One evolution for each of several prices of time; of all their last generations, what
        nobody else beats in both."""
        instance = validated(problem)
        hour_usd = rules_of(self.parameters, prices_of(problem)).hour_usd
        plans: list[Plan] = []
        for number, times in enumerate(PRICES_OF_TIME):
            share = budget and Budget(
                max(0.0, budget.left_s) / (len(PRICES_OF_TIME) - number), budget.clock
            )
            aimed = replace(self.parameters, hour_usd=times * hour_usd)
            population = evolve(problem, instance, aimed, seed, share, progress)
            points = zip(population.makespan_ms.tolist(), population.cost_usd.tolist(), strict=True)
            plans += (
                to_plan(self, seed, problem, instance, population.order[one], population.vm_of[one])
                for one in non_dominated([(float(ms), usd) for ms, usd in points])
            )
        return front_of(plans)


def evolve(
    problem: Problem,
    instance: Instance,
    parameters: GaParameters,
    seed: int,
    budget: Budget | None = None,
    progress: Report | None = None,
) -> Population:
    """The last generation, the fittest first; a budget may make it come sooner."""
    chance = np.random.default_rng(seed)
    count, size = len(problem.activations), parameters.population
    believed, prices = weighted(instance, parameters), prices_of(problem)
    rules = rules_of(parameters, prices)
    steps = count * size * (parameters.generations + 1)
    begin, breed = suited(new_population, steps), suited(next_generation, steps)
    numbers = chance.random((size, count, 2))
    population = begin(believed, prices, rules, numbers, *_known(believed, parameters))
    offspring = size - rules.elite
    genes = 2 * count if rules.by_gene else 3
    bound_s = bounds_of(instance).makespan_ms / 1000 if progress else 0.0
    least, makespan_s = math.inf, 0.0
    for generation in range(1, parameters.generations + 1 if count else 1):
        pairing = chance.random(((offspring + 1) // 2, PAIRING))
        mutating = chance.random((offspring, genes))
        population = breed(believed, prices, rules, population, pairing, mutating)
        if progress:
            if population.value[0] < least:
                least = float(population.value[0])
                best = population.order[0], population.vm_of[0]
                makespan_s = makespan_of(instance, *best) / 1000
            progress(Progress(generation, makespan_s, bound_s))
        if budget and budget.spent:
            break
    return population


def _known(believed: Instance, parameters: GaParameters) -> tuple[Ints, Ints]:
    """HEFT's order and VMs, or none."""
    if parameters.start is Start.RANDOM:
        nothing = np.empty((0, len(believed.cpus)), dtype=np.int64)
        return nothing, nothing
    order, vm_of = schedule(believed)
    return order[None, :], vm_of[None, :]


def weighted(instance: Instance, parameters: GaParameters) -> Instance:
    """The world as this solver sees it."""
    runtime_ms = instance.runtime_ms
    fits = runtime_ms != NEVER
    if parameters.confidence == 1 or not fits.any():
        return instance
    anchor_ms = 0.0
    if parameters.confidence_means is ConfidenceMeans.SHRUNK:
        anchor_ms = float(runtime_ms[fits].mean())
    seen_ms = parameters.confidence * runtime_ms + (1 - parameters.confidence) * anchor_ms
    return instance._replace(
        runtime_ms=np.where(fits, np.rint(seen_ms).astype(np.int64), runtime_ms)
    )


def rules_of(parameters: GaParameters, prices: Prices) -> Rules:
    literal = parameters.rates is Rates.ALGORITHM
    # Where nothing costs anything, any price of time is the same.
    hour_usd = parameters.hour_usd or float(prices.usd_per_h.sum()) or 1.0
    return Rules(
        hour_usd=hour_usd,
        by_work=int(parameters.processing is Processing.WORK),
        mu=parameters.mu,
        elite=math.ceil(parameters.elitism * parameters.population),
        crossover=1 - parameters.crossover if literal else parameters.crossover,
        mutation=1 - parameters.mutation if literal else parameters.mutation,
        by_gene=int(parameters.mutates is Mutates.GENE),
        survival=int(parameters.replacement is Replacement.WEAKEST),
    )
