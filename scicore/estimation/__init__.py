"""How long activations and their data will take, learned from those that ran before. Pure."""

from scicore.estimation.bandwidths import estimate_bandwidths
from scicore.estimation.evidence import Estimates, Expected
from scicore.estimation.runtimes import estimate_runtimes

__all__ = ["Estimates", "Expected", "estimate_bandwidths", "estimate_runtimes"]
