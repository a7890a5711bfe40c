"""Bells of ranks on one host."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator

import pytest

from scicore.engine.bell import NAME_BYTES, Bell


@pytest.fixture
def bells() -> Iterator[tuple[Bell, Bell]]:
    ours, theirs = Bell(), Bell()
    yield ours, theirs
    ours.close()
    theirs.close()


def rings(bell: Bell) -> bool:
    return bool(select.select([bell], [], [], 0)[0])


def test_who_is_rung_wakes_up_once(bells: tuple[Bell, Bell]) -> None:
    ours, theirs = bells
    assert not rings(theirs)
    assert ours.ring(theirs.name)
    assert ours.ring(theirs.name)
    assert rings(theirs)
    assert not rings(ours)
    theirs.silence()
    assert not rings(theirs)


def test_ringing_never_waits_for_somebody_who_does_not_listen(bells: tuple[Bell, Bell]) -> None:
    ours, theirs = bells
    assert all(ours.ring(theirs.name) for _ in range(10_000))
    theirs.silence()
    assert not rings(theirs)


def test_nobody_hears_the_bell_of_another_host_or_of_one_who_is_gone(
    bells: tuple[Bell, Bell],
) -> None:
    ours, theirs = bells
    assert not ours.ring(os.urandom(NAME_BYTES))
    theirs.close()
    assert not ours.ring(theirs.name)
