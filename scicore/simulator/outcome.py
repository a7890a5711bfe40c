"""How a simulated run went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scicore.kernel.billing import moves_usd, prices_of, rent_usd
from scicore.kernel.instance import Instance, Ints
from scicore.kernel.jit import suited
from scicore.model.activation import RunState
from scicore.model.problem import Problem


class Attempts(NamedTuple):
    """All attempts of a run, one element each."""

    activation: Ints  # index within the problem
    vm: Ints  # index within the fleet
    start_ms: Ints
    finish_ms: Ints
    slots: Ints
    finished: NDArray[np.bool_]  # False: it failed, or its VM was lost


@dataclass(frozen=True, slots=True)
class Outcome:
    state: RunState
    makespan_s: float
    cost_usd: float
    utilisation: float  # share of all slots' time, until the end of the run, that attempts took
    busy_s: tuple[float, ...]  # of each VM, summed over its slots
    attempts: Attempts | None = None


def outcome_of(
    state: RunState, problem: Problem, instance: Instance, attempts: Attempts, *, keep: bool
) -> Outcome:
    """`keep` the attempts themselves, too."""
    fleet = problem.fleet
    vms = len(fleet.vms)
    took_ms = (attempts.finish_ms - attempts.start_ms) * attempts.slots
    busy_ms = np.bincount(attempts.vm, took_ms, minlength=vms)
    makespan_ms = int(attempts.finish_ms.max(initial=0))
    offered_ms = fleet.slots * makespan_ms
    return Outcome(
        state=state,
        makespan_s=makespan_ms / 1000,
        cost_usd=_bill_usd(problem, instance, attempts),
        utilisation=float(busy_ms.sum() / offered_ms) if offered_ms else 0.0,
        busy_s=tuple((busy_ms / 1000).tolist()),
        attempts=attempts if keep else None,
    )


def _bill_usd(problem: Problem, instance: Instance, attempts: Attempts) -> float:
    """Every attempt fetches its data anew, from where its parents finished."""
    prices = prices_of(problem)
    usd = suited(rent_usd, len(attempts.vm))(prices, attempts.vm, attempts.finish_ms)
    if prices.usd_per_gb.any():
        vm_of = np.zeros(len(problem.activations), dtype=np.int64)
        vm_of[attempts.activation[attempts.finished]] = attempts.vm[attempts.finished]
        usd += moves_usd(instance, prices, attempts.activation, attempts.vm, vm_of)
    return usd
