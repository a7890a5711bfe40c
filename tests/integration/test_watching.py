"""What a watcher, `explain` and `logs` read of the known runs."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from scicore.errors import UsageError
from scicore.provenance.connection import reading
from scicore.provenance.moment import Moment, Watch
from scicore.provenance.story import Story, story_of
from scicore.reports.explanation import explain


@pytest.fixture(scope="module")
def third(known: Engine) -> Moment:
    """measure.1 has finished, measure.2 runs, measure.3 and check.1 wait."""
    with reading(known) as connection:
        return Watch(3).look(connection)


def story(known: Engine, run: int, reference: str) -> Story:
    with reading(known) as connection:
        return story_of(connection, run, reference)


def told(known: Engine, run: int, reference: str) -> str:
    return "\n".join(explain(story(known, run, reference)))


def test_a_moment_has_vms_counts_and_the_plans_expectations(third: Moment) -> None:
    assert [(vm.vm, vm.slots, vm.state, vm.running) for vm in third.vms] == [
        ("large-1", 2, "joined", 1),
        ("small-1", 1, "joined", 0),
    ]
    assert third.going_on
    assert not third.attended
    assert third.ended == 1
    assert third.clock.expected == {"measure": 3, "check": 3, "merge": 1}
    assert third.clock.finishes_s == (1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 25.0)
    assert third.rates_per_s == {}  # all that was long ago


def test_a_run_that_is_over_does_not_go_on(known: Engine) -> None:
    with reading(known) as connection:
        moment = Watch(1).look(connection)
    assert not moment.going_on
    assert moment.ended == 21
    assert moment.done == 21


def test_an_activation_is_found_by_name_and_by_number(known: Engine) -> None:
    assert story(known, 1, "merge.1") == story(known, 1, "21")
    with pytest.raises(UsageError, match=r"run 1 has no activation 'merge.2'\n.*merge.1"):
        story(known, 1, "merge.2")
    with pytest.raises(UsageError, match="has no activation '0'"):
        story(known, 1, "0")
    with pytest.raises(UsageError, match="has no activation '99999999999999999999'"):
        story(known, 1, "99999999999999999999")


def test_what_finished_is_explained_by_plan_place_data_and_slot(known: Engine) -> None:
    words = told(known, 1, "check.10")
    assert "plan 1 (heft) has it as 20 of 21, on small-1, from 11.00 s to 12.00 s" in words
    assert "it ran there (alpha), as planned" in words
    assert "it was ready at 20.00 s, when measure.10 finished" in words
    assert "attempt 1 started at 21.00 s on small-1, took 1.00 s and finished" in words
    assert "1 activation used what it made: merge.1" in words


def test_what_moved_says_why(known: Engine) -> None:
    words = told(known, 1, "measure.1")
    assert "it ran on small-1 (alpha) instead of large-1: that VM had nothing to do" in words


def test_what_failed_and_what_it_blocks_refer_to_each_other(known: Engine) -> None:
    words = told(known, 2, "measure.2")
    assert words.count("did not finish: its program ended with exit code 3") == 2
    assert "it will not be tried again" in words
    assert "scicumulus logs measure.2 --run 2" in words
    blocked = told(known, 2, "merge.1")
    assert "it can never run: measure.2 failed" in blocked
    lost = told(known, 2, "check.1")
    assert "attempt 1 started at 6.00 s on large-1, took 2.00 s and did not finish: " in lost
    assert "its VM was lost" in lost


def test_what_waits_says_for_what(known: Engine) -> None:
    assert "it waits for its input" in told(known, 3, "merge.1")
    waiting = told(known, 3, "measure.3")
    assert "it is ready, and waits for small-1 (slots: 1, 0 running)" in waiting
    assert "no master is at work on the run: scicumulus resume 3 starts one" in waiting
    running = told(known, 3, "measure.2")
    assert "attempt 1 started at 1.00 s on large-1 and is still running" in running
