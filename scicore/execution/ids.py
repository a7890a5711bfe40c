"""Numbers of tuples and activations within a run: those that were given before a crash stay."""

from __future__ import annotations

from collections.abc import Iterable

from scicore.model.activation import Path


class Ids:
    def __init__(self) -> None:
        self._known_tuples: dict[tuple[str, Path], int] = {}
        self._known_activations: dict[str, int] = {}
        self._tuples = self._activations = 0  # the highest so far

    def remember_tuples(self, tuples: Iterable[tuple[str, Path, int]]) -> None:
        for relation, path, id in tuples:
            self._known_tuples[relation, path] = id
            self._tuples = max(self._tuples, id)

    def remember_activations(self, activations: Iterable[tuple[str, int]]) -> None:
        for name, id in activations:
            self._known_activations[name] = id
            self._activations = max(self._activations, id)

    def of_tuple(self, relation: str, path: Path) -> int:
        known = self._known_tuples.pop((relation, path), None) if self._known_tuples else None
        if known is not None:
            return known
        self._tuples += 1
        return self._tuples

    def of_activation(self, name: str) -> int:
        known = self._known_activations.pop(name, None) if self._known_activations else None
        if known is not None:
            return known
        self._activations += 1
        return self._activations
