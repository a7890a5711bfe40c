"""The critical path of a run that has happened: from the last end backwards, what each attempt had
to wait for before it could start: data, a slot, or an attempt that failed. Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scicore.provenance.account import Try

AT_ONCE_S = 0.05  # started so soon after its data was there: no slot was waited for
DATA, SLOT, RETRY, START = "data", "slot", "retry", "start"


@dataclass(frozen=True, slots=True)
class Step:
    attempt: Try
    after: str  # data, slot, retry: what it waited for; start: nothing of the run
    of: str  # the activation whose end that was
    gap_s: float  # from that end to its own start

    @property
    def took_s(self) -> float:
        return self.attempt.finish_s - self.attempt.start_s


def critical_chain(tries: Sequence[Try], fed_by: Mapping[str, str]) -> tuple[Step, ...]:
    """`fed_by`: of each activation the one that gave it its last input. In the order of time."""
    if not tries:
        return ()
    on_vm: defaultdict[str, list[Try]] = defaultdict(list)
    of_activation: defaultdict[str, list[Try]] = defaultdict(list)
    for each in sorted(tries, key=lambda each: (each.finish_s, each.start_s)):
        on_vm[each.vm].append(each)
        of_activation[each.activation].append(each)
    ends_s = {vm: [each.finish_s for each in own] for vm, own in on_vm.items()}
    current: Try | None = max(tries, key=lambda each: (each.finish_s, each.start_s))
    steps: list[Step] = []
    while current is not None:
        before, after = _before(current, on_vm, ends_s, of_activation, fed_by)
        end_s = 0.0 if before is None else before.finish_s
        of = "" if before is None else before.activation
        steps.append(Step(current, after, of, max(0.0, current.start_s - end_s)))
        current = before
    return tuple(reversed(steps))


def _before(
    current: Try,
    on_vm: Mapping[str, Sequence[Try]],
    ends_s: Mapping[str, Sequence[float]],
    of_activation: Mapping[str, Sequence[Try]],
    fed_by: Mapping[str, str],
) -> tuple[Try | None, str]:
    """The end that came last before its start. Every step goes back in time, so there is an end."""
    failed = [each for each in of_activation[current.activation] if _earlier(each, current)]
    if failed:
        return failed[-1], RETRY
    parents = of_activation.get(fed_by.get(current.activation, ""), ())
    parent = max(
        (each for each in parents if _earlier(each, current)),
        key=lambda each: each.finish_s,
        default=None,
    )
    if parent is not None and current.start_s - parent.finish_s <= AT_ONCE_S:
        return parent, DATA
    neighbours = on_vm[current.vm]
    place = bisect_right(ends_s[current.vm], current.start_s) - 1
    while place >= 0 and not _earlier(neighbours[place], current):
        place -= 1
    neighbour = neighbours[place] if place >= 0 else None
    if neighbour is not None and (parent is None or neighbour.finish_s > parent.finish_s):
        return neighbour, SLOT
    return parent, DATA if parent is not None else START


def _earlier(one: Try, other: Try) -> bool:
    return one.finish_s <= other.start_s and one.start_s < other.start_s
