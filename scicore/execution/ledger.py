"""The books of a run: the state of every activation, and the only place that changes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class Entry:
    activation: Activation
    state: ActivationState = LOCKED
    vm: str | None = None  # where it waits or runs
    attempts: int = 0  # number of the latest attempt
    started_at: float = 0.0  # of the latest attempt
    failures: int = 0  # attempts that count against max_failure
    cancelled: bool = False  # the user no longer wants it; its attempt is being ended
    story: list[ActivationState] = field(default_factory=lambda: [LOCKED])


class Ledger:
    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self.counts = dict.fromkeys(ActivationState, 0)

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

    def move(self, entry: Entry, state: ActivationState) -> None:
        if state not in TRANSITIONS[entry.state]:
            story = " → ".join(entry.story)
            raise IllegalTransition(f"{entry.activation.name}: {story} → {state} is not allowed")
        self.counts[entry.state] -= 1
        self.counts[state] += 1
        entry.state = state
        entry.story.append(state)

    def check(self, waiting: Mapping[str, set[int]], running: Mapping[str, set[int]]) -> None:
        """Every invariant at once; `waiting` and `running` are the dispatcher's view per VM."""
        for state in ActivationState:
            count = sum(entry.state is state for entry in self._entries.values())
            assert self.counts[state] == count, f"{state}: counted {self.counts[state]}, is {count}"
        for view, state in ((waiting, READY), (running, RUNNING)):
            placed = [activation for activations in view.values() for activation in activations]
            assert len(placed) == len(set(placed)), f"an activation is {state} on two VMs"
            expected = {id for id, entry in self._entries.items() if entry.state is state}
            assert set(placed) == expected, f"{state}: placed {placed}, expected {expected}"
            for vm, activations in view.items():
                assert all(self._entries[activation].vm == vm for activation in activations)
        for entry in self._entries.values():
            assert entry.failures <= entry.attempts, f"{entry.activation.name} failed unattempted"
            if entry.state in (RUNNING, FINISHED, FAILED):
                assert entry.attempts > 0, f"{entry.activation.name} is {entry.state} unattempted"
