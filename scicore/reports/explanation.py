"""Why an activation ran where and when it did, or why it does not run: a story in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from scicore.provenance.relatives import Relative
from scicore.provenance.story import AttemptStory, Story

NAMED = 4  # of many activations that it waits for
AT_ONCE_S = 0.05
_MOVED = {
    "lost vm": "the planned VM was lost",
    "slow vm": "the planned VM turned out to be slow: measured times said so",
    "idle vm": "that VM had nothing to do, and this was behind the plan",
    "does not fit": "it needs more slots or memory than the planned VM has",
    "failed there": "it had failed on the planned VM",
    "drained": "the planned VM gets no more work: it failed too often, or is taken back",
    "straggler": "a second attempt was started beside a slow one, and was faster",
    "unforeseen": "the plan did not foresee it; its activity's share of VM types decided",
    "dynamic": "the run is dispatched dynamically: whoever is idle takes the oldest",
}
_CAUSES = {
    "exit code": "its program ended with exit code {code}",
    "signal": "its program was killed by a signal (exit code {code})",
    "lost vm": "its VM was lost",
    "timeout": "it took longer than its timeout allows",
    "out of memory": "it needed more memory than there was",
    "cancelled": "it was cancelled",
}


def explain(story: Story, chosen_because: str = "") -> list[str]:
    """From the plan to what happened; `chosen_because` is the planner's own reason."""
    return [*_planned(story, chosen_because), *_place(story), *_time(story), *_now(story)]


def _planned(story: Story, chosen_because: str) -> Iterator[str]:
    plan = f"plan {story.plan_id} ({story.algorithm})"
    seen = story.foreseen
    if seen is None:
        yield f"{plan} did not foresee it: it came of data that no one knew before the run"
        return
    estimate = f"{seen.finish_s - seen.start_s:.2f} s"
    if seen.estimate_source:
        times = f", {seen.estimate_samples} samples" if seen.estimate_samples else ""
        estimate += f" (known from {seen.estimate_source}{times})"
    yield (
        f"{plan} has it as {seen.position} of {seen.of}, on {seen.vm}, from {seen.start_s:.2f} s "
        f"to {seen.finish_s:.2f} s; it was expected to take {estimate}"
    )
    if chosen_because:
        yield f"{seen.vm} was chosen because it {chosen_because}"


def _place(story: Story) -> Iterator[str]:
    if not story.attempts:
        return
    last = story.attempts[-1]
    host = f" ({last.host})" if last.host else ""
    verb = "runs" if last.ended_at is None else "ran"
    planned = story.foreseen.vm if story.foreseen else None
    if last.vm == planned:
        yield f"it {verb} there{host}, as planned"
        return
    reason = _MOVED.get(story.moved_because, story.moved_because)
    why = f": {reason}" if reason else ""
    yield f"it {verb} on {last.vm}{host}{'' if planned is None else f' instead of {planned}'}{why}"


def _time(story: Story) -> Iterator[str]:
    begin = story.run_started_at
    if begin is None or story.created_at is None:
        return
    parent = _last_of(story.parents)
    ready_at = story.created_at  # explicit edges: it is there before its parents have ended
    if parent is not None and parent.ended_at is not None:
        ready_at = max(ready_at, parent.ended_at)
    ready_s = _since(begin, ready_at)
    feeds = f", when {parent.name} {parent.state}" if parent is not None else ""
    if story.state not in ("locked", "blocked"):
        yield f"it was ready at {ready_s:.2f} s{feeds}"
    for attempt in story.attempts:
        yield _attempt(story, attempt, begin)
        if attempt.asked_cpus is not None:
            yield _size(attempt)
    if story.attempts:
        first = story.attempts[0]
        waited_s = _since(begin, first.started_at) - ready_s
        queue = story.queue
        if waited_s > AT_ONCE_S and queue is not None and queue.freed_by and queue.freed_at:
            if queue.freed_at > ready_at and len(story.attempts) == 1:
                yield (
                    f"it waited {waited_s:.2f} s for a slot of {first.vm}: one got free when "
                    f"{queue.freed_by} ended at {_since(begin, queue.freed_at):.2f} s"
                )
        elif waited_s <= AT_ONCE_S:
            yield "a slot was free: it started at once"
        if story.foreseen is not None:
            late_s = _since(begin, first.started_at) - story.foreseen.start_s
            side = "after" if late_s >= 0 else "before"
            yield f"that is {abs(late_s):.2f} s {side} its planned start"


