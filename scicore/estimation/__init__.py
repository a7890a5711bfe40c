"""How long activations will take, learned from those that ran before. Pure."""

from scicore.estimation.history import estimate_runtimes

__all__ = ["estimate_runtimes"]
