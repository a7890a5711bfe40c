"""The feedback loop: look at what is used when there is plenty, then give what was used.

Paper: section 5.1 of the thesis on sizing tasks by reinforcement learning, after Witt et al.
    (percentile and LR mean predictors) and Tovar et al. (train with the maximum).
Idea: while it trains, an activity gets all there is. Afterwards it gets the mean of the CPUs that
    it used, and the mean of its peak memory plus one standard deviation.
Symbols: `training_runs` = 10; μ, σ of the peaks seen in training.
Differences: the mean number of CPUs is rounded (the thesis does not say how a fraction is given).
    Runs that another sizer, or none, has sized count as training, too: their peaks are as true.
    A death for lack of memory while training counts like any attempt: there was no more to give.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, pstdev

import numpy as np

from scicore.model.parameters import Parameters, setting
from scicore.model.sizing import Allocation, Experience, Need, Sized
from scicore.sizing.base import MORE, Sizer


@dataclass(frozen=True, slots=True)
class FeedbackParameters(Parameters):
    training_runs: int = setting(10, "runs with all that there is, to learn from", 1, 10_000)


class Feedback(Sizer):
    name = "feedback"
    kind = FeedbackParameters

    def __init__(self, parameters: FeedbackParameters, rng: np.random.Generator) -> None:
        super().__init__(parameters, rng)
        self._training_runs = parameters.training_runs
        self._runs: set[int] = set()
        self._cpus: list[float] = []
        self._peaks_mb: list[float] = []

    def first(self, need: Need) -> Sized:
        if len(self._runs) < self._training_runs or not self._peaks_mb:
            why = f"training run {len(self._runs) + 1} of {self._training_runs}: all there is"
            return Sized(need.ceiling, why)
        cpus = max(1, math.floor(fmean(self._cpus) + 0.5))
        mean_mb, deviation_mb = fmean(self._peaks_mb), pstdev(self._peaks_mb)
        memory_mb = math.ceil(mean_mb + deviation_mb)
        why = (
            f"{len(self._peaks_mb)} attempts used {fmean(self._cpus):.2f} CPUs and "
            f"{mean_mb:.1f} ± {deviation_mb:.1f} MB on average: mean CPUs, mean + 1 sd of memory"
        )
        return Sized(Allocation(cpus, memory_mb), why)

    def again(self, need: Need, failed: Allocation) -> Sized:
        most_mb = math.ceil(max(self._peaks_mb, default=0.0))
        if most_mb > failed.memory_mb:
            why = f"{failed.memory_mb} MB were not enough: the most ever used, {most_mb} MB"
            return Sized(Allocation(failed.cpus, most_mb), why)
        why = f"{failed.memory_mb} MB were not enough: twice as much"
        return Sized(Allocation(failed.cpus, MORE * failed.memory_mb), why)

    def take(self, seen: Experience) -> None:
        if seen.run not in self._runs and len(self._runs) >= self._training_runs:
            return  # training is over
        self._runs.add(seen.run)
        self._cpus.append(seen.cpus_used)
        self._peaks_mb.append(seen.peak_mb)
