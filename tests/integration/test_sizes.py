"""Sizes in the database: what is recorded of an attempt, and what the next run learns from it."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, text

from scicore.execution.messages import (
    ActivationCreated,
    AttemptEnded,
    AttemptStarted,
    FileRecorded,
    Grant,
    Usage,
)
from scicore.model.activation import ActivationState, Cause
from scicore.model.plan import Plan
from scicore.model.sizing import Allocation, Experience
from scicore.model.workflow import (
    Activity,
    Dataset,
    Field,
    FieldType,
    Operator,
    Relation,
    Workflow,
)
from scicore.provenance.books import load_books
from scicore.provenance.hold import Hold
from scicore.provenance.plans import save_plan
from scicore.provenance.queries import named_query
from scicore.provenance.recorder import DatabaseRecorder
from scicore.provenance.sizes import experiences, not_enough, programs_of, tuple_bytes
from scicore.provenance.store import load_run, prepare_run
from scicore.provenance.workflows import save_workflow
from tests.integration.known_runs import FLEET

INPUT = Relation("input", (Field("ID", FieldType.STRING), Field("DATA", FieldType.FILE)))
WORK = Activity("work", Operator.MAP, "bin/work", INPUT, Relation("out", ()), memory_mb="500")
WORKFLOW = Workflow("sized", (WORK,), (Dataset(INPUT, (("1", "/w/x"),)),), "/w", "/w/exp")
MB = 2**20
VM = FLEET.vms[0].id


def prepared(engine: Engine, digest: str, sizing: str = "quantile") -> int:
    plan = Plan("fcfs", 0, FLEET, (), 1.0, 0.0, 1.0)
    with engine.begin() as connection:
        workflow_id = save_workflow(connection, WORKFLOW, "")
        plan_id = save_plan(connection, workflow_id, plan)
        run_id, _ = prepare_run(
            connection,
            workflow_id,
            plan_id,
            WORKFLOW,
            plan,
            [FileRecorded(1, "DATA", "/w/x", 7000, "")],
            sizing=sizing,
            programs={"work": digest},
        )
    return run_id


def attempt(
    number: int, cause: Cause, memory_mb: int, peak_mb: int, *, sized: bool = True, cpus: int = 1
) -> list[AttemptStarted | AttemptEnded]:
    because = "50 MB were not enough: 100 MB" if number > 1 else "a tab\tand a \\"
    grant = Grant(memory_mb, 2, 500, because, 7000) if sized else None
    usage = Usage(cpu_s=1.5, peak_rss_bytes=peak_mb * MB)
    begin = 1000.0 + 10 * number
    return [
        AttemptStarted(begin, 1, number, VM, cpus=cpus, grant=grant),
        AttemptEnded(1, number, cause, begin, begin + 2, usage=usage),
    ]


def record(engine: Engine, run_id: int, *attempts: list[AttemptStarted | AttemptEnded]) -> None:
    with engine.connect() as connection:
        run = load_run(connection, run_id)
    recorder = DatabaseRecorder(engine, run, Hold(engine, run_id, 60.0))
    state = ActivationState.READY
    rows = (("k",),)
    recorder.record(
        [ActivationCreated(1.0, 1, "work", "work.1", rows, state, (1,), VM, True, None)]
    )
    for facts in attempts:
        recorder.record(facts)
    recorder.close()


@pytest.fixture
def run_id(engine: Engine) -> int:
    """It died with 50 MB, and finished with 100."""
    run_id = prepared(engine, "version 1")
    died = attempt(1, Cause.OUT_OF_MEMORY, 50, 50)
    record(engine, run_id, died, attempt(2, Cause.FINISHED, 100, 60, cpus=2))
    return run_id


def test_what_an_attempt_asked_for_and_got_and_why_is_recorded(engine: Engine, run_id: int) -> None:
    sql = text(
        "SELECT number, cpus, memory_mb, asked_cpus, asked_memory_mb, input_bytes, because"
        " FROM allocation WHERE run_id = :run ORDER BY number"
    )
    with engine.connect() as connection:
        assert load_run(connection, run_id).sizing == "quantile"
        assert [tuple(row) for row in connection.execute(sql, {"run": run_id})] == [
            (1, 1, 50, 2, 500, 7000, "a tab\tand a \\"),
            (2, 2, 100, 2, 500, 7000, "50 MB were not enough: 100 MB"),
        ]


def test_a_run_that_is_taken_up_again_knows_what_was_not_enough(
    engine: Engine, run_id: int
) -> None:
    with engine.connect() as connection:
        assert not_enough(connection, run_id) == {"work.1": Allocation(1, 50)}
        assert tuple_bytes(connection, run_id) == {1: 7000}
        (known,) = load_books(connection, load_run(connection, run_id), 0.0).activations
    assert known.failures == 0  # lack of memory of a sized attempt does not count


def test_lack_of_memory_of_an_attempt_that_was_not_sized_counts(engine: Engine) -> None:
    run_id = prepared(engine, "version 1", sizing="")
    record(engine, run_id, attempt(1, Cause.OUT_OF_MEMORY, 0, 50, sized=False, cpus=2))
    with engine.connect() as connection:
        (known,) = load_books(connection, load_run(connection, run_id), 0.0).activations
        assert not_enough(connection, run_id) == {}
    assert known.failures == 1


def test_the_next_run_of_the_same_program_learns_from_it_and_from_unsized_ones(
    engine: Engine, run_id: int
) -> None:
    other = prepared(engine, "version 1", sizing="")
    record(engine, other, attempt(3, Cause.FINISHED, 0, 55, sized=False, cpus=2))
    following = prepared(engine, "version 1")
    asked = Allocation(2, 500)
    with engine.connect() as connection:
        programs = programs_of(connection, following)
        found = [
            seen
            for activity, seen in experiences(connection, "sized", programs, following)
            if activity == "work" and seen.run in (run_id, other)
        ]
    assert programs == {"work": "version 1"}
    assert found == [
        Experience(run_id, Allocation(1, 50), asked, 2.0, 1.5, 50.0, True, 7000),
        Experience(run_id, Allocation(2, 100), asked, 2.0, 1.5, 60.0, False, 7000),
        Experience(other, Allocation(2, 0), Allocation(2, 0), 2.0, 1.5, 55.0, False, 7000),
    ]


def test_another_version_of_the_program_learns_nothing_from_it(engine: Engine, run_id: int) -> None:
    following = prepared(engine, "version 2")
    with engine.connect() as connection:
        programs = programs_of(connection, following)
        assert list(experiences(connection, "sized", programs, following)) == []


def test_an_attempt_on_two_slots_keeps_both_busy(engine: Engine) -> None:
    run_id = prepared(engine, "version 1", sizing="")
    record(engine, run_id, attempt(1, Cause.FINISHED, 0, 50, sized=False, cpus=2))
    with engine.connect() as connection:
        sql = named_query("vm_utilisation").sql
        rows = connection.execute(text(sql), {"run": run_id}).mappings()
        busy_s = {row["vm"]: (row["busy_s"], row["slots"]) for row in rows}
    slots = busy_s[VM][1]
    assert busy_s[VM][0] == pytest.approx(2.0 * min(2, slots))


def test_a_question_shows_what_was_wasted(engine: Engine, run_id: int) -> None:
    with engine.connect() as connection:
        sql = named_query("sizes").sql
        (row,) = connection.execute(text(sql), {"run": run_id}).mappings()
    assert (row["attempts"], row["killed"]) == (2, 1)
    assert (row["asked_mb"], row["given_mb"], row["peak_mb"]) == (500, 75, 55)
    assert row["wasted_gb_h"] == pytest.approx((50 + 40) * 2 / 1024 / 3600)
