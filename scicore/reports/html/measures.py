"""From an account to what the report's tables say. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from scicore.model.activation import ActivationState as State
from scicore.provenance.account import Account, Try
from scicore.reports.figures import percentile
from scicore.reports.html.chain import Step, critical_chain

STEPS_SHOWN = 40
_FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class ActivityMeasures:
    activity: str
    operator: str
    counts: Mapping[State, int]
    attempts: int
    runtimes_s: list[float] = field(repr=False)  # of finished attempts, rising
    memory_bytes: list[float] = field(repr=False)
    cpu_s: float  # of all attempts

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def count(self, *states: str) -> int:
        return sum(self.counts.get(State(state), 0) for state in states)

    @property
    def busy_s(self) -> float:
        return sum(self.runtimes_s)

    @property
    def mean_s(self) -> float | None:
        return self.busy_s / len(self.runtimes_s) if self.runtimes_s else None

    def quantile_s(self, share: float) -> float | None:
        return percentile(self.runtimes_s, share) if self.runtimes_s else None

    @property
    def peak_bytes(self) -> float | None:
        return self.memory_bytes[-1] if self.memory_bytes else None


def activity_measures(account: Account) -> list[ActivityMeasures]:
    operators = {each.tag: each.operator.value for each in account.workflow.activities}
    by_activity: defaultdict[str, list[Try]] = defaultdict(list)
    for each in account.tries:
        by_activity[each.activity].append(each)
    return [
        ActivityMeasures(
            progress.activity,
            operators.get(progress.activity, ""),
            progress.counts,
            len(own := by_activity[progress.activity]),
            sorted(each.finish_s - each.start_s for each in own if each.cause == _FINISHED),
            sorted(
                float(each.peak_rss_bytes)
                for each in own
                if each.peak_rss_bytes and each.cause == _FINISHED  # a query's is the database's
            ),
            sum(each.cpu_s or 0.0 for each in own),
        )
        for progress in account.summary.activities
    ]


@dataclass(frozen=True, slots=True)
class TimeSpent:
    """Where the time of the run went, along its critical path."""

    parts: tuple[tuple[str, float], ...]  # activity, or what else; seconds
    steps: tuple[tuple[int, Step], ...]  # those that matter most, in the order of time
    length: int  # steps of the whole path

    @property
    def total_s(self) -> float:
        return sum(seconds for _, seconds in self.parts)


WAITING, ENDING = "in between", "after the last activation"


def time_spent(account: Account) -> TimeSpent | None:
    chain = critical_chain(account.tries, fed_by(account))
    if not chain:
        return None
    spent: defaultdict[str, float] = defaultdict(float)
    for step in chain:
        spent[step.attempt.activity] += step.took_s
    parts = sorted(spent.items(), key=lambda part: -part[1])
    parts.append((WAITING, sum(step.gap_s for step in chain)))
    makespan_s = account.summary.makespan_s
    if makespan_s is not None and not account.going_on:
        parts.append((ENDING, max(0.0, makespan_s - chain[-1].attempt.finish_s)))
    numbered = list(enumerate(chain, start=1))
    longest = sorted(numbered, key=lambda each: -(each[1].took_s + each[1].gap_s))
    kept = sorted(longest[:STEPS_SHOWN], key=lambda each: each[0])
    return TimeSpent(tuple(part for part in parts if part[1] > 0), tuple(kept), len(chain))


def fed_by(account: Account) -> Mapping[str, str]:
    """Of each activation the one that gave it its last input; explicit edges are the plan's."""
    problem = account.problem
    if problem is None or not any(each.parents_field for each in account.workflow.activities):
        return account.fed_by
    ends_s = {each.activation: each.finish_s for each in account.tries}
    names = problem.activations
    last: dict[str, str] = {}
    for parent, child in problem.edges:
        known = last.get(names[child])
        if known is None or ends_s.get(names[parent], 0.0) > ends_s.get(known, 0.0):
            last[names[child]] = names[parent]
    return {**last, **account.fed_by}


def explicit_edges(account: Account) -> dict[tuple[str, str], int]:
    """Between activities, where the plan knows edges that no relation tells of."""
    if account.problem is None or not any(
        each.parents_field for each in account.workflow.activities
    ):
        return {}
    edges: defaultdict[tuple[str, str], int] = defaultdict(int)
    for parent, child in account.problem.edges:
        edges[account.problem.activities[parent], account.problem.activities[child]] += 1
    return dict(edges)
