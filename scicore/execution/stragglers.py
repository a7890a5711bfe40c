"""Attempts that take much longer than is usual for their activity (`redundancy`).

Usual is mean + 2.33 standard deviations: one in a hundred is slower by chance. An attempt is
looked at when its time is over, not before, so that nothing is scanned.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator

SIGMAS = 2.33
SAMPLES = 5  # finished attempts of an activity before anything is called usual
LEAST_SD = 0.1  # of the mean: programs of nearly constant runtime are not doubled for a trifle
LOOK_AGAIN = 0.1  # of the bound: how soon after no VM had room


class _Usual:
    """Running mean and variance of an activity's runtimes (Welford), with extremes held in."""

    __slots__ = ("_slack_s", "count", "mean", "square", "unjudged")

    def __init__(self, slack_s: float) -> None:
        self._slack_s = slack_s
        self.count = 0
        self.mean = self.square = 0.0
        self.unjudged: dict[tuple[int, int], float] = {}  # attempts that wait for enough samples

    def add(self, took_s: float) -> None:
        if self.count >= SAMPLES:  # a straggler must not make the next one look usual
            took_s = min(took_s, self.bound_s())
        self.count += 1
        change = took_s - self.mean
        self.mean += change / self.count
        self.square += change * (took_s - self.mean)

    def bound_s(self) -> float:
        sd = math.sqrt(self.square / (self.count - 1)) if self.count > 1 else 0.0
        return self.mean + SIGMAS * max(sd, LEAST_SD * self.mean) + self._slack_s


class Stragglers:
    def __init__(self, slack_s: float = 0.0) -> None:
        """`slack_s`: what is granted may wait for so long before it starts."""
        self._slack_s = slack_s
        self._usual: dict[str, _Usual] = {}
        self._due: list[tuple[float, int, int, str, float]] = []  # a heap

    def _of(self, activity: str) -> _Usual:
        usual = self._usual.get(activity)
        if usual is None:
            usual = self._usual[activity] = _Usual(self._slack_s)
        return usual

    def started(self, activity: str, activation: int, number: int, at: float) -> None:
        usual = self._of(activity)
        if usual.count < SAMPLES:
            usual.unjudged[activation, number] = at
        else:
            due = (at + usual.bound_s(), activation, number, activity, at)
            heapq.heappush(self._due, due)

    def ended(self, activity: str, activation: int, number: int, took_s: float | None) -> None:
        """`took_s` when it had a result."""
        usual = self._of(activity)
        usual.unjudged.pop((activation, number), None)
        if took_s is None:
            return
        usual.add(took_s)
        if usual.count == SAMPLES:
            for (activation, number), at in usual.unjudged.items():
                due = (at + usual.bound_s(), activation, number, activity, at)
                heapq.heappush(self._due, due)
            usual.unjudged.clear()

    def due(self, now: float) -> Iterator[tuple[int, int]]:
        """Attempts (activation, number) whose time is over, those that have ended among them."""
        while self._due and self._due[0][0] <= now:
            _, activation, number, activity, at = heapq.heappop(self._due)
            bound_at = at + self._usual[activity].bound_s()  # it may have grown meanwhile
            if bound_at > now:
                heapq.heappush(self._due, (bound_at, activation, number, activity, at))
            else:
                yield activation, number

    def look_again(self, activity: str, activation: int, number: int, now: float) -> None:
        """There was no room for a double."""
        usual = self._usual[activity]
        again = now + max(LOOK_AGAIN * usual.bound_s(), 0.01)
        heapq.heappush(self._due, (again, activation, number, activity, now - usual.bound_s()))
