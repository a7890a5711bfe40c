"""The master: rank 0. It translates between the line and the core, and decides nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from scicore.engine.wire import Crash, Hello, MasterEnd, Orders, Request, ToMaster, Welcome
from scicore.errors import LaunchError, ScicumulusError
from scicore.execution.core import Execution, Output
from scicore.execution.dispatch import MASTER
from scicore.execution.messages import (
    AttemptEnded,
    Cancel,
    Event,
    Fact,
    Instruction,
    RunStarted,
    Start,
    Steered,
    Stop,
    StopRequested,
    VmJoined,
    WorkRequested,
)
from scicore.model.activation import RunState
from scicore.model.plan import Plan
from scicore.model.workflow import Workflow

POLL_S = (0.0002, 0.005)  # sleep between two looks at the line: at first, at most


class Recorder(Protocol):
    """Where facts go. `record` never waits; it raises if recording has become impossible."""

    def record(self, facts: Iterable[Fact]) -> None: ...


class Office(Protocol):
    """What the master does in the database besides recording; nothing here waits."""

    def start(self, order: Start) -> None:
        """Run a query."""

    def cancel(self, activation: int) -> None:
        """End a query before its time."""

    def news(self) -> Iterable[AttemptEnded | Steered]:
        """Queries that ended, and what the user wants."""


@dataclass(frozen=True, slots=True)
class Run:
    """What the master is asked to do."""

    workflow: Workflow
    plan: Plan
    directory: str  # absolute; workspaces are made below it


class Master:
    def __init__(
        self,
        run: Run,
        line: MasterEnd,
        recorder: Recorder,
        office: Office,
        log: Callable[[Event], None] = lambda event: None,
    ) -> None:
        if line.slaves != len(run.plan.fleet.vms):
            raise LaunchError(
                f"the plan's fleet {run.plan.fleet.text} has {len(run.plan.fleet.vms)} VMs, "
                f"but {line.slaves} slave ranks were started",
                f"start it with mpirun -n {len(run.plan.fleet.vms) + 1} "
                "(one master and one slave per VM)",
            )
        self._run = run
        self._line = line
        self._recorder = recorder
        self._office = office
        self._log = log
        self._execution = Execution(run.workflow, run.plan)
        self._vms = {rank: vm.id for rank, vm in enumerate(run.plan.fleet.vms, start=1)}
        self._ranks = {vm: rank for rank, vm in self._vms.items()}
        self._leaving: set[int] = set()  # ranks that were told to stop
        self._stop_requested = False

    def request_stop(self) -> None:
        """May be called from a signal handler: it only leaves a mark."""
        self._stop_requested = True

    def run(self, tick: Callable[[Execution], None] = lambda execution: None) -> RunState:
        """Drive the run to its end; `tick` is called about every poll, to show progress."""
        self._feed(RunStarted(time.time()))
        pause_s = POLL_S[0]
        while len(self._leaving) < self._line.slaves:
            if self._stop_requested:
                self._stop_requested = False
                self._feed(StopRequested(time.time()))
            for news in self._office.news():
                self._feed(_as_event(news))
            arrived = self._line.receive()
            if arrived is None:
                self._recorder.record(())  # raises if the recorder has died meanwhile
                tick(self._execution)
                time.sleep(pause_s)
                pause_s = min(pause_s * 1.5, POLL_S[1])
                continue
            pause_s = POLL_S[0]
            self._hear(*arrived)
        self._line.close()
        return self._execution.state

    def _hear(self, rank: int, message: ToMaster) -> None:
        vm = self._vms[rank]
        match message:
            case Hello(host=host):
                if not self._execution.ended:
                    self._welcome(rank)
                self._feed(VmJoined(time.time(), vm, host))
            case Request(ended=ended):
                self._feed(WorkRequested(time.time(), vm, ended))
            case Crash(traceback=traceback):
                raise ScicumulusError(f"the slave of VM {vm} (rank {rank}) failed:\n{traceback}")

    def _welcome(self, rank: int) -> None:
        workflow = self._run.workflow
        self._line.send(
            rank,
            Welcome(
                vm=self._vms[rank],
                run_directory=self._run.directory,
                workflow_directory=workflow.directory,
                experiment_directory=workflow.experiment_directory,
                activities=workflow.activities,
            ),
        )

    def _feed(self, event: Event) -> None:
        self._log(event)
        self._carry_out(self._execution.handle(event))

    def _carry_out(self, outputs: list[Output]) -> None:
        facts: list[Fact] = []
        orders: dict[int, list[Instruction]] = {}
        queries: list[Start | Cancel] = []
        for output in outputs:
            if isinstance(output, Start | Cancel) and output.vm == MASTER:
                queries.append(output)
            elif isinstance(output, Start | Cancel | Stop):
                orders.setdefault(self._ranks[output.vm], []).append(output)
            else:
                facts.append(output)
        self._recorder.record(facts)  # before a query, which reads what is recorded
        for query in queries:
            if isinstance(query, Start):
                self._office.start(query)
            else:
                self._office.cancel(query.activation)
        for rank, instructions in orders.items():
            self._line.send(rank, Orders(tuple(instructions)))
            if isinstance(instructions[-1], Stop):
                self._leaving.add(rank)


def _as_event(news: AttemptEnded | Steered) -> Event:
    if isinstance(news, Steered):
        return news
    return WorkRequested(time.time(), MASTER, (news,))


def dismiss(line: MasterEnd) -> None:
    """Send every slave home as it reports: there is nothing to run."""
    dismissed = 0
    while dismissed < line.slaves:
        arrived = line.receive()
        if arrived is None:
            time.sleep(POLL_S[1])
        else:
            line.send(arrived[0], Orders((Stop(vm=""),)))
            dismissed += 1
    line.close()
