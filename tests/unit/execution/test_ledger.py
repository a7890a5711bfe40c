"""The books: which moves are legal, and that broken books are found out."""

from __future__ import annotations

import itertools

import pytest

from scicore.execution.ledger import TRANSITIONS, Entry, IllegalTransition, Ledger, Live
from scicore.model.activation import Activation, ActivationState

LOCKED, READY, RUNNING, FINISHED, FAILED, BLOCKED, CANCELLED = ActivationState

LEGAL = {
    (LOCKED, READY),
    (LOCKED, BLOCKED),
    (LOCKED, CANCELLED),
    (READY, RUNNING),
    (READY, CANCELLED),
    (RUNNING, READY),
    (RUNNING, FINISHED),
    (RUNNING, FAILED),
    (RUNNING, CANCELLED),
}
WAY_TO = {  # the shortest legal way into each state
    LOCKED: (),
    READY: (READY,),
    RUNNING: (READY, RUNNING),
    FINISHED: (READY, RUNNING, FINISHED),
    FAILED: (READY, RUNNING, FAILED),
    BLOCKED: (BLOCKED,),
    CANCELLED: (CANCELLED,),
}


def some_activation(id: int = 1) -> Activation:
    return Activation(id, "work", (id,), inputs=())


def entry_in(state: ActivationState, ledger: Ledger) -> Entry:
    entry = ledger.create(some_activation())
    for step in WAY_TO[state]:
        ledger.move(entry, step)
    return entry


@pytest.mark.parametrize(("before", "after"), [*itertools.product(ActivationState, repeat=2)])
def test_only_the_moves_of_the_table_are_legal(
    before: ActivationState, after: ActivationState
) -> None:
    ledger = Ledger()
    entry = entry_in(before, ledger)
    if (before, after) in LEGAL:
        ledger.move(entry, after)
        assert entry.state is after
    else:
        with pytest.raises(IllegalTransition):
            ledger.move(entry, after)
        assert entry.state is before


def test_the_table_speaks_of_every_state() -> None:
    assert set(TRANSITIONS) == set(ActivationState)
    assert {(before, after) for before in TRANSITIONS for after in TRANSITIONS[before]} == LEGAL


def test_an_illegal_move_tells_the_activations_story() -> None:
    ledger = Ledger()
    entry = entry_in(RUNNING, ledger)
    for state in (READY, RUNNING, FINISHED):
        ledger.move(entry, state)
    story = "locked → ready → running → ready → running → finished → running"
    with pytest.raises(IllegalTransition, match=f"^work.1: {story} is not allowed$"):
        ledger.move(entry, RUNNING)


def test_an_illegal_move_leaves_the_counts_alone() -> None:
    ledger = Ledger()
    entry = entry_in(READY, ledger)
    before = dict(ledger.counts)
    with pytest.raises(IllegalTransition):
        ledger.move(entry, FINISHED)
    assert ledger.counts == before


def test_an_activation_is_entered_once() -> None:
    ledger = Ledger()
    ledger.create(some_activation())
    with pytest.raises(AssertionError, match="exists already"):
        ledger.create(some_activation())


def test_states_are_counted() -> None:
    ledger = Ledger()
    ledger.create(some_activation(2))
    entry = entry_in(FAILED, ledger)
    assert ledger[1] is entry
    assert len(ledger) == 2
    assert {state: count for state, count in ledger.counts.items() if count} == {
        LOCKED: 1,
        FAILED: 1,
    }


# --- broken books -------------------------------------------------------------------------------


def waiting_on_vm() -> tuple[Ledger, Entry]:
    ledger = Ledger()
    entry = entry_in(READY, ledger)
    entry.vm = "vm-1"
    return ledger, entry


def test_books_that_agree_with_the_dispatcher_pass() -> None:
    ledger, entry = waiting_on_vm()
    ledger.check({"vm-1": {1}}, {"vm-1": set()})
    ledger.move(entry, RUNNING)
    entry.attempts = 1
    entry.live = (Live(1, "vm-1", 0.0),)
    ledger.check({"vm-1": set()}, {"vm-1": {1}})


def test_a_ready_activation_that_no_vm_knows_of_is_found() -> None:
    ledger, _ = waiting_on_vm()
    with pytest.raises(AssertionError, match="ready: placed"):
        ledger.check({"vm-1": set()}, {"vm-1": set()})


def test_an_activation_on_two_vms_is_found() -> None:
    ledger, _ = waiting_on_vm()
    with pytest.raises(AssertionError, match="on two VMs"):
        ledger.check({"vm-1": {1}, "vm-2": {1}}, {})


def test_an_activation_on_another_vm_than_the_books_say_is_found() -> None:
    ledger, entry = waiting_on_vm()
    entry.vm = "vm-2"
    with pytest.raises(AssertionError):
        ledger.check({"vm-1": {1}}, {})


def test_a_state_changed_behind_the_ledgers_back_is_found() -> None:
    ledger, entry = waiting_on_vm()
    entry.state = FINISHED
    with pytest.raises(AssertionError, match="counted"):
        ledger.check({}, {})


def running_twice() -> tuple[Ledger, Entry]:
    ledger, entry = waiting_on_vm()
    ledger.move(entry, RUNNING)
    entry.attempts = 2
    entry.live = (Live(1, "vm-1", 0.0), Live(2, "vm-2", 0.0))
    return ledger, entry


def test_two_attempts_of_one_activation_may_run_on_two_vms() -> None:
    ledger, _ = running_twice()
    ledger.check({}, {"vm-1": {1}, "vm-2": {1}})


def test_two_attempts_of_one_number_are_found() -> None:
    ledger, entry = running_twice()
    entry.live = (Live(2, "vm-1", 0.0), Live(2, "vm-2", 0.0))
    with pytest.raises(AssertionError, match="two attempts of one number"):
        ledger.check({}, {"vm-1": {1}, "vm-2": {1}})


def test_the_attempt_that_was_beaten_may_end_later_but_no_other_runs_in_secret() -> None:
    ledger, entry = running_twice()
    entry.drop(entry.live[0])
    ledger.move(entry, FINISHED)
    ledger.check({}, {"vm-2": {1}})
    ledger, entry = running_twice()
    ledger.move(entry, FAILED)
    with pytest.raises(AssertionError, match="in secret"):
        ledger.check({}, {"vm-1": {1}, "vm-2": {1}})


def test_a_slot_that_is_held_by_no_attempt_is_found() -> None:
    ledger, entry = running_twice()
    entry.live = entry.live[:1]
    with pytest.raises(AssertionError, match="running: placed"):
        ledger.check({}, {"vm-1": {1}, "vm-2": {1}})


def test_an_activation_that_runs_without_an_attempt_is_found() -> None:
    ledger, entry = waiting_on_vm()
    ledger.move(entry, RUNNING)
    with pytest.raises(AssertionError, match="without an attempt"):
        ledger.check({}, {})


def test_an_attempt_that_was_not_counted_is_found() -> None:
    ledger, entry = running_twice()
    entry.attempts = 1
    with pytest.raises(AssertionError, match="miscounted"):
        ledger.check({}, {"vm-1": {1}, "vm-2": {1}})


def test_more_failures_than_attempts_are_found() -> None:
    ledger, entry = waiting_on_vm()
    entry.failures = 1
    with pytest.raises(AssertionError, match="failed unattempted"):
        ledger.check({"vm-1": {1}}, {})
