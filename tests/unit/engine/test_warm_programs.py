"""Programs that read tuples from stdin, in warm processes."""

from __future__ import annotations

import select
import time
from dataclasses import replace
from typing import Any

import pytest

from scicore.engine import pool
from scicore.engine.lines import StdinWorker
from scicore.engine.streams import STDERR
from scicore.execution.messages import AttemptEnded
from scicore.model.activation import Cause
from scicore.model.workflow import Activity, Batch, Operator, Relation
from tests.unit.engine.warm_bench import GIVEN, ID, Place, causes, orders, rows


def test_a_program_answers_each_line(place: Place) -> None:
    ended = place.run(place.program(), *map(str, range(100)))
    assert rows(ended) == [((str(number),),) for number in range(100)]
    assert len({attempt.workspace for attempt in ended}) == 1


def test_it_may_answer_with_none_or_many(place: Place) -> None:
    ended = place.run(place.program(Operator.SPLIT_MAP), "none", "two", "one")
    assert rows(ended) == [(), (("two",), ("two",)), (("one",),)]


def wait_for_end(pidfd: int) -> None:
    assert select.select([pidfd], [], [], 30.0)[0]


def test_a_malformed_answer_fails_its_activation_alone(place: Place) -> None:
    ended = place.run(place.program(), "a", "wrong", "b", "c")
    wrong = ended.pop(1)
    assert rows(ended) == [(("a",),), (("b",),), (("c",),)]
    assert wrong.cause is Cause.BAD_OUTPUT
    assert "found 3 values, expected 1" in wrong.stderr_tail


def test_too_many_tuples_for_the_operator_are_a_malformed_answer(place: Place) -> None:
    (two,) = place.run(place.program(Operator.MAP), "two")
    assert "found 2 tuples, expected exactly one" in two.stderr_tail


def test_its_death_fails_the_activation_that_it_was_at(place: Place) -> None:
    ended = place.run(place.program(), *map(str, range(20)), "die", "b", "c")
    dead = ended.pop(20)
    assert causes(ended) == [Cause.FINISHED] * 22
    assert (dead.cause, dead.exit_code) == (Cause.EXIT_CODE, 1)
    assert dead.stderr_tail.endswith("dead")


def test_last_words_are_its_own_however_late_they_are_looked_at(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between hearing answers and whatever comes next, the program goes on until it has died."""
    said = place.directory / "runs/work/worker-vm-1-1" / STDERR
    hear = StdinWorker.heard

    def heard(worker: StdinWorker) -> bytes:
        data = hear(worker)
        until = time.monotonic() + 0.5
        while data and not said.stat().st_size and time.monotonic() < until:
            time.sleep(0.01)
        return data

    monkeypatch.setattr(StdinWorker, "heard", heard)
    monkeypatch.setattr(pool, "HELD_S", 1000.0)  # it has all that waits in hand
    ended = place.run(place.program(), "a", "slow", "slow", "slow", "die")
    assert ended[-1].stderr_tail == "dead"


def test_what_it_says_before_anybody_looks_is_not_the_one_befores(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = StdinWorker.__init__

    def slowly(worker: StdinWorker, *details: Any) -> None:
        made(worker, *details)
        wait_for_end(worker.process.pidfd)

    monkeypatch.setattr(StdinWorker, "__init__", slowly)
    stillborn = replace(place.program(), command="sh -c 'echo no licence >&2; exit 3'")
    first, second = place.run(stillborn, "a", "b")
    assert [first.stderr_tail, second.stderr_tail] == ["no licence"] * 2


def test_a_program_that_hangs_is_ended_after_its_timeout(place: Place) -> None:
    ended = place.run(place.program(timeout_s=1.0), "a", "hang", "b")
    assert causes(ended) == [Cause.FINISHED, Cause.TIMEOUT, Cause.FINISHED]


def test_a_program_that_closes_its_output_is_not_waited_for(place: Place) -> None:
    runner = place.runner(place.program())
    runner.start(*orders("a", "mute", "b"))
    looks = 0
    ended: list[AttemptEnded] = []
    while len(ended) < 3:
        ended += runner.wait(min(0.1, runner.patience_s()))
        looks += 1
    ended.sort(key=lambda attempt: attempt.activation)
    assert causes(ended) == [Cause.FINISHED, Cause.BAD_OUTPUT, Cause.FINISHED]
    assert "ended without an answer" in ended[1].stderr_tail
    assert looks < 1000  # the end of its output woke nobody again and again


def test_a_program_that_is_not_there_fails_every_activation(place: Place) -> None:
    made = Relation("made", (ID,))
    activity = Activity("work", Operator.MAP, "/no/such", GIVEN, made, batch=Batch.STDIN)
    ended = place.run(activity, "a", "b")
    assert causes(ended) == [Cause.NOT_STARTED] * 2
    assert "/no/such" in ended[0].stderr_tail
