"""How long an activity is expected to take, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scicore.model.problem import Problem


class Source(StrEnum):
    """Where an estimate comes from; the first that there is evidence for."""

    ACTIVATION = "same activation"  # its own attempts in earlier runs
    SIZE = "input size"  # a line through runtimes over the bytes of the inputs
    CORRECTED = "declared, corrected"  # declared runtimes, as far as measured ones follow them
    ACTIVITY = "activity"  # the median of the activity's attempts
    TRACE = "trace"  # what the imported trace recorded
    DECLARED = "declared"  # what the specification says
    TRANSFERS = "transfers"  # files that earlier runs have moved
    CATALOG = "catalog"  # what the VM type's description says
    PRIOR = "prior"  # nothing is known: all activations are alike


@dataclass(frozen=True, slots=True)
class Estimate:
    """How an activity's runtimes on a VM type are known."""

    activity: str
    vm_type: str
    source: Source  # of most of its activations
    runtime_s: float  # median over its activations
    samples: int  # attempts that it rests on
    spread: float | None  # sigma of measured / estimated, on a log scale; None = too few samples
    measured_on: tuple[str, ...]  # VM types whose attempts were used


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """How a VM type's network speed is known."""

    vm_type: str
    source: Source
    mb_per_s: float
    samples: int  # transfers that it rests on
    spread: float | None  # sigma of their speeds, on a log scale; None = not measured


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a plan rests on: what the planner was asked, and how what is in it is known."""

    problem: Problem
    estimates: tuple[Estimate, ...]
    bandwidths: tuple[Bandwidth, ...] = ()  # empty: nothing goes over a network
