"""Python functions in warm processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scicore.model.activation import Cause
from scicore.model.workflow import (
    Field,
    FieldType,
    FileOperation,
    Operator,
    Relation,
    Staging,
)
from tests.unit.engine.warm_bench import Place, causes, collect, orders, rows


def test_a_function_is_called_with_each_tuple(place: Place) -> None:
    ended = place.run(place.function("same"), "a", "b", "c")
    assert rows(ended) == [(("A",),), (("B",),), (("C",),)]
    assert {attempt.command for attempt in ended} == {"python:work.same"}
    assert {attempt.exit_code for attempt in ended} == {0}


def test_filter_and_split_map_give_what_they_return(place: Place) -> None:
    assert rows(place.run(place.function("odd", Operator.FILTER), "1", "2")) == [(("1",),), ()]
    many = place.run(place.function("many", Operator.SPLIT_MAP), "2", "0")
    assert rows(many) == [(("2.0",), ("2.1",)), ()]


def test_one_process_serves_all_of_a_slot(place: Place) -> None:
    ended = place.run(place.function("worker"), *map(str, range(50)))
    assert len(set(rows(ended))) == 1


def test_each_slot_has_a_process_of_its_own(tmp_path: Path) -> None:
    place = Place(tmp_path, slots=2)
    ended = place.run(place.function("burns"), *map(str, range(8)))
    assert {attempt.slot for attempt in ended} == {1, 2}
    place.close()


def test_an_exception_fails_its_activation_alone_with_its_traceback(place: Place) -> None:
    ended = place.run(place.function("picky"), *map(str, range(1, 6)))
    third = ended.pop(2)
    assert causes(ended) == [Cause.FINISHED] * 4
    assert third.cause is Cause.EXIT_CODE
    assert "ValueError: three is too much" in third.stderr_tail
    assert "line" in third.stderr_tail
    assert "function_worker" not in third.stderr_tail


def test_a_crash_fails_its_activation_alone(place: Place) -> None:
    ended = place.run(place.function("deadly"), *map(str, range(1, 41)))
    third = ended.pop(2)
    assert causes(ended) == [Cause.FINISHED] * 39
    assert (third.cause, third.exit_code) == (Cause.SIGNAL, -11)
    assert "Segmentation fault" in third.stderr_tail


def test_a_timeout_fails_its_activation_alone(place: Place) -> None:
    ended = place.run(place.function("endless", timeout_s=1.0), *map(str, range(1, 41)))
    third = ended.pop(2)
    assert causes(ended) == [Cause.FINISHED] * 39
    assert third.cause is Cause.TIMEOUT


def test_what_a_worker_is_at_can_be_cancelled_and_the_others_go_on(place: Place) -> None:
    runner = place.runner(place.function("endless"))
    runner.start(*orders(*map(str, range(1, 6))))
    first = collect(runner, 2)
    assert [attempt.activation for attempt in first] == [1, 2]
    runner.cancel(3, 1)
    others = collect(runner, 3)
    assert {attempt.activation: attempt.cause for attempt in others} == {
        3: Cause.CANCELLED,
        4: Cause.FINISHED,
        5: Cause.FINISHED,
    }


def test_all_can_be_cancelled_at_once(place: Place) -> None:
    runner = place.runner(place.function("endless"))
    runner.start(*orders(*["3"] * 20))
    runner.wait(0.5)
    for id in range(1, 21):
        runner.cancel(id, 1)
    assert causes(collect(runner, 20)) == [Cause.CANCELLED] * 20
    assert not runner.busy


def test_what_has_not_ended_is_claimed(place: Place) -> None:
    runner = place.runner(place.function("endless"))
    runner.start(*orders("3", "4", "5"))
    runner.wait(0.2)
    assert [order.activation for order in runner.granted] == [1, 2, 3]


def test_sys_exit_fails_the_activation_not_the_worker(place: Place) -> None:
    ended = place.run(place.function("leaves"), "1", "2")
    assert causes(ended) == [Cause.EXIT_CODE] * 2
    assert "SystemExit: enough" in ended[0].stderr_tail


def test_a_module_that_cannot_be_imported_fails_the_attempt(place: Place) -> None:
    (place.directory / "work.py").write_text("import nothing_like_this\n")
    (attempt,) = place.run(place.function("same"), "a")
    assert attempt.cause is Cause.EXIT_CODE
    assert "No module named 'nothing_like_this'" in attempt.stderr_tail


def test_a_function_that_is_not_there_fails_the_attempt(place: Place) -> None:
    (attempt,) = place.run(place.function("nowhere"), "a")
    assert "has no attribute 'nowhere'" in attempt.stderr_tail


def test_cpu_time_is_that_of_the_call(place: Place) -> None:
    burnt, idle = place.run(place.function("burns"), "1"), place.run(place.function("same"), "1")
    assert 0.15 < burnt[0].usage.cpu_s < 0.6
    assert idle[0].usage.cpu_s < 0.15
    assert burnt[0].usage.peak_rss_bytes > 1 << 20


def test_text_that_cannot_be_stored_fails_its_activation(place: Place) -> None:
    (attempt,) = place.run(place.function("surrogate"), "a")
    assert attempt.cause is Cause.BAD_OUTPUT


def test_what_it_prints_is_kept_and_harms_nothing(place: Place) -> None:
    (attempt,) = place.run(place.function("speaks"), "a")
    assert attempt.cause is Cause.FINISHED
    assert Path(attempt.workspace, "stdout.txt").read_text() == "hello\n"


def test_no_workspace_is_made_unless_files_are_expected(place: Place) -> None:
    place.run(place.function("same"), "a", "b")
    assert [path.name for path in (place.directory / "runs/work").iterdir()] == ["worker-vm-1-1"]
    made = Relation("made", (Field("FILE", FieldType.FILE),))
    ended = place.run(place.function("writes", output=made), "a", "b")
    assert [Path(attempt.rows[0][0]).read_text() for attempt in ended] == ["a", "b"]
    assert [attempt.files[0].size_bytes for attempt in ended] == [1, 1]


def test_files_are_staged_where_they_are_asked_for(place: Place) -> None:
    (place.directory / "data.txt").write_text("data in ")
    activity = place.function(
        "reads",
        input=Relation("given", (Field("FILE", FieldType.FILE),)),
        staging=(Staging("FILE", FileOperation.COPY),),
    )
    (attempt,) = place.run(activity, str(place.directory / "data.txt"))
    assert attempt.rows == (("data in 1",),)


def test_a_module_of_the_workflow_cannot_stand_in_for_one_of_ours(place: Place) -> None:
    (place.directory / "msgspec.py").write_text("raise SystemExit('stolen')\n")
    assert rows(place.run(place.function("same"), "a")) == [(("A",),)]


def test_many_go_through_a_full_pipe(place: Place) -> None:
    values = [str(number) * 500 for number in range(600)]
    ended = place.run(place.function("same"), *values)
    assert rows(ended) == [((value,),) for value in values]


def test_nothing_is_left_of_workers(place: Place) -> None:
    (attempt,) = place.run(place.function("worker"), "a")
    pid = int(attempt.rows[0][0])
    os.kill(pid, 0)
    place.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