def _attempt(story: Story, attempt: AttemptStory, begin: datetime) -> str:
    double = ", as a double of a slow one," if attempt.redundant else ""
    told = f"attempt {attempt.number}{double} started at {_since(begin, attempt.started_at):.2f} s"
    told += f" on {attempt.vm}"
    if attempt.ended_at is None:
        return f"{told} and is still running"
    told += f", took {attempt.took_s:.2f} s"
    if attempt.cause == "finished":
        return f"{told} and finished"
    words = _CAUSES.get(attempt.cause or "", f"its end: {attempt.cause}")
    return f"{told} and did not finish: {words.format(code=attempt.exit_code)}"


def _size(attempt: AttemptStory) -> str:
    """What it got, what it asked for, what it used, and why it got that."""
    asked_mb = "no limit" if attempt.asked_memory_mb is None else f"{attempt.asked_memory_mb} MB"
    given_mb = "no limit" if attempt.memory_mb is None else f"{attempt.memory_mb} MB"
    told = f"it got {_cpus(attempt.cpus)} and {given_mb} of memory"
    told += f" (declared: {_cpus(attempt.asked_cpus or 1)}, {asked_mb}"
    if attempt.peak_rss_bytes:
        told += f"; used at its peak: {attempt.peak_rss_bytes / 2**20:.1f} MB"
    return f"{told}), because: {attempt.sized_because}"


def _cpus(count: int) -> str:
    return f"{count} CPU{'s' if count > 1 else ''}"


def _now(story: Story) -> Iterator[str]:
    """Why nothing (more) happens to it."""
    over = story.run_state not in ("prepared", "running", "paused")
    match story.state:
        case "running":
            return
        case "finished":
            count = len(story.children)
            if count:
                yield f"{count} activation{'s' if count > 1 else ''} used what it made: " + _names(
                    story.children
                )
        case "failed":
            yield "it will not be tried again: its attempts are used up, or another one cannot help"
            yield f"what its programs said: scicumulus logs {story.name} --run {story.run_id}"
        case "blocked":
            culprit = story.blocked_by
            because = "a parent of it failed" if culprit is None else f"{culprit.name} failed"
            yield f"it can never run: {because}"
            if culprit is not None:
                yield f"why that failed: scicumulus explain {culprit.name} --run {story.run_id}"
        case "cancelled":
            yield "it was cancelled: scicumulus query steering_log says by whom"
        case _ if over:
            yield f"it did not run: the run is {story.run_state}"
            if story.run_state in ("stopped", "interrupted"):
                yield f"go on with: scicumulus resume {story.run_id}"
        case "locked" | "expected":
            if story.parents or story.run_state != "prepared":
                yield _waits_for(story)
            yield from _run_stands_still(story)
        case "ready":
            yield from _waits_its_turn(story)
            yield from _run_stands_still(story)


def _waits_for(story: Story) -> str:
    missing = [each for each in story.parents if each.state != "finished"]
    failed = [each for each in missing if each.state in ("failed", "blocked", "cancelled")]
    if failed:
        return f"it cannot run as planned: {_names(failed, states=True)}"
    if missing:
        return (
            f"it waits for {len(missing)} of {len(story.parents)}: {_names(missing, states=True)}"
        )
    return "it waits for its input: what comes before it has not given any yet"


def _waits_its_turn(story: Story) -> Iterator[str]:
    queue = story.queue
    if queue is None:
        yield "it is ready, and waits for a VM"
        return
    told = f"it is ready, and waits for {story.vm} (slots: {queue.slots}, "
    told += f"{queue.running_count} running"
    told += f": {', '.join(queue.running)})" if queue.running else ")"
    if queue.vm_state != "joined":
        told += f"; that VM is {queue.vm_state}"
    yield told
    if queue.ahead:
        many = "activations go" if queue.ahead > 1 else "activation goes"
        yield f"{queue.ahead} ready {many} before it there"
    if story.dispatch == "strict" and queue.running_count < queue.slots and not queue.ahead:
        yield "dispatch is strict: the VM waits for what the plan has before it"


def _run_stands_still(story: Story) -> Iterator[str]:
    if story.run_state == "paused":
        yield f"the run is paused: scicumulus resume {story.run_id} lets it go on"
    elif story.run_state == "prepared":
        yield "the run is prepared, but was not started"
    elif not story.attended:
        yield f"no master is at work on the run: scicumulus resume {story.run_id} starts one"


def _last_of(parents: tuple[Relative, ...]) -> Relative | None:
    ended = [each for each in parents if each.ended_at is not None]
    return max(ended, key=lambda each: each.ended_at or datetime.min, default=None)


def _names(relatives: tuple[Relative, ...] | list[Relative], *, states: bool = False) -> str:
    shown = [
        f"{each.name} ({'not there yet' if each.state == 'expected' else each.state})"
        if states
        else each.name
        for each in relatives[:NAMED]
    ]
    more = len(relatives) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _since(begin: datetime, moment: datetime) -> float:
    return (moment - begin).total_seconds()
