"""The master: rank 0. It translates between the line and the core, and decides nothing."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from msgspec.structs import replace

from scicore.engine.wire import (
    Hello,
    Joined,
    MasterEnd,
    Notice,
    Orders,
    Request,
    ToMaster,
    Welcome,
)
from scicore.errors import LaunchError
from scicore.execution.allotment import Allotment
from scicore.execution.core import Execution, Output
from scicore.execution.dispatch import MASTER
from scicore.execution.messages import (
    AttemptEnded,
    Cancel,
    Claim,
    Event,
    Fact,
    Instruction,
    RunResumed,
    RunStarted,
    Start,
    Steered,
    Stop,
    StopRequested,
    Tick,
    VmJoined,
    VmLost,
    VmNoticed,
    WorkRequested,
)
from scicore.model.activation import Dispatch, RunState
from scicore.model.cloud import Fleet
from scicore.model.plan import Plan
from scicore.model.workflow import Workflow

LEASE_S = 30.0  # a slave that is silent for longer counts as dead
KEEP_S = 300.0  # how long programs go on when their slave is gone
TRUSTED_S = 0.02  # clocks that differ by less are taken to be the same
TICK_S = 1.0  # how often the core is told that time passes
_INSTRUCTIONS = (Start, Cancel, Stop)
TELL_S = 1.0  # how often slaves are told what is durable, when there is nothing else to tell


class SilentSlave(Exception):
    """A slave has not been heard for so long that it counts as dead: the job must start anew."""


class Recorder(Protocol):
    """Where facts go. `record` never waits; it raises if recording has become impossible."""

    def record(self, facts: Iterable[Fact]) -> None: ...

    def flush(self) -> None:
        """Wait until all facts so far are written."""

    @property
    def queued(self) -> int:
        """Facts handed over so far."""

    @property
    def written(self) -> int:
        """Of these, how many will survive anything."""


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
    dispatch: Dispatch = Dispatch.ADAPTIVE
    books: RunResumed | None = None  # the run is taken up again
    launch: int = 1  # jobs that the run has had, this one included
    lease_s: float = LEASE_S
    keep_s: float = KEEP_S
    vms: tuple[str, ...] = ()  # of ranks 1, 2, …; none given: the fleet's, in its order
    allotment: Allotment | None = None  # attempts are sized
    porter: tuple[str, ...] = ()  # the command that carries files on each VM
    notices: str = ""  # the metadata service that tells a VM that it is taken back
    one_host: bool = False  # all of its VMs are on one


@dataclass(slots=True)
class _Slave:
    """What the master knows of one rank."""

    vm: str
    host: str = ""
    heard_at: float = 0.0  # monotonic; 0 = never
    welcomed_at: float = 0.0
    ahead_s: float = 0.0  # its clock minus the master's
    leaving: bool = False  # it was told to stop
    durable: int = 0  # its results that are in the database, as it was told
    pending: deque[tuple[int, int]] = field(default_factory=deque)
    """(facts queued, result): when so many facts are written, its results up to this one are."""


class Master:
    def __init__(
        self,
        run: Run,
        line: MasterEnd,
        recorder: Recorder,
        office: Office,
        log: Callable[[Event], None] = lambda event: None,
    ) -> None:
        self._run = run
        self._line = line
        self._recorder = recorder
        self._office = office
        self._log = log
        self._execution = Execution(
            run.workflow, run.plan, run.dispatch, ahead=True, allotment=run.allotment
        )
        vms = run.vms or tuple(vm.id for vm in run.plan.fleet.vms)
        self._slaves = {rank: _Slave(vm) for rank, vm in enumerate(vms, start=1)}
        self._ranks = {slave.vm: rank for rank, slave in self._slaves.items()}
        self._slots = {vm.id: vm.type.slots for vm in run.plan.fleet.vms}
        self._tell_at = 0.0  # monotonic
        self._stop_requested = False

    def request_stop(self) -> None:
        """May be called from a signal handler: it only leaves a mark."""
        self._stop_requested = True

    def run(self, tick: Callable[[Execution], None] = lambda execution: None) -> RunState:
        """Drive the run to its end; `tick` is called about every poll, to show progress."""
        hellos = list(iter(self._line.receive, None))  # all of them before the first is answered
        for rank, hello in hellos:
            self._hear(rank, hello)  # VMs get ready while the run begins
        self._feed(self._run.books or RunStarted(time.time()))
        for vm in self._slots:
            if vm not in self._ranks:  # its host does not answer
                self._feed(VmLost(time.time(), vm))
        tick_at = time.monotonic() + TICK_S
        while not all(slave.leaving for slave in self._slaves.values()):
            if self._stop_requested:
                self._stop_requested = False
                self._feed(StopRequested(time.time()))
            if time.monotonic() > tick_at:
                tick_at = time.monotonic() + TICK_S
                self._feed(Tick(time.time()))
            arrived = self._line.receive()
            if arrived is None:
                for news in self._office.news():
                    # A query's result is in no VM's journal: it must be durable before anything
                    # is done with it.
                    self._feed(_as_event(news), durably=isinstance(news, AttemptEnded))
                self._recorder.record(())  # raises if the recorder has died meanwhile
                tick(self._execution)
                self._look_after_slaves(time.monotonic())
                self._line.wait()
            else:
                self._hear(*arrived)
        self._line.close()
        return self._execution.state

    def _hear(self, rank: int, message: ToMaster) -> None:
        slave = self._slaves[rank]
        slave.heard_at = time.monotonic()
        now = time.time()
        match message:
            case Hello(host=host):
                slave.host = host
                if self._execution.ended:
                    self._feed(VmJoined(now, slave.vm, host))
                else:
                    self._welcome(rank)
            case Joined(received_at=received_at, sent_at=sent_at, claims=claims, last=last):
                slave.ahead_s = ahead_s(slave.welcomed_at, received_at, sent_at, now)
                self._feed(VmJoined(now, slave.vm, slave.host, self._claims(slave, claims)))
                slave.pending.append((self._recorder.queued, last))
            case Request(ended=ended, last=last) if ended:
                attempts = tuple(self._on_our_clock(slave, attempt) for attempt in ended)
                self._feed(WorkRequested(now, slave.vm, attempts))
                slave.pending.append((self._recorder.queued, last))
            case Notice(told=told) if not slave.leaving:
                self._feed(VmNoticed(now, slave.vm, told))
                self._line.send(rank, Orders((), self._durable(slave)))  # as to any other pulse
            case Request() if not slave.leaving:  # it lives, and wants to know whether we do
                self._line.send(rank, Orders((), self._durable(slave)))

    def _welcome(self, rank: int) -> None:
        workflow = self._run.workflow
        slave = self._slaves[rank]
        neighbours = [self._slots[each.vm] for each in self._slaves.values() if self._run.one_host]
        slave.welcomed_at = time.time()
        self._line.send(
            rank,
            Welcome(
                vm=slave.vm,
                run_directory=self._run.directory,
                workflow_directory=workflow.directory,
                experiment_directory=workflow.experiment_directory,
                activities=workflow.activities,
                slots=self._slots[slave.vm],
                launch=self._run.launch,
                keep_s=self._run.keep_s,
                porter=self._run.porter,
                notices=self._run.notices,
                host_slots=sum(neighbours),
                slots_before=sum(neighbours[: rank - 1]),
            ),
        )

    def _claims(self, slave: _Slave, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
        return tuple(
            replace(claim, ended=self._on_our_clock(slave, claim.ended)) if claim.ended else claim
            for claim in claims
        )

    def _on_our_clock(self, slave: _Slave, attempt: AttemptEnded) -> AttemptEnded:
        if not slave.ahead_s:
            return attempt
        return replace(
            attempt,
            started_at=attempt.started_at - slave.ahead_s,
            ended_at=attempt.ended_at - slave.ahead_s,
        )

    def _look_after_slaves(self, now: float) -> None:
        if now < self._tell_at:
            return
        self._tell_at = now + TELL_S
        for rank, slave in self._slaves.items():
            if slave.leaving:
                continue
            if slave.heard_at and now - slave.heard_at > self._run.lease_s:
                raise SilentSlave(f"VM {slave.vm} (rank {rank}) has been silent for too long")
            before = slave.durable
            if self._durable(slave) > before:
                self._line.send(rank, Orders((), slave.durable))

    def _durable(self, slave: _Slave) -> int:
        """How many of its results the slave may forget."""
        written = self._recorder.written
        while slave.pending and slave.pending[0][0] <= written:
            slave.durable = max(slave.durable, slave.pending.popleft()[1])
        return slave.durable

    def _feed(self, event: Event, *, durably: bool = False) -> None:
        self._log(event)
        self._carry_out(self._execution.handle(event), durably)

    def _carry_out(self, outputs: list[Output], durably: bool) -> None:
        facts: list[Fact] = []
        orders: dict[int, list[Instruction]] = {}
        queries: list[Start | Cancel] = []
        for output in outputs:
            if not isinstance(output, _INSTRUCTIONS):
                facts.append(output)
            elif output.vm != MASTER or isinstance(output, Stop):
                orders.setdefault(self._ranks[output.vm], []).append(output)
            else:
                queries.append(output)
        self._recorder.record(facts)  # before a query, which reads what is recorded
        if durably:
            self._recorder.flush()
        for query in queries:
            if isinstance(query, Start):
                self._office.start(query)
            else:
                self._office.cancel(query.activation)
        for rank, instructions in orders.items():
            slave = self._slaves[rank]
            self._line.send(rank, Orders(tuple(instructions), self._durable(slave)))
            slave.leaving = isinstance(instructions[-1], Stop)


def ahead_s(asked_at: float, received_at: float, sent_at: float, heard_at: float) -> float:
    """How much a slave's clock is ahead of ours: it received and sent, we asked and heard.

    As NTP does it, the way there and the way back are taken to be equally long. That is wrong by
    half of both at most (we may have been busy when the answer came): what lies within that, and
    a little more, is no difference.
    """
    ahead = ((received_at - asked_at) + (sent_at - heard_at)) / 2
    doubt = max(0.0, (heard_at - asked_at) - (sent_at - received_at)) / 2
    return ahead if abs(ahead) > TRUSTED_S + doubt else 0.0


def require_ranks(line: MasterEnd, fleet: Fleet, vms: tuple[str, ...] = ()) -> None:
    """One slave for each VM, or for each of those that have a host: before a run is touched."""
    expected = len(vms or fleet.vms)
    if line.slaves != expected:
        raise LaunchError(
            f"the plan's fleet {fleet.text} has {expected} VMs, "
            f"but {line.slaves} slave ranks were started",
            f"start it with mpirun -n {expected + 1} (one master and one slave per VM)",
        )


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
            line.wait()
        else:
            line.send(arrived[0], Orders((Stop(vm=""),)))
            dismissed += 1
    line.close()
