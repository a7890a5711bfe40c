"""Which VMs of a run are replaced, and when."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from scicore.cli.replacing import Replacement, Terms
from scicore.errors import DatabaseError

LOST, NOTICE = True, False


class Watched(Replacement):
    """Sees what a test says, and notes what would be launched."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, most: int = 5) -> None:
        nothing = cast(Any, SimpleNamespace())
        super().__init__(Terms("c", most, Path("/w")), nothing, None, run_id=1)
        self.seen: list[tuple[str, bool]] | None = []
        self.replaced: list[str] = []
        monkeypatch.setattr(self, "_lost", self._look_up)
        monkeypatch.setattr(self, "_try", self._note)

    def _look_up(self) -> list[tuple[str, bool]]:
        if self.seen is None:
            raise DatabaseError("it is away")
        return self.seen

    def _note(self, vm: str, lost: bool) -> None:
        self.replaced.append(vm)
        self._launched += 1

    def sees(self, *seen: tuple[str, bool]) -> list[str]:
        self.seen = list(seen)
        self.look()
        self.close()
        return self.replaced

    def sees_no_database(self) -> None:
        self.seen = None
        self.look()

    def taken_up_again(self, *seen: tuple[str, bool]) -> None:
        self._before = set(seen)


def test_a_lost_vm_is_replaced_once_and_no_more_than_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched = Watched(monkeypatch, most=2)
    assert watched.sees(("a", LOST)) == ["a"]
    assert watched.sees(("a", LOST)) == ["a"]
    assert watched.sees(("a", LOST), ("b", NOTICE)) == ["a", "b"]
    assert watched.sees(("a", LOST), ("b", LOST), ("c", LOST)) == ["a", "b"]


def test_what_was_lost_before_a_run_was_taken_up_again_counts_when_it_is_lost_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched = Watched(monkeypatch)
    watched.taken_up_again(("a", LOST), ("b", NOTICE))
    watched.sees_no_database()  # which says nothing about who came back
    assert watched.sees(("a", LOST), ("b", NOTICE)) == []
    assert watched.sees(("a", LOST), ("b", LOST)) == ["b"]  # it had notice, and now it is gone
    assert watched.sees() == ["b"]  # a has come back
    assert watched.sees(("a", LOST)) == ["b", "a"]
