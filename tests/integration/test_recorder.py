"""What the recorder and the store write that no query shows, and what happens when they cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from sqlalchemy import Engine, text

from scicore.errors import DatabaseError, UsageError
from scicore.execution.messages import (
    ActivationCreated,
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    Fact,
    FileRecorded,
    LimitReached,
    SteeringHandled,
    TupleGenerated,
    TuplesUsed,
    VmChanged,
)
from scicore.model.activation import ActivationState, Cause
from scicore.model.plan import Plan
from scicore.model.workflow import (
    Activity,
    Dataset,
    Field,
    FieldType,
    Operator,
    Relation,
    Source,
    Workflow,
)
from scicore.provenance import steering
from scicore.provenance.bulk import trust
from scicore.provenance.hold import Hold
from scicore.provenance.plans import save_plan
from scicore.provenance.recorder import ANALYZE_AT, DatabaseRecorder
from scicore.provenance.store import load_run, prepare_run
from scicore.provenance.workflows import save_workflow
from tests.acceptance.console import eventually
from tests.integration.known_runs import FLEET

NUMBERS = Relation("numbers", (Field("N", FieldType.FLOAT, decimal_places=2),))
NAMES = Relation("names", (Field("NAME", FieldType.STRING), Field("FILE", FieldType.FILE)))
JOINED = Relation("joined", (Field("N", FieldType.FLOAT),))
QUERY = Activity(
    "join",
    Operator.MR_QUERY,
    "SELECT n FROM a, b",
    NUMBERS,
    JOINED,
    alias="a",
    also_reads=(Source(NAMES, None, "b"),),
    template="%=WFDIR%/template",
    cpus="%=CPUS%",
    memory_mb="2048",
    runtime_s="3.5",
    timeout_s=60.0,
    environment=(("LANG", "C"), ("THREADS", "%=CPUS%")),
)
Recorded = Callable[[str], list[tuple[Any, ...]]]
AWKWARD = 'tab\there, line\nthere, back\\slash, "quote", \\N, ünï €'


@pytest.fixture
def run_id(engine: Engine) -> int:
    workflow = Workflow(
        "join",
        (QUERY,),
        (Dataset(NUMBERS, (("1",), ("2",))), Dataset(NAMES, (("x", AWKWARD),))),
        "/w",
        "/w/exp",
    )
    plan = Plan("fcfs", 0, FLEET, (), 1.0, 0.0, 1.0)
    files = [FileRecorded(3, "FILE", AWKWARD, 2**40, "00ff")]
    with engine.begin() as connection:
        workflow_id = save_workflow(connection, workflow, "")
        plan_id = save_plan(connection, workflow_id, plan)
        return prepare_run(connection, workflow_id, plan_id, workflow, plan, files)[0]


@pytest.fixture
def recorder(engine: Engine, run_id: int) -> DatabaseRecorder:
    return take_up(engine, run_id)


def take_up(engine: Engine, run_id: int, patience_s: float = 60.0) -> DatabaseRecorder:
    with engine.connect() as connection:
        run = load_run(connection, run_id)
    return DatabaseRecorder(engine, run, Hold(engine, run_id, patience_s))


@pytest.fixture
def recorded(engine: Engine, run_id: int, recorder: DatabaseRecorder) -> Recorded:
    """Everything is written; now it can be asked for."""

    def rows(sql: str) -> list[tuple[Any, ...]]:
        recorder.close()
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(sql), {"run": run_id})]

    return rows


def created(id: int) -> ActivationCreated:
    state = ActivationState.READY
    name, rows = f"join.{id}", (("k",),)
    return ActivationCreated(1.0, id, "join", name, rows, state, (1,), "large-1", True, None)


def ended(id: int) -> AttemptEnded:
    return AttemptEnded(id, 1, Cause.FINISHED, 2.5, 3.5, 0, AWKWARD, "w", AWKWARD)


def test_the_whole_activity_is_stored(engine: Engine, run_id: int) -> None:
    sql = """
        SELECT operator, alias, template, cpus, memory_mb, runtime_s, timeout_s, environment
        FROM activity JOIN run USING (workflow_id) WHERE run_id = :run
    """
    reads = """
        SELECT activity_reads.position, relation.name, activity_reads.alias
        FROM run JOIN activity USING (workflow_id) JOIN activity_reads USING (activity_id)
        JOIN relation USING (relation_id) WHERE run_id = :run
    """
    with engine.connect() as connection:
        (activity,) = connection.execute(text(sql), {"run": run_id}).all()
        read = connection.execute(text(reads), {"run": run_id}).all()
    needs = ("%=WFDIR%/template", "%=CPUS%", "2048", "3.5", 60.0)
    variables = {"LANG": "C", "THREADS": "%=CPUS%"}
    assert tuple(activity) == ("MR_QUERY", "a", *needs, variables)
    assert [tuple(row) for row in read] == [(1, "names", "b")]


def test_input_files_are_stored_with_the_run(engine: Engine, run_id: int) -> None:
    sql = text("SELECT tuple_id, field, path, size_bytes, sha256 FROM file WHERE run_id = :run")
    with engine.connect() as connection:
        found = connection.execute(sql, {"run": run_id}).all()
    assert [tuple(row) for row in found] == [(3, "FILE", AWKWARD, 2**40, "00ff")]


def test_a_run_loads_as_it_was_saved(engine: Engine, run_id: int) -> None:
    with engine.connect() as connection:
        run = load_run(connection, run_id)
    assert run.workflow.activities == (QUERY,)
    assert [dataset.rows for dataset in run.workflow.datasets] == [
        (("1",), ("2",)),
        (("x", AWKWARD),),
    ]


def test_any_text_comes_back_as_it_went_in(recorder: DatabaseRecorder, recorded: Recorded) -> None:
    recorder.record([created(1), AttemptStarted(2.0, 1, 1, "large-1"), ended(1)])
    recorder.record([TupleGenerated(4, "joined", (1,), (AWKWARD,), 1)])
    recorder.record([FileRecorded(4, "N", AWKWARD, 5, "ab")])
    sql = """
        SELECT command, stderr_tail, "values" ->> 'N', file.path
        FROM attempt
        JOIN tuple ON tuple.run_id = attempt.run_id AND generated_by = activation_id
        JOIN file ON file.run_id = tuple.run_id AND file.tuple_id = tuple.tuple_id
        WHERE attempt.run_id = :run
    """
    assert recorded(sql) == [(AWKWARD, AWKWARD, AWKWARD, AWKWARD)]


def test_a_started_activation_is_running_until_it_has_ended(
    engine: Engine, run_id: int, recorder: DatabaseRecorder, recorded: Recorded
) -> None:
    recorder.record([created(1), created(2), created(3)])
    recorder.flush()
    recorder.record([AttemptStarted(2.0, 1, 1, "small-1"), AttemptStarted(2.0, 2, 1, "small-1")])
    recorder.flush()
    recorder.record([ended(1), ActivationMoved(4.0, 1, ActivationState.FINISHED, "small-1")])
    sql = "SELECT activation_id, state, vm, attempts FROM activation WHERE run_id = :run ORDER BY 1"
    assert recorded(sql) == [
        (1, "finished", "small-1", 1),
        (2, "running", "small-1", 1),
        (3, "ready", "large-1", 0),
    ]


def test_a_life_within_one_batch_is_the_same_as_one_over_many(
    engine: Engine, run_id: int, recorder: DatabaseRecorder, recorded: Recorded
) -> None:
    for id in (1, 2):
        for fact in (
            created(id),
            AttemptStarted(2.0, id, 1, "small-1"),
            ended(id),
            ActivationMoved(4.0, id, ActivationState.FINISHED, "small-1"),
        ):
            recorder.record([fact])
            if id == 2:
                recorder.flush()
    sql = """
        SELECT activation_id, state, vm, attempts, attempt.started_at, attempt.ended_at,
               attempt.cause, attempt.activity_id = activation.activity_id, activation.ended_at
        FROM activation JOIN attempt USING (run_id, activation_id, vm)
        WHERE run_id = :run ORDER BY 1
    """
    one, two = recorded(sql)
    assert one[0] == 1
    assert one[1:] == two[1:]


def test_a_double_is_marked_and_the_activation_is_where_the_winner_is(
    recorder: DatabaseRecorder, recorded: Recorded
) -> None:
    planned = msgspec.structs.replace(created(1), position=7, planned_vm="large-1")
    recorder.record([planned, AttemptStarted(2.0, 1, 1, "large-1")])
    recorder.record([AttemptStarted(3.0, 1, 2, "small-1", redundant=True)])
    recorder.flush()
    sql = "SELECT vm, attempts, position, planned_vm, moved_because FROM activation"
    assert recorded(f"{sql} WHERE run_id = :run") == [("large-1", 2, 7, "large-1", "")]


def test_the_winner_says_where_the_activation_ran_and_why_there(
    recorder: DatabaseRecorder, recorded: Recorded
) -> None:
    finished = ActivationMoved(
        4.0, 1, ActivationState.FINISHED, "small-1", moved_because="straggler"
    )
    doubled = AttemptStarted(3.0, 1, 2, "small-1", redundant=True)
    recorder.record([created(1), AttemptStarted(2.0, 1, 1, "large-1"), doubled, finished])
    sql = """
        SELECT activation.vm, moved_because, number, redundant
        FROM activation JOIN attempt USING (run_id, activation_id) WHERE run_id = :run ORDER BY 3
    """
    where = ("small-1", "straggler")
    assert recorded(sql) == [(*where, 1, False), (*where, 2, True)]


def test_a_drained_vm_and_a_limit_are_recorded_with_their_reasons(
    recorder: DatabaseRecorder, recorded: Recorded
) -> None:
    recorder.record([VmChanged(1.0, "small-1", "joined", "alpha")])
    recorder.record([VmChanged(2.0, "small-1", "drained", "", "5 of 5 attempts failed")])
    recorder.record([LimitReached(3.0, "max_time of 2 s reached")])
    sql = """
        SELECT vm.state, vm.host, vm.reason, left_at, run.reason
        FROM vm JOIN run USING (run_id) WHERE run_id = :run AND vm.vm = 'small-1'
    """
    told = ("drained", "alpha", "5 of 5 attempts failed", None, "max_time of 2 s reached")
    assert recorded(sql) == [told]


def test_a_recorder_that_takes_over_knows_the_activations_of_before(
    engine: Engine, run_id: int, recorder: DatabaseRecorder
) -> None:
    recorder.record([created(1)])
    recorder.close()
    heir = take_up(engine, run_id)
    heir.record([AttemptStarted(2.0, 1, 1, "small-1")])
    heir.close()
    with engine.connect() as connection:
        sql = text("SELECT count(*) FROM attempt WHERE run_id = :run AND activity_id IS NOT NULL")
        assert connection.scalar(sql, {"run": run_id}) == 1


def test_a_wish_is_pending_until_the_master_has_handled_it(
    engine: Engine, run_id: int, recorder: DatabaseRecorder, recorded: Recorded
) -> None:
    with engine.begin() as connection:
        first = steering.request(connection, run_id, "pause")
        second = steering.request(connection, run_id, "resume")
    assert (first, second) == (1, 2)
    recorder.record([SteeringHandled(9.0, first, "paused")])
    sql = "SELECT number, action, outcome FROM steering WHERE run_id = :run ORDER BY number"
    assert recorded(sql) == [(1, "pause", "paused"), (2, "resume", None)]
    with engine.connect() as connection:
        (left,) = steering.pending(connection, run_id)
    assert (left.number, left.action) == (2, "resume")


def test_the_planner_learns_at_once_how_large_a_run_has_become(
    recorder: DatabaseRecorder, recorded: Recorded
) -> None:
    made = 2 * ANALYZE_AT
    recorder.record([created(1)])
    recorder.record([TupleGenerated(n, "joined", (n,), (str(n),), 1) for n in range(4, 4 + made)])
    ((estimated,),) = recorded("SELECT reltuples FROM pg_class WHERE oid = 'tuple'::regclass")
    assert estimated >= made


def test_what_the_database_refuses_is_told_to_the_master(recorder: DatabaseRecorder) -> None:
    recorder.record([TupleGenerated(4, "joined", (1,), ("1",), 1)])
    recorder.record([FileRecorded(99, "N", "/no/such/tuple", 5, "ab")])
    with pytest.raises(DatabaseError, match="has no tuple 99"):
        recorder.close()
    with pytest.raises(DatabaseError, match="provenance cannot be recorded"):
        recorder.record(())


@pytest.mark.parametrize(
    ("fact", "why"),
    [
        (AttemptStarted(2.0, 77, 1, "large-1"), "activation 77, which is not recorded"),
        (ActivationMoved(2.0, 77, ActivationState.FINISHED, None), "0 of 1 rows of activation"),
        (TuplesUsed(77, (1, 99)), "has no tuple 99"),
    ],
    ids=["attempt", "activation", "tuple"],
)
def test_what_refers_to_nothing_is_refused(
    recorder: DatabaseRecorder, fact: Fact, why: str
) -> None:
    recorder.record([fact])
    with pytest.raises(DatabaseError, match=why):
        recorder.close()


def test_rows_that_cannot_be_made_while_others_are_on_their_way_are_named(
    recorder: DatabaseRecorder,
) -> None:
    """The lines of attempts are made while the server reads those of tuples and activations."""
    tuples = [TupleGenerated(n, "joined", (n,), (str(n),), 1) for n in range(4, 5000)]
    recorder.record([created(1), *tuples, AttemptStarted(2.0, 77, 1, "large-1")])
    with pytest.raises(DatabaseError, match="activation 77, which is not recorded"):
        recorder.close()


def test_only_on_our_own_server_rows_are_not_looked_at_one_by_one(engine: Engine) -> None:
    """Somebody else's server goes on checking foreign keys; so does ours after the transaction."""
    role = text("SHOW session_replication_role")
    with engine.begin() as connection:
        trust(connection)
        assert connection.scalar(role) == "replica"
    with engine.begin() as connection:
        assert connection.scalar(role) == "origin"
        connection.execute(text("CREATE ROLE somebody"))
        connection.execute(text("SET LOCAL ROLE somebody"))
        trust(connection)
        assert connection.scalar(role) == "origin"
        connection.rollback()


