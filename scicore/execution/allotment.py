"""What attempts get when a run is sized: asked of a sizer, remembered while they are under way.

Without sizing there is no allotment, and everything gets what it declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from scicore.algebra.request import request_of
from scicore.execution.messages import AttemptEnded, FileFound, Grant
from scicore.model.activation import Activation, Cause
from scicore.model.sizing import Allocation, Experience, Need, Sized
from scicore.model.trace import listed_bytes
from scicore.model.workflow import Activity

MB = 2**20
FIRST_LOOK = 5  # finished attempts of an activity after which those that wait are sized again


class Sizers(Protocol):
    """One per activity; their decisions depend on nothing but what they are told here."""

    @property
    def looks_again(self) -> bool:
        """Who waits may be sized again when more is known."""

    def size(self, activity: str, need: Need) -> Sized: ...

    def learn(self, activity: str, seen: Experience) -> None: ...


@dataclass(frozen=True, slots=True)
class Given:
    """To one activation, for its next attempt or the one under way."""

    need: Need
    sized: Sized

    @property
    def allocation(self) -> Allocation:
        return self.sized.allocation

    @property
    def grant(self) -> Grant:
        asked = self.need.request
        return Grant(
            self.allocation.memory_mb,
            asked.cpus,
            asked.memory_mb,
            self.sized.because,
            self.need.input_bytes,
        )


class Allotment:
    def __init__(
        self,
        sizers: Sizers,
        ceiling: Allocation,
        run: int = 0,
        tuple_bytes: Mapping[int, int] | None = None,
        failed: Mapping[str, Allocation] | None = None,
    ) -> None:
        """`ceiling`: what the largest VM has. `tuple_bytes`: sizes of the files that tuples name.
        `failed`: by activation, what was not enough before the run was taken up again."""
        self._sizers = sizers
        self._ceiling = ceiling
        self._run = run
        self._tuple_bytes = dict(tuple_bytes or {})
        self._failed = dict(failed or {})
        self._given: dict[int, Given] = {}
        self._finished: dict[str, int] = {}  # attempts, by activity

    def __getitem__(self, activation: int) -> Given:
        return self._given[activation]

    def find(self, activation: int) -> Given | None:
        return self._given.get(activation)

    def first(self, activity: Activity, activation: Activation, name: str) -> Allocation:
        """For an activation that gets ready, or, with more to learn from, still waits."""
        values = activity.input.as_mapping(activation.inputs[0].row)
        asked = request_of(activity, values)
        need = Need(
            Allocation(asked.cpus, asked.memory_mb),
            self._ceiling,
            self._input_bytes(activity, activation, values),
            self._failed.get(name),
        )
        return self._give(activity.tag, activation.id, need)

    def again(self, activity: str, activation: int) -> Allocation | None:
        """After a death for lack of memory; None: there is no more to give."""
        before = self._given[activation]
        asked, input_bytes = before.need.request, before.need.input_bytes
        need = Need(asked, self._ceiling, input_bytes, before.allocation)
        more = self._give(activity, activation, need)
        limited = before.allocation.memory_mb > 0
        grew = limited and (not more.memory_mb or more.memory_mb > before.allocation.memory_mb)
        return more if grew else None

    def _give(self, activity: str, activation: int, need: Need) -> Allocation:
        given = Given(need, self._sizers.size(activity, need))
        self._given[activation] = given
        return given.allocation

    def _input_bytes(
        self, activity: Activity, activation: Activation, values: Mapping[str, str]
    ) -> int | None:
        """Of the files that it reads; a trace's tuples list them."""
        if activity.parents_field and "READS" in values:
            return listed_bytes(values["READS"])
        known = [self._tuple_bytes.get(data.id) for data in activation.inputs]
        return sum(size or 0 for size in known) if any(known) else None

    # --- learning ------------------------------------------------------------------------------

    def ended(self, activity: str, attempt: AttemptEnded) -> bool:
        """An attempt that tells something; True: enough is new to look again at who waits."""
        given = self._given.get(attempt.activation)
        killed = attempt.cause is Cause.OUT_OF_MEMORY
        if given is None or not (killed or attempt.cause is Cause.FINISHED):
            return False
        usage = attempt.usage
        self._sizers.learn(
            activity,
            Experience(
                self._run,
                given.allocation,
                given.need.request,
                attempt.ended_at - attempt.started_at,
                usage.cpu_s,
                usage.peak_rss_bytes / MB,
                killed,
                given.need.input_bytes,
            ),
        )
        if killed or not self._sizers.looks_again:
            return False
        self._finished[activity] = count = self._finished.get(activity, 0) + 1
        return (count >= FIRST_LOOK and count & (count - 1) == 0) or count == FIRST_LOOK

    def made(self, tuple_id: int, file: FileFound) -> None:
        """A file that a new tuple names."""
        self._tuple_bytes[tuple_id] = self._tuple_bytes.get(tuple_id, 0) + file.size_bytes

    def forget(self, activations: Iterable[int]) -> None:
        """They are over."""
        for activation in activations:
            self._given.pop(activation, None)
