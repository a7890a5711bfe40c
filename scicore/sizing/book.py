"""The sizers of a run: one per activity, each with a generator of its own."""

from __future__ import annotations

import zlib

import numpy as np

from scicore.model.sizing import Experience, Need, Sized
from scicore.sizing import Sizing
from scicore.sizing.base import Sizer


class Book:
    def __init__(self, sizing: Sizing, seed: int) -> None:
        self._sizing = sizing
        self._seed = seed
        self._sizers: dict[str, Sizer] = {}

    @property
    def looks_again(self) -> bool:
        return self._sizing.looks_again

    def size(self, activity: str, need: Need) -> Sized:
        return self._of(activity).size(need)

    def learn(self, activity: str, seen: Experience) -> None:
        self._of(activity).learn(seen)

    def _of(self, activity: str) -> Sizer:
        """Chance does not depend on which activity comes first."""
        sizer = self._sizers.get(activity)
        if sizer is None:
            rng = np.random.default_rng([self._seed, zlib.crc32(activity.encode())])
            sizer = self._sizers[activity] = self._sizing.sizer(rng)
        return sizer