def test_it_is_recorded_until_when_a_run_is_recorded(
    recorder: DatabaseRecorder, recorded: Recorded
) -> None:
    recorder.record([created(1)])
    ((late,),) = recorded("SELECT recorded_at > created_at FROM run WHERE run_id = :run")
    assert late


def test_nothing_of_a_refused_batch_is_stored(
    engine: Engine, run_id: int, recorder: DatabaseRecorder
) -> None:
    recorder.record([created(1), FileRecorded(99, "N", "/no/such/tuple", 5, "ab")])
    with pytest.raises(DatabaseError):
        recorder.close()
    with engine.connect() as connection:
        sql = text("SELECT count(*) FROM activation WHERE run_id = :run")
        assert connection.scalar(sql, {"run": run_id}) == 0


def test_a_batch_whose_connection_is_cut_is_written_once(
    engine: Engine, recorder: DatabaseRecorder, recorded: Recorded
) -> None:
    waiting = text(
        "SELECT pid FROM pg_locks WHERE relation = 'activation'::regclass AND NOT granted"
    )
    with engine.begin() as lock, engine.connect() as killer:
        lock.execute(text("LOCK TABLE activation"))
        recorder.record([created(1)])
        pid = eventually(lambda: killer.scalar(waiting), "the recorder waits for the lock")
        killer.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
    assert recorded("SELECT count(*) FROM activation WHERE run_id = :run") == [(1,)]


def test_a_second_master_is_refused_while_the_first_lives(
    engine: Engine, run_id: int, recorder: DatabaseRecorder
) -> None:
    with pytest.raises(UsageError, match="is being executed by another master"):
        Hold(engine, run_id)
    recorder.close()
    Hold(engine, run_id).close()


def test_a_master_that_was_replaced_writes_nothing_any_more(
    engine: Engine, run_id: int, recorder: DatabaseRecorder
) -> None:
    locks = text("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = :run")
    with engine.connect() as killer:
        pid = killer.scalar(locks, {"run": run_id})
        killer.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
        eventually(lambda: killer.scalar(locks, {"run": run_id}) is None, "the lock is gone")
    heir = Hold(engine, run_id)
    recorder.record([created(1)])
    with pytest.raises(DatabaseError, match="another master"):
        recorder.close()
    heir.close()
    with engine.connect() as connection:
        sql = text("SELECT count(*) FROM activation WHERE run_id = :run")
        assert connection.scalar(sql, {"run": run_id}) == 0
