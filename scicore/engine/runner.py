"""Programs of one VM: queued for its slots, started without a shell, judged when they end."""

from __future__ import annotations

import math
import select
import signal
import time
from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import islice

from scicore.engine import limits, process
from scicore.engine.memory import Memory
from scicore.engine.pool import Pool
from scicore.engine.process import Call, Process
from scicore.engine.program import Prepared, Program, cause_of, command_of, verdict
from scicore.engine.strays import Strays, kill
from scicore.engine.wire import Welcome
from scicore.engine.workbench import Workbench, mark
from scicore.execution.messages import AttemptEnded, Start
from scicore.model.activation import Cause

SAMPLE_S = 1.0  # how often the memory of process trees is looked at, and strays are
LONG_S = 0.5  # a program that runs for so long may be looked at: what it says gets a name
LINGER_S = 0.05  # how often it is looked whether the children of what was cancelled are gone
TOGETHER = 8  # programs are judged, and made ready, at once, while there is more to start …
LEISURE_S = 0.02  # … and at most so long after the first of them has ended
_ONCE = select.EPOLLIN | select.EPOLLONESHOT  # a program exits once; closing it takes it off


class Runner:
    """Runs what a slave is ordered to. Never raises for what a program does."""

    def __init__(self, welcome: Welcome, *, adopts_orphans: bool = False) -> None:
        self._welcome = welcome
        self._bench = Workbench(welcome)
        self._warm = {activity.tag for activity in welcome.activities if activity.warm}
        self._memory_bytes = process.memory_bytes()
        self._adopts_orphans = adopts_orphans  # this process is the parent of what daemons leave
        self._free = list(range(1, welcome.slots + 1))  # a heap: the lowest slot is taken first
        self._waiting: deque[Start] = deque()
        self.others: set[int] = set()  # children of this process that are none of ours
        self._programs: dict[int, Program] = {}  # by pidfd
        self._exited: list[Program] = []  # not reaped: children of theirs may be left
        self._poll = select.epoll()
        self._stillborn: list[AttemptEnded] = []  # could not even be started
        self._strays = Strays()
        self._memory = Memory()
        self._look_at = 0.0  # monotonic; for memory and strays
        self._settle_at = 0.0  # monotonic; when those that have exited are to be judged
        self._alarm_at = 0.0  # monotonic; when something else is to be done
        self._cores = limits.cores(welcome.slots)
        bench = self._bench
        self._pool = Pool(welcome, bench.directories, bench.environment, mark(welcome))
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
        self._alarm_at = 0.0
        for program in self._programs.values():
            order = program.order
            if (order.activation, order.number) == (activation, number):
                program.ask_to_end(Cause.CANCELLED)
        for order in list(self._waiting):
            if (order.activation, order.number) == (activation, number):
                self._waiting.remove(order)
                self._bench.take_back(activation, number)
                now = time.time()
                self._stillborn.append(AttemptEnded(activation, number, Cause.CANCELLED, now, now))

    def wait(self, timeout_s: float) -> list[AttemptEnded]:
        """The attempts that ended, waiting for the first one no longer than the timeout. Some of
        them may be told a little later, when there is leisure; while brief programs exit one after
        the other, this is where they are waited for."""
        exits = self._poll.poll(0 if self._stillborn else timeout_s)
        now = time.monotonic()
        while True:
            for pidfd, _ in exits:
                if pidfd != self._pool.fileno():
                    self._exit(pidfd, now)
            if exits:
                self._start_waiting()  # a slot need not wait for the judgement of what it ran
            if not self._is_due(now):
                return []
            if not self._at_leisure(now):
                return self._settle(now)
            # Brief ones: the next will exit sooner than anybody has a word for us.
            exits = self._poll.poll(max(0.0, min(self._settle_at, self._alarm_at) - now))
            now = time.monotonic()

    def _exit(self, pidfd: int, now: float) -> None:
        program = self._programs.pop(pidfd)
        program.ended_at = time.time()
        if not self._exited:
            self._settle_at = now + LEISURE_S
        self._exited.append(program)
        if program.lingers:
            self._settle_at = now
        else:
            self._vacate(program)

    def _is_due(self, now: float) -> bool:
        """There is something to settle, now or soon."""
        news = self._exited or self._stillborn or not self._pool.empty
        return bool(news) or now >= self._alarm_at

    def _at_leisure(self, now: float) -> bool:
        """Programs have exited, and there is enough to do without what they bring."""
        return (
            len(self._waiting) >= self._welcome.slots
            and len(self._exited) < min(TOGETHER, len(self._waiting))
            and now < min(self._alarm_at, self._settle_at)
            and not self._stillborn
            and self._pool.empty
        )

    def _settle(self, now: float) -> list[AttemptEnded]:
        """Everything that is due."""
        self._be_strict(now)
        ended, self._stillborn = self._stillborn, []
        exited, self._exited = self._exited, []
        orphans = self._orphans(exited) if exited and self._adopts_orphans else set()
        over = []
        io = process.own_io()
        for program in exited:
            if program.kill_at is not None and now <= program.kill_at:
                left = process.groups(program.process.pid)
                io = process.own_io()  # to look is to read
                if left:
                    self._exited.append(program)  # cancelled, and its children have their grace too
                    self._settle_at = now + LINGER_S
                    continue
            exit_code, io = program.reap(io)
            if not self._goes_on(program, exit_code):
                over.append((program, exit_code))
                self._vacate(program)
        if over:
            self._start_waiting()
            ended.extend(self._judge(program, exit_code, orphans) for program, exit_code in over)
        if not self._pool.empty:
            news = self._pool.collect(now)
            ended.extend(news.ended)
            self._release(news.freed)
            self._waiting.extendleft(reversed(news.back))
        if now >= self._look_at:
            self._look_around(now)
        if now >= self._memory.look_at:
            self._memory.hold(self._programs.values(), now)
        if orphans:
            self._end_strays(orphans, now)
        self._start_waiting()
        self._make_ready()
        self._alarm_at = self._next_alarm()
        return ended

    def _next_alarm(self) -> float:
        """When anything but an exit is to be looked after; monotonic."""
        moments = [self._look_at, self._memory.look_at] if self._programs or self._strays else []
        for program in self._under_way():
            moments += [at for at in (program.timeout_at, program.kill_at) if at is not None]
        return min(moments, default=math.inf)

    def patience_s(self) -> float:
        """How long `wait` may be put off: until the next deadline of a program."""
        if self._stillborn:
            return 0.0
        now = time.monotonic()
        due = min(self._alarm_at, self._settle_at if self._exited else math.inf, now + 60.0)
        return min(max(0.0, due - now), self._pool.patience_s(now))

    def kill_all(self) -> None:
        """Nothing that was started may stay."""
        self._waiting.clear()
        self._bench.clear()
        for program in self._under_way():
            program.process.signal(signal.SIGKILL)
        self._pool.kill_all()
        if self._adopts_orphans:
            for pid in self._orphans():
                kill(pid, signal.SIGKILL)

    def _under_way(self) -> list[Program]:
        return [*self._programs.values(), *self._exited]

    # --- starting ------------------------------------------------------------------------------

    def _start_waiting(self) -> None:
        """In turn, as far as there are slots."""
        waiting, free = self._waiting, self._free
        while waiting:
            order = waiting[0]
            if order.activity in self._warm:
                if not self._give_to_worker():
                    break
                continue
            cpus = self._cpus(order)
            if len(free) < cpus:
                break
            waiting.popleft()
            slots = tuple([heappop(free) for _ in range(cpus)])
            if not self._start(order, slots):
                self._release(slots)

    def _make_ready(self) -> None:
        self._bench.make_ready(islice(self._waiting, TOGETHER))

    def _give_to_worker(self) -> bool:
        """The first that wait, and those behind them that the same worker can do: to a worker on
        free slots, else to one that will soon have nothing to do."""
        first = self._waiting[0]
        cpus = self._cpus(first)
        if len(self._free) >= cpus:
            even = -(-len(self._waiting) // (len(self._free) // cpus))
            orders = self._take_alike(first, min(self._pool.share(first.activity), even))
            self._pool.lease(orders, tuple([heappop(self._free) for _ in range(cpus)]))
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

    def _vacate(self, program: Program) -> None:
        if not program.vacated:
            program.vacated = True
            self._release(program.slots)

    def _release(self, slots: Iterable[int]) -> None:
        for slot in slots:
            heappush(self._free, slot)

    def _cpus(self, order: Start) -> int:
        return min(order.cpus, self._welcome.slots)

    def _start(self, order: Start, slots: tuple[int, ...]) -> bool:
        ready: Prepared | None = None
        started_at = time.time()
        starting = False
        try:
            ready = self._bench.ready(order)
            starting = True
            begun = self._spawn(ready.call, order.sized, slots)
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
                    command=self._command(order) if ready is None else command_of(ready.call.words),
                    workspace=self._bench.place(order),
                    stderr_tail=f"scicumulus: the program could not be started: {error}",
                )
            )
            return False
        activity = self._bench.activities[order.activity]
        timeout_s = activity.timeout_s
        timeout_at = time.monotonic() + timeout_s if timeout_s else None
        self._watch(Program(order, ready, activity, started_at, begun, slots, timeout_at))
        return True

    def _spawn(self, called: Call, sized: bool, slots: tuple[int, ...]) -> Process:
        if not (sized and self._cores):
            return process.spawn(called)
        with limits.pinned(slots, self._cores):
            return process.spawn(called)

    def _command(self, order: Start) -> str:
        return self._bench.activities[order.activity].command

    def _watch(self, program: Program) -> None:
        if program.order.sized:
            self._memory.limit(time.monotonic())
        due = program.timeout_at or math.inf
        self._alarm_at = min(self._alarm_at, self._look_at, self._memory.look_at, due)
        pidfd = program.process.pidfd
        self._programs[pidfd] = program
        self._poll.register(pidfd, _ONCE)

    # --- while they run ------------------------------------------------------------------------

    def _be_strict(self, now: float) -> None:
        for program in self._programs.values():
            if program.timeout_at is not None and now > program.timeout_at:
                program.ask_to_end(Cause.TIMEOUT)
        for program in self._under_way():
            if program.kill_at is not None and now > program.kill_at:
                program.process.signal(signal.SIGKILL)

    def _look_around(self, now: float) -> None:
        self._look_at = now + SAMPLE_S
        if self._programs:
            self._memory.measure(self._programs.values())
            long_ago = time.time() - LONG_S
            for program in self._programs.values():
                if program.started_at < long_ago:
                    program.ready.streams.publish()
        if self._adopts_orphans:
            self._end_strays(self._orphans(), now)

    def _orphans(self, exited: Iterable[Program] = ()) -> set[int]:
        """Children of this process that it did not start: their parents have ended."""
        started = {program.process.pid for program in (*self._under_way(), *exited)}
        return process.children() - started - self._pool.pids - self.others

    def _end_strays(self, orphans: set[int], now: float) -> None:
        running = {
            self._bench.mark(program.order) for program in self._under_way()
        } | self._pool.marks
        self._strays.end(orphans, running, now)

    # --- the end -------------------------------------------------------------------------------

    def _goes_on(self, program: Program, exit_code: int) -> bool:
        """With its extractor."""
        extractor = program.activity.extractor
        if exit_code or not extractor or program.extracting or program.ended_by_us:
            return False
        program.extracting = True
        try:
            called = self._bench.extractor(program)
            program.process = self._spawn(called, program.order.sized, program.slots)
        except (OSError, ValueError) as error:
            program.unstartable = error
            return False
        self._watch(program)
        return True

    def _judge(self, program: Program, exit_code: int, orphans: set[int]) -> AttemptEnded:
        reuse = self._adopts_orphans and not orphans  # nobody is left who could write there
        ready = program.ready
        ready.streams.conclude(reuse=reuse)
        ended = verdict(program, exit_code, self._bench.directories, self._memory_bytes)
        ready.staged.clean(finished=ended.cause is Cause.FINISHED)
        if reuse and ended.cause is Cause.FINISHED:
            self._bench.reuse(ready.directory)
        return ended
