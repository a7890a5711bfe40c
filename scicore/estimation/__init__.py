"""How long activations will take, learned from those that ran before. Pure."""

from scicore.estimation.evidence import Estimates, Expected
from scicore.estimation.runtimes import estimate_runtimes

__all__ = ["Estimates", "Expected", "estimate_runtimes"]
