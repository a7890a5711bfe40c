"""Named queries about the course of a run, on runs whose every second is known."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.integration.conftest import Ask
from tests.integration.known_runs import at


def test_progress_counts_the_activations_of_every_activity_by_their_state(ask: Ask) -> None:
    assert ask("progress", run=1) == [
        ("measure", 10, 0, 0, 10, 0, 0),
        ("check", 10, 0, 0, 10, 0, 0),
        ("merge", 1, 0, 0, 1, 0, 0),
    ]
    assert ask("progress", run=2) == [
        ("measure", 2, 0, 0, 1, 1, 0),
        ("check", 2, 0, 0, 1, 0, 1),
        ("merge", 1, 0, 0, 0, 0, 1),
    ]


def test_progress_shows_what_runs_at_this_moment(ask: Ask) -> None:
    assert ask("progress", run=3) == [
        ("measure", 3, 1, 1, 1, 0, 0),
        ("check", 1, 1, 0, 0, 0, 0),
        ("merge", 0, 0, 0, 0, 0, 0),
    ]


def test_elapsed_is_the_time_from_start_to_end(ask: Ask) -> None:
    assert ask("elapsed", run=1) == [(1, "stars", "finished", at(1, 0), at(1, 30), 30.0, 25.0)]
    assert ask("elapsed", run=2) == [(2, "stars", "failed", at(2, 0), at(2, 12), 12.0, 25.0)]


def test_elapsed_of_a_run_that_goes_on_is_the_time_until_now(ask: Ask) -> None:
    ((run, workflow, state, started_at, ended_at, elapsed_s, predicted_s),) = ask("elapsed", run=3)
    assert (run, workflow, state, predicted_s) == (3, "stars", "running", 25.0)
    assert (started_at, ended_at) == (at(3, 0), None)
    now_s = (datetime.now(UTC) - at(3, 0)).total_seconds()
    assert elapsed_s == pytest.approx(now_s, abs=60)


def test_activations_left_are_those_planned_or_known_that_have_not_ended(ask: Ask) -> None:
    assert ask("activations_left", run=2) == [
        ("measure", 2, 2, 2, 0, 0),
        ("check", 2, 2, 2, 0, 0),
        ("merge", 1, 1, 1, 0, 0),
    ]
    assert ask("activations_left", run=3) == [
        ("measure", 3, 3, 1, 1, 2),
        ("check", 3, 1, 0, 0, 3),
        ("merge", 1, 0, 0, 0, 1),
    ]


def test_times_are_those_of_attempts_that_ended_well(ask: Ask) -> None:
    assert ask("times", run=1) == [
        ("measure", 10, 2.0, 1.0, 11.0, 20.0, 10.0),
        ("check", 10, 1.0, 1.0, 1.0, 10.0, 5.0),
        ("merge", 1, 5.0, 5.0, 5.0, 5.0, 2.5),
    ]
    assert ask("times", run=2) == [
        ("measure", 1, 2.0, 2.0, 2.0, 2.0, 1.0),
        ("check", 1, 1.0, 1.0, 1.0, 1.0, 0.5),
    ]


def test_activity_statistics_are_the_same_whichever_run_one_asks_by(ask: Ask) -> None:
    of_all_runs = [  # measure ended well after 1 s ten times, after 2 s and after 11 s
        ("measure", 16, 3, pytest.approx(23 / 12), pytest.approx(2.87492), 1.0, 11.0, 23 / 24),
        ("check", 12, 1, 1.0, 0.0, 1.0, 1.0, 0.5),
        ("merge", 1, 0, 5.0, None, 5.0, 5.0, 2.5),
    ]
    assert ask("activity_statistics", run=1) == of_all_runs
    assert ask("activity_statistics", run=3) == of_all_runs


def test_a_straggler_is_slower_than_mean_plus_two_and_a_third_deviations(ask: Ask) -> None:
    deviation = 10**0.5  # of nine times 1 s and once 11 s
    bound = pytest.approx(2 + 2.33 * deviation)
    assert ask("stragglers", run=1) == [
        ("measure.10", 1, "large-1", "finished", 11.0, 2.0, pytest.approx(deviation), bound)
    ]
    assert ask("stragglers", run=2) == []


def test_queue_versus_execution_adds_up_waiting_and_running(ask: Ask) -> None:
    assert ask("queue_versus_execution", run=1) == [
        ("measure", 10, 4.5, 9.0, 2.0, 45.0, 20.0, 45 / 65),
        ("check", 10, 1.0, 1.0, 1.0, 10.0, 10.0, 0.5),
        ("merge", 1, 2.0, 2.0, 5.0, 2.0, 5.0, 2 / 7),
    ]
    assert ask("queue_versus_execution", run=2) == [  # all attempts count as execution
        ("measure", 2, 0.0, 0.0, 5.0, 0.0, 10.0, 0.0),
        ("check", 1, 1.0, 1.0, 3.0, 1.0, 3.0, 0.25),
    ]


def test_plan_versus_actual_sets_every_attempt_beside_its_assignment(ask: Ask) -> None:
    assert ask("plan_versus_actual", run=2) == [
        ("measure.1", 0, "large-1", "small-1", "idle vm", 0.0, 0.0, 1.0, 2.0),
        ("measure.2", 1, "large-1", "large-1", "failed there", 1.0, 0.0, 1.0, 4.0),
        ("measure.1", 0, "large-1", "large-1", "idle vm", 0.0, 3.0, 1.0, 2.0),
        ("measure.2", 1, "large-1", "small-1", "failed there", 1.0, 4.0, 1.0, 2.0),
        ("check.1", 2, "small-1", "large-1", "", 2.0, 6.0, 1.0, 2.0),
        ("check.1", 2, "small-1", "small-1", "", 2.0, 9.0, 1.0, 1.0),
    ]
    assert ask("plan_versus_actual", run=3) == [
        ("measure.1", 0, "large-1", "small-1", "idle vm", 0.0, 0.0, 1.0, 1.0),
        ("measure.2", 1, "large-1", "large-1", "idle vm", 1.0, 1.0, 1.0, None),
    ]


def test_the_slowest_path_goes_back_from_the_last_end_to_the_latest_parent(ask: Ask) -> None:
    assert ask("slowest_path", run=1) == [
        (1, "measure.10", "large-1", 1, 9.0, 11.0, 20.0),
        (2, "check.10", "small-1", 1, 1.0, 1.0, 22.0),
        (3, "merge.1", "large-1", 1, 2.0, 5.0, 29.0),
    ]
    assert ask("slowest_path", run=2) == [
        (1, "measure.1", "large-1", 2, 3.0, 2.0, 5.0),
        (2, "check.1", "small-1", 2, 4.0, 1.0, 10.0),
    ]


def test_memory_and_cpu_stand_beside_what_was_asked_for(ask: Ask) -> None:
    assert ask("memory_and_cpu", run=1) == [
        ("measure", 10, "1", 0.5, 10.0, "512", 5.5, 10.0),
        ("check", 10, "1", 0.5, 5.0, "0", 15.5, 20.0),
        ("merge", 1, "1", 0.5, 2.5, "0", 21.0, 21.0),
    ]


def test_plans_of_workflow_lists_all_plans_with_what_became_of_them(ask: Ask) -> None:
    found = ask("plans_of_workflow", run=2)
    heft = (1, "heft", "1xlarge,1xsmall", 25.0, 0.066, None, None, 1)
    assert [row[:-1] for row in found] == [(plan, *heft) for plan in (1, 2, 3)]


def test_runs_of_workflow_lists_all_runs_with_their_ends(ask: Ask) -> None:
    first, second, third = ask("runs_of_workflow", run=2)
    heft = ("heft", "1xlarge,1xsmall", 25.0)
    ada = ("", "adaptive", "ada")
    tag = "stars-night-1"
    assert first == (1, 1, tag, "finished", *ada, at(1, 0), 30.0, *heft, 21, 21, 0)
    assert second == (2, 1, tag, "failed", *ada, at(2, 0), 12.0, *heft, 5, 2, 3)
    assert third[:8] + third[9:] == (3, 1, tag, "running", *ada, at(3, 0), *heft, 4, 1, 0)
