"""A made-up sky: stars, a nebula and a galaxy, the same for a seed, at any place in any band.

Places are tangent-plane coordinates around CENTRE, in arcseconds: xi grows east, eta north.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CENTRE = (83.82, -5.39)  # right ascension and declination in degrees
BANDS = ("red", "green", "blue")
SEEING = 1.3  # arcseconds, sigma of a star's disc


@dataclass(frozen=True)
class Star:
    xi: float
    eta: float
    flux: tuple[float, ...]  # peak brightness, one per band


@dataclass(frozen=True)
class Cloud:
    xi: float
    eta: float
    size: float  # arcseconds, sigma
    glow: tuple[float, ...]  # one per band


class Sky:
    """What there is to be seen in a square of `width` arcseconds."""

    def __init__(self, seed: int, width: float) -> None:
        chance = np.random.default_rng(seed)
        self.width = width
        self.stars = [_star(chance, width) for _ in range(round((width / 15) ** 2))]
        self.clouds = _nebula(chance, width)

    def glow(self, xi: Array, eta: Array, band: str) -> Array:
        """The brightness of everything but the stars."""
        index = BANDS.index(band)
        total = np.zeros(xi.shape)
        west, east, south, north = xi.min(), xi.max(), eta.min(), eta.max()
        for cloud in self.clouds:
            reach = 6 * cloud.size  # farther away it is too faint to count
            if not (west - reach < cloud.xi < east + reach):
                continue
            if not (south - reach < cloud.eta < north + reach):
                continue
            distance = (xi - cloud.xi) ** 2 + (eta - cloud.eta) ** 2
            total += cloud.glow[index] * np.exp(-distance / (2 * cloud.size**2))
        return total + self._galaxy(xi, eta, index)

    def starlight(self, x: Array, y: Array, band: str, shape: tuple[int, int]) -> Array:
        """The stars on an image, given where on it (in pixels from 0) each of them is."""
        index, reach = BANDS.index(band), 8
        image = np.zeros((shape[0] + 2 * reach + 1, shape[1] + 2 * reach + 1))
        for star, column, row in zip(self.stars, x, y, strict=True):
            i, j = round(row), round(column)
            if not (-reach <= i < shape[0] + reach and -reach <= j < shape[1] + reach):
                continue
            top, left = max(i - reach, -reach), max(j - reach, -reach)
            bottom, right = min(i + reach, shape[0] + reach), min(j + reach, shape[1] + reach)
            rows, columns = np.mgrid[top : bottom + 1, left : right + 1]
            distance = (rows - row) ** 2 + (columns - column) ** 2
            image[top + reach : bottom + reach + 1, left + reach : right + reach + 1] += star.flux[
                index
            ] * np.exp(-distance / (2 * SEEING**2))
        return image[reach : reach + shape[0], reach : reach + shape[1]]

    def _galaxy(self, xi: Array, eta: Array, index: int) -> Array:
        """Two spiral arms around a warm core, seen at an angle."""
        size = self.width / 14
        x, y = (xi + 0.27 * self.width) / size, (eta - 0.26 * self.width) / (0.55 * size)
        radius, angle = np.hypot(x, y), np.arctan2(y, x)
        arms = np.cos(2 * angle - 5.5 * np.log(radius + 0.15)) ** 2 * np.exp(-radius / 0.8)
        core = np.exp(-((radius / 0.28) ** 2))
        light = (50 + 25 * index) * arms + (160 - 45 * index) * core
        return np.asarray(light * (radius < 6))


def _star(chance: np.random.Generator, width: float) -> Star:
    xi, eta = chance.uniform(-0.55 * width, 0.55 * width, 2)
    brightness = min(12 * (1 - chance.random()) ** -0.9, 6000)  # many faint ones, few bright
    warmth = chance.normal(0, 0.35)
    return Star(xi, eta, tuple(brightness * float(np.exp(warmth * tilt)) for tilt in (1, 0, -1)))


def _nebula(chance: np.random.Generator, width: float) -> list[Cloud]:
    """A random walk of clouds from corner to corner, red outside and blue at its heart."""
    clouds = []
    for part in np.linspace(-0.5, 0.5, 160):
        xi = width * (part * 0.8 + chance.normal(0, 0.06))
        eta = width * (part * 0.7 + chance.normal(0, 0.08) - 0.05)
        size = width * float(np.exp(chance.uniform(np.log(0.008), np.log(0.07))))
        light = chance.uniform(4, 16) * float(np.exp(-((part / 0.35) ** 2)))
        heart = float(np.exp(-((part / 0.15) ** 2)))
        clouds.append(
            Cloud(xi, eta, size, (light, light * (0.35 + 0.3 * heart), light * (0.5 + heart)))
        )
    return clouds
