"""Q-networks of several agents side by side: perceptrons with one hidden layer, in plain numpy.

A network so small is faster in numpy than in a framework, whose call alone takes as long.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from scicore.kernel.instance import Floats

HIDDEN = 32
DIGITS = 6  # of stored weights
BETA1, BETA2, TINY = 0.9, 0.999, 1e-8  # of Adam
SHAPES = ("hidden", "hidden_bias", "output", "output_bias")


class Networks:
    """Arrays have the agents as their first axis, so that one product serves all of them."""

    def __init__(self, weights: tuple[Floats, Floats, Floats, Floats]) -> None:
        self.weights = weights  # [agent, feature, unit], [agent, 1, unit], [agent, unit], [agent]
        self._mean = [np.zeros_like(each) for each in weights]
        self._square = [np.zeros_like(each) for each in weights]
        self._steps = 0

    def copy(self) -> Networks:
        """The weights alone: what a target network is."""
        hidden, hidden_bias, output, output_bias = (each.copy() for each in self.weights)
        return Networks((hidden, hidden_bias, output, output_bias))

    def rounded(self) -> Networks:
        """As they are stored: what is planned with them can be planned again."""
        hidden, hidden_bias, output, output_bias = (np.round(each, DIGITS) for each in self.weights)
        return Networks((hidden, hidden_bias, output, output_bias))

    def values(self, features: Floats) -> Floats:
        """[row, feature] → Q of [agent, row]."""
        hidden, hidden_bias, output, output_bias = self.weights
        active = np.maximum(features @ hidden + hidden_bias, 0)
        q: Floats = (active @ output[:, :, None])[:, :, 0] + output_bias[:, None]
        return q

    def fit(self, features: Floats, targets: Floats, rate: float) -> Floats:
        """One step of Adam down the mean of (Q - target)²; features [row, feature], targets
        [agent, row]. The losses before the step are returned."""
        hidden, hidden_bias, output, output_bias = self.weights
        active = np.maximum(features @ hidden + hidden_bias, 0)
        error = (active @ output[:, :, None])[:, :, 0] + output_bias[:, None] - targets
        slope = 2 * error / len(features)  # of the loss by Q
        below = slope[:, :, None] * output[:, None, :] * (active > 0)  # by what enters a unit
        gradients = (
            features.T @ below,
            below.sum(axis=1, keepdims=True),
            (slope[:, None, :] @ active)[:, 0, :],
            slope.sum(axis=1),
        )
        self._descend(gradients, rate)
        losses: Floats = (error**2).mean(axis=1)
        return losses

    def _descend(self, gradients: tuple[Floats, Floats, Floats, Floats], rate: float) -> None:
        self._steps += 1
        scale = rate * np.sqrt(1 - BETA2**self._steps) / (1 - BETA1**self._steps)
        for weight, gradient, mean, square in zip(
            self.weights, gradients, self._mean, self._square, strict=True
        ):
            mean += (1 - BETA1) * (gradient - mean)
            square += (1 - BETA2) * (gradient**2 - square)
            weight -= scale * mean / (np.sqrt(square) + TINY)


def new_networks(agents: int, features: int, chance: np.random.Generator) -> Networks:
    """Random weights θ, as large as suits rectified units."""
    return Networks(
        (
            chance.normal(0, np.sqrt(2 / features), (agents, features, HIDDEN)),
            np.zeros((agents, 1, HIDDEN)),
            chance.normal(0, np.sqrt(1 / HIDDEN), (agents, HIDDEN)),
            np.zeros(agents),
        )
    )


def to_data(networks: Networks) -> dict[str, object]:
    """As JSON can hold it."""
    arrays = zip(SHAPES, networks.weights, strict=True)
    return {name: weight.tolist() for name, weight in arrays}


def from_data(stored: object, agents: int, features: int) -> Networks | None:
    """None unless they are of this shape: other features mean other inputs."""
    if not isinstance(stored, Mapping):
        return None
    expected = ((agents, features, HIDDEN), (agents, 1, HIDDEN), (agents, HIDDEN), (agents,))
    try:
        hidden, hidden_bias, output, output_bias = (
            np.array(stored[name], dtype=np.float64) for name in SHAPES
        )
    except (KeyError, TypeError, ValueError):
        return None
    weights = (hidden, hidden_bias, output, output_bias)
    sound = all(
        weight.shape == shape and np.isfinite(weight).all()
        for weight, shape in zip(weights, expected, strict=True)
    )
    return Networks(weights) if sound else None
