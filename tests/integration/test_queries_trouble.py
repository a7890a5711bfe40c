"""Named queries about VMs, failures, retries and interventions, on known runs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.integration.conftest import Ask
from tests.integration.known_runs import at


def test_failures_tell_the_last_words_and_count_the_victims(ask: Ask) -> None:
    where = "/stars/exp/runs/2/2-2"
    assert ask("failures", run=2) == [
        ("measure.2", 2, "small-1", "exit code", 3, "program 2", where, "no stars\n", 2)
    ]
    assert ask("failures", run=1) == []


def test_blocked_activations_name_the_culprit(ask: Ask) -> None:
    assert ask("blocked_because", run=2) == [
        ("check.2", "check", "measure.2", "failed", "exit code", 3, "no stars\n"),
        ("merge.1", "merge", "measure.2", "failed", "exit code", 3, "no stars\n"),
    ]
    assert ask("blocked_because", run=1) == []


def test_retried_attempts_tell_their_story_in_order(ask: Ask) -> None:
    assert ask("attempts_retried", run=2) == [
        ("measure.1", "finished", 2, "exit code, finished", "small-1, large-1", 2.0),
        ("measure.2", "failed", 2, "exit code, exit code", "large-1, small-1", 4.0),
        ("check.1", "finished", 2, "lost vm, finished", "large-1, small-1", 2.0),
    ]
    assert ask("attempts_retried", run=1) == []


def test_failures_per_vm_tell_a_bad_program_from_a_lost_machine(ask: Ask) -> None:
    assert ask("failures_per_vm", run=2) == [
        ("small-1", "small", "alpha", "joined", "", 3, 2, 0, pytest.approx(2 / 3)),
        ("large-1", "large", "beta", "lost", "", 3, 1, 1, pytest.approx(1 / 3)),
    ]


def test_files_of_failed_are_the_workspace_and_the_input_files(ask: Ask) -> None:
    where = "/stars/exp/runs/2/2-2"
    file = ("FILE", "/data/2.fits", 1002, f"{2:064x}")
    assert ask("files_of_failed", run=2) == [("measure.2", "exit code", where, 2, "images", *file)]
    assert ask("files_of_failed", run=1) == []


def test_bytes_per_vm_are_those_of_all_attempts_there(ask: Ask) -> None:
    assert ask("bytes_per_vm", run=1) == [
        ("large-1", "large", 6, 6000, 60),
        ("small-1", "small", 15, 15000, 150),
    ]


def test_cost_so_far_bills_a_minute_at_least(ask: Ask) -> None:
    assert ask("cost_so_far", run=1) == [
        ("large-1", "large", 3.6, 30.0, 60.0, pytest.approx(0.06)),
        ("small-1", "small", 0.36, 30.0, 60.0, pytest.approx(0.006)),
    ]


def test_a_lost_vm_costs_nothing_after_its_end(ask: Ask) -> None:
    assert ask("cost_so_far", run=2) == [
        ("large-1", "large", 3.6, 8.0, 60.0, pytest.approx(0.06)),
        ("small-1", "small", 0.36, 12.0, 60.0, pytest.approx(0.006)),
    ]


def test_a_vm_of_a_running_run_costs_until_now_in_whole_seconds(ask: Ask) -> None:
    now_s = (datetime.now(UTC) - at(3, 0)).total_seconds()
    for vm, _type, price, seconds, billed_s, cost_usd in ask("cost_so_far", run=3):
        assert isinstance(seconds, float), vm
        assert isinstance(price, float)
        assert seconds == pytest.approx(now_s, abs=60)
        assert billed_s == -(-seconds // 1)
        assert cost_usd == pytest.approx(billed_s * price / 3600)


def test_utilisation_is_busy_time_over_the_time_of_all_slots(ask: Ask) -> None:
    assert ask("vm_utilisation", run=1) == [
        ("large-1", "large", 2, 6, 20.0, 30.0, pytest.approx(20 / 60)),
        ("small-1", "small", 1, 15, 15.0, 30.0, 0.5),
    ]
    assert ask("vm_utilisation", run=2) == [
        ("large-1", "large", 2, 3, 8.0, 8.0, 0.5),
        ("small-1", "small", 1, 3, 5.0, 12.0, pytest.approx(5 / 12)),
    ]


def test_the_steering_log_keeps_who_asked_for_what_and_what_came_of_it(ask: Ask) -> None:
    dim = {"field": "BRIGHTNESS", "operator": "<", "value": "5"}
    assert ask("steering_log", run=2) == [
        (1, "pause", None, [], "ada@lab", at(2, 3), at(2, 3.5), "paused"),
        (2, "cancel", "merge", [dim], "bob@lab", at(2, 4), None, None),
    ]
