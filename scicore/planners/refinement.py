"""Improving an episode action by action: moves are played and kept by simulated annealing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from scicore.kernel.arena import Arena
from scicore.kernel.instance import Ints
from scicore.kernel.jit import suited
from scicore.kernel.search import DRAWS, Track, explore, play
from scicore.planners.base import Budget

CHUNK = 500  # episodes between two looks at the meter
CHUNK_S = 0.02  # the same under a budget


class Meter:
    """How much of the learning is done: by the budget's clock, or by counting episodes."""

    def __init__(self, episodes: int, budget: Budget | None) -> None:
        self.played = 0
        self._episodes, self._budget = episodes, budget
        self._seconds = budget.left_s if budget else 0.0
        self._chunk = 50

    @property
    def done(self) -> float:
        """From 0 to 1."""
        if self._budget is None:
            return self.played / self._episodes if self._episodes else 1.0
        left_s = self._budget.left_s
        return 1 - left_s / self._seconds if self._seconds > 0 and left_s > 0 else 1.0

    def chunk(self, rest: float) -> int:
        """So many episodes may be played before the next look; `rest` of the whole is left."""
        if self._budget is None:
            return min(CHUNK, max(1, math.ceil(rest * self._episodes)))
        return self._chunk

    def count(self, episodes: int, part: float) -> None:
        """They took this part of the whole."""
        self.played += episodes
        seconds = part * self._seconds
        if self._budget and seconds < CHUNK_S / 2:
            self._chunk = min(2 * self._chunk, 20_000)
        elif seconds > CHUNK_S * 2:
            self._chunk = max(1, self._chunk // 2)


class Phase(NamedTuple):
    until: float  # of the whole
    hot: float  # temperatures at the beginning and at the end
    cold: float
    fresh: bool  # from a start of its own, not from the best so far


class Best(NamedTuple):
    order: Ints
    class_of: Ints
    makespan_ms: int


def snapshots_every(count: int) -> int:
    return max(8, math.isqrt(count))


def new_track(arena: Arena, order: Ints, class_of: Ints) -> tuple[Track, int]:
    """The schedule of these decisions, and its makespan."""
    count, slots = len(order), int(arena.slot_at[-1])
    every = snapshots_every(count)
    number = -(-count // every)
    snaps = np.zeros((number, 2, slots), dtype=np.int64)
    snaps[0, 1] = -1
    for kind, boot_ms in enumerate(arena.boot_ms):
        lanes = arena.lane_at[kind : kind + 2]
        snaps[0, 0, arena.slot_at[lanes[0]] : arena.slot_at[lanes[1]]] = boot_ms
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    track = Track(
        order.copy(),
        place,
        class_of.copy(),
        np.zeros((count, 4), dtype=np.int64),
        snaps,
        np.zeros(number, dtype=np.int64),
        np.zeros(count + 1, dtype=np.int64),
    )
    run = suited(play, count * 50)
    return track, int(run(arena, track, track.snaps, track.highs, 0, every, np.inf))


def replayed(arena: Arena, best: Best) -> Ints:
    """The schedule of these decisions."""
    track, _ = new_track(arena, best.order, best.class_of)
    return track.schedule


def anneal(
    arena: Arena,
    start: Best,
    best: Best,
    phase: Phase,
    target_ms: int,
    meter: Meter,
    random: np.random.Generator,
    tell: Callable[[int], None],
) -> Best:
    """Play until the phase is over or the target is reached; return the best so far."""
    count = len(start.order)
    track, makespan_ms = new_track(arena, start.order, start.class_of)
    best = Best(best.order.copy(), best.class_of.copy(), best.makespan_ms)
    run = suited(explore, count * 300)
    began = done = meter.done
    while done < phase.until and best.makespan_ms > target_ms:
        part = (done - began) / (phase.until - began)
        heat = phase.hot * (phase.cold / phase.hot) ** part
        makespan_ms, lowest_ms, played = run(
            arena,
            track,
            best.order,
            best.class_of,
            best.makespan_ms,
            makespan_ms,
            snapshots_every(count),
            heat,
            random.random((meter.chunk(phase.until - done), DRAWS)),
            target_ms,
        )
        if lowest_ms < best.makespan_ms:
            best = best._replace(makespan_ms=int(lowest_ms))
        before, done = done, max(done, meter.done)
        meter.count(played, done - before)
        done = max(done, meter.done)
        tell(best.makespan_ms)
    return best
