"""Programs of one VM: queued for its slots, started without a shell, judged when they end."""

from __future__ import annotations

import contextlib
import math
import os
import select
import shlex
import signal
import time
from collections import deque
from collections.abc import Iterable

from scicore.algebra.template import arguments, substitute
from scicore.engine import limits, process, workspace
from scicore.engine.pool import Pool
from scicore.engine.process import Process
from scicore.engine.program import GRACE_S, Prepared, Program, cause_of, verdict
from scicore.engine.staging import Staged, stage
from scicore.engine.streams import Stream, Streams
from scicore.engine.wire import Welcome
from scicore.execution.messages import AttemptEnded, Start, Usage
from scicore.model.activation import Cause
from scicore.model.workflow import Activity

SAMPLE_S = 1.0  # how often the memory of process trees is looked at, and strays are
WATCH_S = 0.1  # the same for programs whose memory is limited


class Runner:
    """Runs what a slave is ordered to. Never raises for what a program does."""

    def __init__(self, welcome: Welcome, *, adopts_orphans: bool = False) -> None:
        self._welcome = welcome
        self._activities = {activity.tag: activity for activity in welcome.activities}
        self._warm = {activity.tag for activity in welcome.activities if activity.warm}
        self._directories = {
            "WFDIR": welcome.workflow_directory,
            "EXPDIR": welcome.experiment_directory,
            "RUNDIR": welcome.run_directory,
        }
        self._environment = process.program_environment()
        self._memory_bytes = process.memory_bytes()
        self._adopts_orphans = adopts_orphans  # this process is the parent of what daemons leave
        self._free = list(range(welcome.slots, 0, -1))  # slots; the lowest is taken first
        self._waiting: deque[Start] = deque()
        self._next: Prepared | None = None  # the first of those that wait, made ready
        self._spare_streams: list[Stream] = []
        self._spare_workspaces: list[str] = []  # in which nothing was left
        self.others: set[int] = set()  # children of this process that are none of ours
        self._programs: dict[int, Program] = {}  # by pidfd
        self._exited: list[Program] = []  # not reaped: children of theirs may be left
        self._poll = select.epoll()
        self._stillborn: list[AttemptEnded] = []  # could not even be started
        self._strays: dict[int, float] = {}  # orphans of ended attempts: when to be rougher
        self._look_at = 0.0  # monotonic; for memory and strays
        self._hold_at = math.inf  # monotonic; for limits of memory
        self._cores = limits.cores(welcome.slots)
        self._telling = {each.tag for each in welcome.activities if limits.is_told(each)}
        self._pool = Pool(welcome, self._directories, self._environment, mark(welcome))
        self._poll.register(self._pool.fileno(), select.EPOLLIN)

    def fileno(self) -> int:
        """Readable when a program has ended."""
        return self._poll.fileno()

    @property
    def busy(self) -> bool:
        cold = self._waiting or self._programs or self._exited or self._stillborn
        return bool(cold or self._pool.busy)

    @property
    def waiting(self) -> int:
        """Orders for which there was no slot yet."""
        return len(self._waiting)

    @property
    def granted(self) -> list[Start]:
        """Every attempt that has not ended."""
        running = (program.order for program in self._under_way())
        return [*running, *self._pool.granted, *self._waiting]

    # --- orders ------------------------------------------------------------------------------

    def start(self, *orders: Start) -> None:
        """As soon as there are slots for them; in the order of the orders."""
        self._waiting.extend(orders)
        self._start_waiting()
        self._make_ready()

    def cancel(self, activation: int, number: int) -> None:
        if self._pool.cancel(activation, number):
            return
        for program in self._programs.values():
            order = program.order
            if (order.activation, order.number) == (activation, number):
                program.ask_to_end(Cause.CANCELLED)
        for order in list(self._waiting):
            if (order.activation, order.number) == (activation, number):
                self._waiting.remove(order)
                if self._next is not None and self._next.order is order:
                    self._next.streams.conclude(reuse=True)
                    self._next = None
                now = time.time()
                self._stillborn.append(AttemptEnded(activation, number, Cause.CANCELLED, now, now))

    def wait(self, timeout_s: float) -> list[AttemptEnded]:
        """The attempts that ended, waiting for the first one no longer than the timeout."""
        timeout_s = 0 if self._stillborn else timeout_s
        for pidfd, _ in self._poll.poll(timeout_s):
            if pidfd == self._pool.fileno():
                continue
            self._poll.unregister(pidfd)
            self._exited.append(self._programs.pop(pidfd))
        now = time.monotonic()
        self._be_strict(now)
        ended, self._stillborn = self._stillborn, []
        exited, self._exited = self._exited, []
        orphans = self._orphans(exited) if exited and self._adopts_orphans else set()
        over = []
        for program in exited:
            if (
                program.kill_at is not None
                and now <= program.kill_at
                and process.groups(program.process.pid)
            ):
                self._exited.append(program)  # cancelled, and its children have their grace too
            elif (exit_code := self._reap(program)) is not None:
                over.append((program, exit_code))
                self._release(program.slots)
        if over:
            self._start_waiting()  # a slot need not wait for the judgement of what it ran
            ended.extend(self._judge(program, exit_code, orphans) for program, exit_code in over)
        if not self._pool.empty:
            news = self._pool.collect(now)
            ended.extend(news.ended)
            self._release(news.freed)
            self._waiting.extendleft(reversed(news.back))
        if now >= self._look_at:
            self._look_around(now)
        if now >= self._hold_at:
            self._hold_all(now)
        if orphans:
            self._end_strays(orphans, now)
        self._start_waiting()
        self._make_ready()
        return ended

    def patience_s(self) -> float:
        """How long `wait` may be put off: until the next deadline of a program."""
        now = time.monotonic()
        if self._exited or self._stillborn:
            return 0.05
        moments = [self._look_at, self._hold_at] if self._programs or self._strays else []
        for program in self._programs.values():
            moments += [at for at in (program.timeout_at, program.kill_at) if at is not None]
        own_s = max(0.0, min(moments, default=now + 60.0) - now)
        return min(own_s, self._pool.patience_s(now))

    def kill_all(self) -> None:
        """Nothing that was started may stay."""
        self._waiting.clear()
        self._next = None
        for program in self._under_way():
            program.process.signal(signal.SIGKILL)
        self._pool.kill_all()
        if self._adopts_orphans:
            for pid in self._orphans():
                _kill(pid, signal.SIGKILL)

    def _under_way(self) -> list[Program]:
        return [*self._programs.values(), *self._exited]

    # --- starting ------------------------------------------------------------------------------

    def _start_waiting(self) -> None:
        """In turn, as far as there are slots."""
        while self._waiting:
            if self._waiting[0].activity in self._warm:
                if not self._give_to_worker():
                    break
                continue
            if len(self._free) < self._cpus(self._waiting[0]):
                break
            order = self._waiting.popleft()
            slots = tuple([self._free.pop() for _ in range(self._cpus(order))])
            if not self._start(order, slots):
                self._free.extend(slots)

    def _make_ready(self) -> None:
        """What comes next, while the others run."""
        if self._waiting and self._next is None:
            order = self._waiting[0]
            activity = self._activities[order.activity]
            # Nothing that would have to be undone.
            if not (activity.staging or activity.template or activity.tag in self._warm):
                with contextlib.suppress(OSError, ValueError):  # it will fail again in its turn
                    self._next = self._prepare(order)

    def _give_to_worker(self) -> bool:
        """The first that wait, and those behind them that the same worker can do: to a worker on
        free slots, else to one that will soon have nothing to do."""
        first = self._waiting[0]
        cpus = self._cpus(first)
        if len(self._free) >= cpus:
            even = -(-len(self._waiting) // (len(self._free) // cpus))
            orders = self._take_alike(first, min(self._pool.share(first.activity), even))
            self._pool.lease(orders, tuple([self._free.pop() for _ in range(cpus)]))
            return True
        room = self._pool.room(first.activity)
        if room:
            self._pool.feed(self._take_alike(first, room))
        return room > 0

    def _take_alike(self, first: Start, most: int) -> list[Start]:
        orders: list[Start] = []
        while self._waiting and len(orders) < most:
            order = self._waiting[0]
            if order.activity != first.activity or order.cpus != first.cpus:
                break
            orders.append(self._waiting.popleft())
        return orders

    def _release(self, slots: Iterable[int]) -> None:
        self._free.extend(slots)
        self._free.sort(reverse=True)

    def _cpus(self, order: Start) -> int:
        return min(order.cpus, self._welcome.slots)

    def _prepare(self, order: Start) -> Prepared:
        began_at = time.time()
        activity = self._activities[order.activity]
        directory = f"{self._welcome.run_directory}/{order.workspace}"
        workspace.make(directory, self._spare_workspaces)
        told = self._told(order)
        staged = stage(directory, activity, order.rows, self._directories, told)
        words = arguments(activity.command, self._values(activity, staged, told))
        streams = Streams(directory, self._spare_streams)
        return Prepared(order, directory, staged, words, streams, time.time() - began_at)

    def _start(self, order: Start, slots: tuple[int, ...]) -> bool:
        activity = self._activities[order.activity]
        ready, self._next = self._next, None
        started_at = time.time()
        starting = False
        try:
            if ready is None or ready.order is not order:
                ready = self._prepare(order)
            starting = True
            begun = self._spawn(ready.words, ready.directory, order, ready.staged, ready.streams)
        except (OSError, ValueError) as error:  # no such program, no permission, bad data
            if ready is not None:
                ready.streams.conclude(reuse=True)
            self._stillborn.append(
                AttemptEnded(
                    activation=order.activation,
                    number=order.number,
                    cause=cause_of(error, starting=starting),
                    started_at=started_at,
                    ended_at=time.time(),
                    command=shlex.join(ready.words) if ready is not None else activity.command,
                    workspace=f"{self._welcome.run_directory}/{order.workspace}",
                    stderr_tail=f"scicumulus: the program could not be started: {error}",
                )
            )
            return False
        timeout_s = activity.timeout_s
        self._watch(
            Program(
                order=order,
                activity=activity,
                directory=ready.directory,
                started_at=started_at,
                process=begun,
                command=shlex.join(ready.words),
                staged=ready.staged,
                streams=ready.streams,
                slots=slots,
                timeout_at=time.monotonic() + timeout_s if timeout_s else None,
                usage=Usage(stage_s=ready.stage_s),
            )
        )
        return True

    def _mark(self, order: Start) -> str:
        return f"{mark(self._welcome)}{order.activation}.{order.number}"

    def _told(self, order: Start) -> dict[str, str]:
        """What the program gets, where its texts ask for it."""
        if order.activity not in self._telling:
            return {}
        activity = self._activities[order.activity]
        return limits.told(order, activity)

    def _values(self, activity: Activity, staged: Staged, told: dict[str, str]) -> dict[str, str]:
        """What the tags of the activity's texts stand for; its fields come before what it gets."""
        return {**told, **activity.input.as_mapping(staged.seen[0]), **self._directories}

    def _spawn(
        self,
        words: tuple[str, ...],
        directory: str,
        order: Start,
        staged: Staged,
        streams: Streams,
    ) -> Process:
        activity = self._activities[order.activity]
        variables = [(process.ATTEMPT, self._mark(order))]
        if order.sized:
            variables += limits.variables(order)
        if activity.environment:
            values = self._values(activity, staged, self._told(order))
            variables += [(name, substitute(text, values)) for name, text in activity.environment]
        environment = process.with_variables(self._environment, *variables)
        return process.spawn(words, directory, environment, streams)

    def _watch(self, program: Program) -> None:
        if program.order.sized:
            limits.pin(program.process.pid, program.slots, self._cores)
            self._hold_at = min(self._hold_at, time.monotonic() + WATCH_S)
        self._programs[program.process.pidfd] = program
        self._poll.register(program.process.pidfd, select.EPOLLIN)

    # --- while they run ------------------------------------------------------------------------

    def _be_strict(self, now: float) -> None:
        for program in self._programs.values():
            if program.timeout_at is not None and now > program.timeout_at:
                program.ask_to_end(Cause.TIMEOUT)
        for program in self._under_way():
            if program.kill_at is not None and now > program.kill_at:
                program.process.signal(signal.SIGKILL)

    def _look_around(self, now: float) -> None:
        if now >= self._look_at:
            self._look_at = now + SAMPLE_S
            if self._programs:
                memory = process.memory_of_sessions()
                for program in self._programs.values():
                    seen = memory.get(program.process.pid, 0)
                    program.tree_bytes = max(program.tree_bytes, seen)
                    program.streams.publish()
                    if program.order.memory_mb:
                        self._hold(program, seen)
        if self._adopts_orphans:
            self._end_strays(self._orphans(), now)

    def _hold_all(self, now: float) -> None:
        """Between two looks at all processes, those that have limits, and their descendants."""
        limited = [program for program in self._programs.values() if program.order.memory_mb]
        self._hold_at = now + WATCH_S if limited else math.inf
        for program in limited:
            self._hold(program, process.memory_of_tree(program.process.pid))

    def _hold(self, program: Program, resident_bytes: int) -> None:
        """To its memory: what takes more is killed at once, before others suffer from it."""
        limit_bytes = program.order.memory_mb * 2**20
        if resident_bytes <= limit_bytes or program.ended_by_us is not None:
            return
        used_bytes = process.own_memory(program.process.pid) or resident_bytes
        if used_bytes > limit_bytes:
            program.tree_bytes = max(program.tree_bytes, used_bytes)
            program.ended_by_us = Cause.OUT_OF_MEMORY
            program.kill_at = time.monotonic()
            program.process.signal(signal.SIGKILL)

    def _orphans(self, exited: Iterable[Program] = ()) -> set[int]:
        """Children of this process that it did not start: their parents have ended."""
        started = {program.process.pid for program in (*self._under_way(), *exited)}
        return process.children() - started - self._pool.pids - self.others

    def _end_strays(self, orphans: set[int], now: float) -> None:
        """A daemon that outlives its attempt is ended; one of a running attempt is let be."""
        if not orphans:
            self._strays.clear()
            return
        running = {self._mark(program.order) for program in self._under_way()} | self._pool.marks
        for pid in orphans:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG)[0]:
                    self._strays.pop(pid, None)
                    continue
            if process.attempt_of(pid) in running:
                continue
            if pid not in self._strays:
                self._strays[pid] = now + GRACE_S
                _kill(pid, signal.SIGTERM)
            elif now > self._strays[pid]:
                _kill(pid, signal.SIGKILL)
        self._look_at = min(self._look_at, now + SAMPLE_S)

    # --- the end -------------------------------------------------------------------------------

    def _reap(self, program: Program) -> int | None:
        """Its exit code; None: its extractor goes on."""
        exit_code = program.reap()
        extractor = program.activity.extractor
        if exit_code or not extractor or program.extracting or program.ended_by_us:
            return exit_code
        program.extracting = True
        try:
            told = self._told(program.order)
            words = arguments(extractor, self._values(program.activity, program.staged, told))
            program.process = self._spawn(
                words, program.directory, program.order, program.staged, program.streams
            )
        except (OSError, ValueError) as error:
            program.unstartable = error
            return 0
        self._watch(program)
        return None

    def _judge(self, program: Program, exit_code: int, orphans: set[int]) -> AttemptEnded:
        reuse = self._adopts_orphans and not orphans  # nobody is left who could write there
        program.streams.conclude(reuse=reuse)
        ended = verdict(program, exit_code, self._directories, self._memory_bytes)
        with contextlib.suppress(OSError):
            program.staged.clean(finished=ended.cause is Cause.FINISHED)
        if reuse and ended.cause is Cause.FINISHED and workspace.is_untouched(program.directory):
            self._spare_workspaces.append(program.directory)
        return ended


def mark(welcome: Welcome) -> str:
    """With what the marks of all attempts of a VM in a run begin."""
    return f"{welcome.run_directory} {welcome.vm} "


def _kill(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
