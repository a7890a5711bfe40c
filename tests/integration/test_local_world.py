"""Whole runs with real programs: the master, and two slaves as threads, over queues."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from threading import Thread

from scicore.algebra.forecast import forecast
from scicore.engine import slave
from scicore.engine.local import LocalWorld, keeper_in_thread
from scicore.engine.master import Master, Run
from scicore.engine.wire import MasterEnd, Orders, ToMaster, ToSlave
from scicore.execution.core import Execution
from scicore.execution.messages import (
    ActivationMoved,
    AttemptEnded,
    Cancel,
    Event,
    Fact,
    Instruction,
    RunEnded,
    Start,
    Steered,
    Stop,
    TupleGenerated,
)
from scicore.execution.replay import from_lines, replay, to_line
from scicore.model.activation import ActivationState, Cause, RunState
from scicore.model.cloud import LOCAL, Fleet, Vm
from scicore.model.plan import Assignment, Plan
from scicore.model.workflow import (
    Activity,
    Dataset,
    Field,
    FieldType,
    Operator,
    Relation,
    Row,
    Workflow,
)

SLAVES = 2

PROGRAMS = {
    "halves": """
        import sys
        number = int(sys.argv[1])
        lines = [f"{part}" for part in (number // 2, number - number // 2)]
        open("ERelation.txt", "w").write("N\\n" + "\\n".join(lines) + "\\n")
    """,
    "odd": """
        import sys
        kept = "N\\n" + f"{sys.argv[1]}\\n" * (int(sys.argv[1]) % 2)
        open("ERelation.txt", "w").write(kept)
    """,
    "total": """
        lines = open("odd_out.hfrag").read().split()
        column = lines[0].split(";").index("N")
        numbers = [int(line.split(";")[column]) for line in lines[1:]]
        open("ERelation.txt", "w").write(f"SUM\\n{sum(numbers)}\\n")
    """,
    "picky": """
        import sys
        if sys.argv[1] == "3":
            sys.exit("three is too much")
        open("ERelation.txt", "w").write("N\\n1\\n")
    """,
    "slow": "import time; time.sleep(1000)",
}


@dataclass
class Overheard:
    """A master's line; remembers what the slaves were told."""

    line: MasterEnd
    told: dict[int, list[Instruction]] = field(default_factory=dict)

    @property
    def slaves(self) -> int:
        return self.line.slaves

    def receive(self) -> tuple[int, ToMaster] | None:
        return self.line.receive()

    def wait(self) -> None:
        self.line.wait()

    def send(self, rank: int, message: ToSlave) -> None:
        if isinstance(message, Orders):
            self.told.setdefault(rank, []).extend(message.orders)
        self.line.send(rank, message)

    def close(self) -> None:
        self.line.close()


@dataclass
class Notebook:
    """Records facts by keeping them."""

    facts: list[Fact] = field(default_factory=list)

    def record(self, facts: Iterable[Fact]) -> None:
        self.facts.extend(facts)

    def flush(self) -> None:
        pass

    @property
    def queued(self) -> int:
        return len(self.facts)

    written = queued


class ClosedOffice:
    """There are no queries, and nobody steers."""

    def start(self, order: Start) -> None:
        raise AssertionError(f"nobody can run the query {order}")

    def cancel(self, activation: int) -> None:
        raise AssertionError(f"there is no query {activation}")

    def news(self) -> Iterable[AttemptEnded | Steered]:
        return ()


@dataclass
class Outcome:
    spec: Workflow
    plan: Plan
    state: RunState
    facts: list[Fact]
    told: dict[int, list[Instruction]]
    log: list[bytes]
    unread: int

    def rows(self, relation: str) -> list[Row]:
        return sorted(
            fact.row
            for fact in self.facts
            if isinstance(fact, TupleGenerated) and fact.relation == relation
        )

    def causes(self) -> list[Cause]:
        return [fact.cause for fact in self.facts if isinstance(fact, AttemptEnded)]


def run(spec: Workflow, directory: Path, act: Callable[[Master, Execution], None]) -> Outcome:
    """Drive a workflow to its end; `act` is called now and then."""
    plan = spread(spec)
    world = LocalWorld(SLAVES)
    line = Overheard(world.master())
    notebook = Notebook()
    events: list[Event] = []
    job = Run(spec, plan, str(directory))
    master = Master(job, line, notebook, ClosedOffice(), events.append)
    slaves = [
        Thread(target=slave.serve, args=(world.slave(rank), keeper_in_thread), daemon=True)
        for rank in (1, 2)
    ]
    for thread in slaves:
        thread.start()
    state = master.run(lambda execution: act(master, execution))
    for thread in slaves:
        thread.join()
    log = [to_line(event) for event in events]
    return Outcome(spec, plan, state, notebook.facts, line.told, log, world.unread())


def patiently(_master: Master, _execution: Execution) -> None:
    """Let it run."""


def spread(spec: Workflow) -> Plan:
    """Activations in turn to the two VMs."""
    vms = tuple(Vm(f"local-{number}", LOCAL) for number in (1, 2))
    expected = forecast(spec, {"halves": 2})
    assignments = tuple(
        Assignment(name, activity, vms[position % SLAVES].id, 0.0, 1.0)
        for position, (name, activity) in enumerate(
            zip(expected.names, expected.activities, strict=True)
        )
    )
    return Plan("by hand", 0, Fleet(vms, "2xlocal"), assignments, 1.0, 0.0, 1.0)


def assert_told_again(outcome: Outcome) -> None:
    """The log alone gives the same facts and the same instructions to each slave."""
    answers = replay(outcome.spec, outcome.plan, from_lines(outcome.log), ahead=True)
    outputs = [output for answer in answers for output in answer]
    instructions = [one for one in outputs if isinstance(one, Start | Cancel | Stop)]
    assert [one for one in outputs if not isinstance(one, Start | Cancel | Stop)] == outcome.facts
    for rank in (1, 2):
        vm = outcome.plan.fleet.vms[rank - 1].id
        assert [one for one in instructions if one.vm == vm] == outcome.told[rank]


# --- workflows ----------------------------------------------------------------------------------


def relation(name: str, *fields: str) -> Relation:
    return Relation(name, tuple(Field(field, FieldType.STRING) for field in fields))


def command(directory: Path, name: str) -> str:
    path = directory / f"{name}.py"
    path.write_text(dedent(PROGRAMS[name]))
    return f"{shlex.join([sys.executable, str(path)])} %=N%"


def workflow(directory: Path, numbers: range, *activities: Activity) -> Workflow:
    rows = tuple((f"{number}",) for number in numbers)
    return Workflow(
        "numbers",
        activities,
        (Dataset(NUMBERS, rows),),
        directory=str(directory),
        experiment_directory=str(directory),
        max_attempts=2,
    )


NUMBERS = relation("numbers", "N")


def arithmetic(directory: Path, numbers: range) -> Workflow:
    """numbers → their halves → the odd ones → their sum."""
    halves = Activity(
        "halves",
        Operator.SPLIT_MAP,
        command(directory, "halves"),
        NUMBERS,
        relation("halves_out", "N"),
    )
    odd = Activity(
        "odd",
        Operator.FILTER,
        command(directory, "odd"),
        halves.output,
        relation("odd_out", "N"),
        producer="halves",
    )
    total = Activity(
        "total",
        Operator.REDUCE,
        command(directory, "total"),
        odd.output,
        relation("total_out", "SUM"),
        producer="odd",
    )
    return workflow(directory, numbers, halves, odd, total)


def single(directory: Path, program: str, numbers: range) -> Workflow:
    made = Activity(
        program,
        Operator.MAP,
        command(directory, program),
        NUMBERS,
        relation(f"{program}_out", "N"),
    )
    return workflow(directory, numbers, made)


# --- runs ---------------------------------------------------------------------------------------


def test_a_whole_workflow_runs_to_its_right_result(tmp_path: Path) -> None:
    outcome = run(arithmetic(tmp_path, range(1, 6)), tmp_path / "run", patiently)
    assert outcome.state is RunState.FINISHED
    assert outcome.unread == 0
    # 1 → 0 1, 2 → 1 1, 3 → 1 2, 4 → 2 2, 5 → 2 3
    assert outcome.rows("odd_out") == [("1",), ("1",), ("1",), ("1",), ("3",)]
    assert outcome.rows("total_out") == [("7",)]
    assert set(outcome.causes()) == {Cause.FINISHED}
    assert_told_again(outcome)


def test_a_program_that_fails_is_tried_again_and_leaves_the_rest_alone(tmp_path: Path) -> None:
    outcome = run(single(tmp_path, "picky", range(1, 5)), tmp_path / "run", patiently)
    assert outcome.state is RunState.FAILED
    assert outcome.unread == 0
    failed = [
        fact
        for fact in outcome.facts
        if isinstance(fact, AttemptEnded) and fact.cause is Cause.EXIT_CODE
    ]
    assert [(fact.number, fact.stderr_tail) for fact in failed] == [
        (1, "three is too much"),
        (2, "three is too much"),
    ]
    assert failed[0].workspace != failed[1].workspace
    assert outcome.rows("picky_out") == [("1",)] * 3
    assert_told_again(outcome)


def test_a_run_that_is_asked_to_stop_ends_its_programs(tmp_path: Path) -> None:
    def stop(master: Master, execution: Execution) -> None:
        if execution.ledger.counts[ActivationState.RUNNING] == SLAVES:
            master.request_stop()

    outcome = run(single(tmp_path, "slow", range(1, 5)), tmp_path / "run", stop)
    assert outcome.state is RunState.STOPPED
    assert outcome.unread == 0
    assert outcome.causes() == [Cause.CANCELLED] * SLAVES
    over = [fact for fact in outcome.facts if isinstance(fact, ActivationMoved)]
    assert {fact.state for fact in over} == {ActivationState.READY}
    assert_told_again(outcome)


def test_a_run_without_work_sends_the_slaves_home(tmp_path: Path) -> None:
    outcome = run(arithmetic(tmp_path, range(0)), tmp_path / "run", patiently)
    assert outcome.state is RunState.FINISHED
    assert outcome.unread == 0
    (end,) = outcome.facts
    assert isinstance(end, RunEnded)
    assert outcome.told == {1: [Stop("local-1")], 2: [Stop("local-2")]}
    assert_told_again(outcome)
