"""The books of a run: the state of every activation, and the only place that changes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from scicore.execution.lanes import Work
from scicore.model.activation import Activation, ActivationState

LOCKED = ActivationState.LOCKED
READY = ActivationState.READY
RUNNING = ActivationState.RUNNING
FINISHED = ActivationState.FINISHED
FAILED = ActivationState.FAILED
BLOCKED = ActivationState.BLOCKED
CANCELLED = ActivationState.CANCELLED

TRANSITIONS: Mapping[ActivationState, frozenset[ActivationState]] = {
    LOCKED: frozenset({READY, BLOCKED, CANCELLED}),
    READY: frozenset({RUNNING, CANCELLED}),
    RUNNING: frozenset({READY, FINISHED, FAILED, CANCELLED}),  # back to ready: another attempt
    FINISHED: frozenset(),
    FAILED: frozenset(),
    BLOCKED: frozenset(),
    CANCELLED: frozenset(),
}


class IllegalTransition(AssertionError):
    """A bug of ours; carries the activation's story."""


LETTERS = dict(zip(ActivationState, "lrxfdbc", strict=True))
STATES = {letter: state for state, letter in LETTERS.items()}
STORY = 40  # moves that are remembered


class Live(NamedTuple):
    """An attempt under way."""

    number: int
    vm: str
    started_at: float


class Entry(Struct, gc=False):
    """A million of them must fit into the master's memory."""

    activation: Activation
    state: ActivationState = LOCKED
    vm: str | None = None  # where it waits or runs, or has ended
    moved_because: str = ""  # why that is not the planned VM
    attempts: int = 0  # number of the latest attempt
    live: tuple[Live, ...] = ()  # more than one: a straggler and its double
    failures: int = 0  # attempts that count against max_failure
    hopeless: bool = False  # another attempt would not help
    cancelled: bool = False  # the user no longer wants it; its attempt is being ended
    work: Work | None = None  # as the dispatcher knows it, once it has been ready
    story: str = "l"  # its states so far, a letter each; those with the same share one string

    def attempt(self, number: int) -> Live | None:
        for live in self.live:
            if live.number == number:
                return live
        return None

    def runs_on(self, vm: str) -> bool:
        return bool(self.live) and any(live.vm == vm for live in self.live)

    def drop(self, ended: Live) -> None:
        """One of its attempts is over."""
        self.live = (
            tuple([live for live in self.live if live is not ended]) if self.live[1:] else ()
        )


class Ledger:
    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self.counts = dict.fromkeys(ActivationState, 0)
        self._stories: dict[tuple[str, ActivationState], str] = {}  # so far, and with the next move

    def __getitem__(self, activation: int) -> Entry:
        return self._entries[activation]

    def __len__(self) -> int:
        return len(self._entries)

    def entries(self) -> Iterable[Entry]:
        return self._entries.values()

    def create(self, activation: Activation) -> Entry:
        assert activation.id not in self._entries, f"activation {activation.id} exists already"
        entry = self._entries[activation.id] = Entry(activation)
        self.counts[LOCKED] += 1
        return entry

    def find(self, activation: int) -> Entry | None:
        return self._entries.get(activation)

    def restore(self, entry: Entry, state: ActivationState) -> None:
        """As it was before a crash: by a way that it must have gone."""
        ways = {FINISHED: (READY, RUNNING), FAILED: (READY, RUNNING)}
        for step in (*ways.get(state, ()), state):
            self.move(entry, step)

    def move(self, entry: Entry, state: ActivationState) -> None:
        story = self._stories.get((entry.story, state))
        if story is None:
            story = self._new_story(entry, state)
        self.counts[entry.state] -= 1
        self.counts[state] += 1
        entry.state = state
        entry.story = story

    def _new_story(self, entry: Entry, state: ActivationState) -> str:
        """Nobody has come this way before."""
        if state not in TRANSITIONS[entry.state]:
            story = " → ".join(STATES[letter] for letter in entry.story)
            raise IllegalTransition(f"{entry.activation.name}: {story} → {state} is not allowed")
        longer = (entry.story + LETTERS[state])[-STORY:]
        self._stories[entry.story, state] = longer
        return longer

    def check(
        self, waiting: Mapping[str | None, set[int]], running: Mapping[str, set[int]]
    ) -> None:
        """Every invariant at once; `waiting` and `running` are the dispatcher's view per VM."""
        for state in ActivationState:
            count = sum(entry.state is state for entry in self._entries.values())
            assert self.counts[state] == count, f"{state}: counted {self.counts[state]}, is {count}"
        self._check_waiting(waiting)
        self._check_running(running)
        for entry in self._entries.values():
            assert entry.failures <= entry.attempts, f"{entry.activation.name} failed unattempted"
            if entry.state in (RUNNING, FINISHED, FAILED):
                assert entry.attempts > 0, f"{entry.activation.name} is {entry.state} unattempted"

    def _check_waiting(self, waiting: Mapping[str | None, set[int]]) -> None:
        placed = [activation for activations in waiting.values() for activation in activations]
        assert len(placed) == len(set(placed)), "an activation is ready on two VMs"
        expected = {id for id, entry in self._entries.items() if entry.state is READY}
        assert set(placed) == expected, f"ready: placed {placed}, expected {expected}"
        for vm, activations in waiting.items():
            assert all(self._entries[activation].vm == vm for activation in activations)

    def _check_running(self, running: Mapping[str, set[int]]) -> None:
        """Attempts under way and the VMs' slots are the same thing seen from two sides."""
        placed = {(vm, id) for vm, activations in running.items() for id in activations}
        expected = {(live.vm, id) for id, entry in self._entries.items() for live in entry.live}
        assert placed == expected, f"running: placed {placed}, expected {expected}"
        for entry in self._entries.values():
            name = entry.activation.name
            numbers = [live.number for live in entry.live]
            assert len(numbers) == len(set(numbers)), f"{name} has two attempts of one number"
            assert all(number <= entry.attempts for number in numbers), f"{name} is miscounted"
            if entry.state is RUNNING:
                assert entry.live, f"{name} runs without an attempt under way"
                assert entry.vm in [live.vm for live in entry.live], f"{name} runs elsewhere"
            else:  # the attempt that another one has beaten may take a moment to end
                assert not entry.live or entry.state is FINISHED, f"{name} runs in secret"
