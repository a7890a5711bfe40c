"""How much work may wait on a VM, so that no slot waits for the master's answer."""

from __future__ import annotations

import pytest

from scicore.execution.lanes import FEW_AHEAD, MOST_AHEAD, MOST_AHEAD_S, Lane, Work
from scicore.model.cloud import VmType

BRIEF_S = 0.002


def lane(slots: int = 1, queued: int = 0) -> Lane:
    lane = Lane("vm-1", VmType("small", slots, 0, 1.0, 0.0), 0)
    lane.joined = True
    for id in range(queued):
        lane.push(Work(id, "work"), BRIEF_S)
    return lane


def took(lane: Lane, seconds: float, times: int = 50) -> int:
    for _ in range(times):
        lane.took(seconds)
    return lane.ahead


def test_nothing_waits_on_a_vm_while_nothing_is_known() -> None:
    assert lane(queued=1000).ahead == 0


def test_one_that_is_as_brief_as_planned_is_enough_to_let_others_wait() -> None:
    foreseen, unforeseen = lane(queued=1000), lane(queued=1000)
    foreseen.took(BRIEF_S, expected_s=BRIEF_S)
    unforeseen.took(BRIEF_S)
    assert foreseen.ahead > 0
    assert unforeseen.ahead == 0


def test_a_plan_that_expects_brief_ones_is_not_believed_against_what_is_seen() -> None:
    mistaken = lane(queued=1000)
    mistaken.took(60.0, expected_s=BRIEF_S)
    assert mistaken.ahead == 0


def test_a_plan_that_expects_long_ones_is_not_believed_at_once_either() -> None:
    careful = lane(queued=1000)
    careful.took(BRIEF_S, expected_s=60.0)
    assert careful.ahead == 0
    assert took(careful, BRIEF_S) > 0


@pytest.mark.parametrize("seconds", [0.03, 1.0, 3600.0])
def test_nothing_waits_behind_what_takes_long(seconds: float) -> None:
    assert took(lane(queued=1000), seconds) == 0


def test_more_wait_the_more_there_is_to_do_and_the_more_slots_do_it() -> None:
    little, much = took(lane(queued=100), BRIEF_S), took(lane(queued=500), BRIEF_S)
    assert 0 < little < much <= MOST_AHEAD_S / BRIEF_S
    assert took(lane(slots=2, queued=100), BRIEF_S) > little


@pytest.mark.parametrize("queued", [0, 2, 4, 8])
def test_the_last_ones_are_left_to_whoever_gets_free_first(queued: int) -> None:
    assert took(lane(queued=queued), BRIEF_S) == max(FEW_AHEAD, queued)


def test_so_many_wait_and_no_more() -> None:
    assert took(lane(slots=64, queued=10**6), 0.0) == MOST_AHEAD
