"""A run has one master: who holds it writes each batch once, over as many sessions as it takes."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from scicore.errors import UsageError
from scicore.model.plan import Plan
from scicore.model.workflow import Workflow
from scicore.provenance.hold import Hold, is_held
from scicore.provenance.plans import save_plan
from scicore.provenance.queries import run_query
from scicore.provenance.store import prepare_run
from scicore.provenance.workflows import save_workflow
from tests.integration.known_runs import FLEET


@pytest.fixture
def run_id(engine: Engine) -> int:
    workflow = Workflow("held", (), (), "/w", "/w/exp")
    plan = Plan("fcfs", 0, FLEET, (), 1.0, 0.0, 1.0)
    with engine.begin() as connection:
        workflow_id = save_workflow(connection, workflow, "")
        plan_id = save_plan(connection, workflow_id, plan)
        return prepare_run(connection, workflow_id, plan_id, workflow, plan, [])[0]


def batches(engine: Engine, run_id: int) -> int:
    with engine.connect() as connection:
        question = text("SELECT batches FROM run WHERE run_id = :run")
        return int(connection.scalar(question, {"run": run_id}) or 0)


def test_a_batch_that_fails_in_passing_is_written_by_a_new_session(
    engine: Engine, run_id: int
) -> None:
    hold = Hold(engine, run_id)
    sessions: list[object] = []  # somebody still knows the first one, so it is not just forgotten

    def work(connection: Connection) -> dict[str, object]:
        sessions.append(connection.connection.dbapi_connection)
        if len(sessions) == 1:
            raise OperationalError("COPY", {}, Exception("no space left on device"))
        return {}

    hold.write(work, threading.Event())
    assert len(sessions) == 2
    assert sessions[0] is not sessions[1]
    assert batches(engine, run_id) == 1
    hold.close()


def test_a_second_master_is_refused_until_the_first_is_gone(
    engine: Engine, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scicore.provenance.locks.VANISH_S", 0.2)
    first = Hold(engine, run_id)
    with pytest.raises(UsageError, match="another master"):
        Hold(engine, run_id)
    with engine.connect() as connection:
        assert is_held(connection, run_id)
    first.close()
    second = Hold(engine, run_id)
    assert second.launches == 2
    second.close()


def test_a_master_that_was_replaced_writes_nothing_any_more(engine: Engine, run_id: int) -> None:
    old = Hold(engine, run_id)
    with engine.begin() as connection:  # its session is lost, and found by nobody
        connection.execute(text("UPDATE run SET launches = launches + 1"))
    with pytest.raises(UsageError, match="has taken over"):
        old.write(lambda connection: pytest.fail("it wrote"), threading.Event())
    old.close()


def test_who_asks_while_a_run_goes_on_leaves_it_the_other_cores(
    engine: Engine, run_id: int
) -> None:
    def workers() -> int:
        question = "SELECT current_setting('max_parallel_workers_per_gather')::int"
        ((count,),) = run_query(engine, question, {}).rows
        return int(str(count))

    hold = Hold(engine, run_id)
    assert workers() == 0
    hold.close()
    assert workers() > 0
