"""Explicit edges: activations that name the ones they wait for, as imported traces do."""

from __future__ import annotations

from collections import defaultdict

from scicore.model.activation import Activation


class Edges:
    def __init__(self) -> None:
        self.any = False
        self._activations: dict[int, Activation] = {}
        self._named: dict[str, int] = {}
        self._waits_for: dict[int, tuple[str, ...]] = {}
        self._pending: dict[int, int] = {}  # parents that have not finished
        self._children: defaultdict[int, list[int]] = defaultdict(list)
        self._fed: defaultdict[int, list[int]] = defaultdict(list)  # child → its parents' tuples

    def add(self, activation: Activation, name: str, parents: tuple[str, ...]) -> None:
        self.any = True
        self._activations[activation.id] = activation
        self._named[name] = activation.id
        self._waits_for[activation.id] = parents

    def connect(self) -> tuple[list[Activation], list[Activation]]:
        """All are added: those that can start, and those that are locked.

        A parent that nobody bears the name of is not waited for; the specification's check has
        refused such a workflow.
        """
        for child, names in self._waits_for.items():
            parents = {self._named[name] for name in names if name in self._named}
            self._pending[child] = len(parents)
            for parent in parents:
                self._children[parent].append(child)
        self._waits_for.clear()
        self._named.clear()
        free = [self._activations[id] for id, pending in self._pending.items() if not pending]
        locked = [self._activations[id] for id, pending in self._pending.items() if pending]
        return free, locked

    def finished(self, activation: int, tuples: list[int]) -> list[tuple[int, tuple[int, ...]]]:
        """The children that waited for nothing else, each with the tuples of all its parents."""
        unlocked = []
        for child in self._children.pop(activation, ()):
            self._pending[child] -= 1
            self._fed[child] += tuples
            if self._pending[child] == 0:
                unlocked.append((child, tuple(self._fed.pop(child))))
        return unlocked

    def gone(self, activation: int) -> list[Activation]:
        """It will never finish: everything below it that had not been given up before."""
        if activation in self._pending:
            self._give_up(activation)
        given_up: dict[int, None] = {}
        left = self._children.pop(activation, [])
        while left:
            child = left.pop()
            if child not in given_up:
                given_up[child] = None
                left.extend(self._children.pop(child, ()))
        return [self._activations[child] for child in sorted(given_up) if self._give_up(child)]

    def _give_up(self, child: int) -> bool:
        first = self._pending[child] >= 0
        self._pending[child] = -1
        return first
