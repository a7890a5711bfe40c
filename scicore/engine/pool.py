"""The warm workers of a VM: one per slot and activity, started when they are first needed."""

from __future__ import annotations

import contextlib
import select
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from scicore.algebra.template import substitute
from scicore.engine import process, workspace
from scicore.engine.function import FunctionWorker
from scicore.engine.lines import StdinWorker
from scicore.engine.staging import stage
from scicore.engine.warm import Task, Worker
from scicore.engine.wire import Welcome
from scicore.execution.messages import AttemptEnded, Start
from scicore.model.activation import Cause
from scicore.model.workflow import Activity

HELD_S = 0.02  # work for so long may be in the hands of a worker …
MOST_HELD = 512  # … but no more activations than these
SHORTEST_S = 0.00002
LOOK_S = 0.5  # answers that nobody announced are looked for so often
IDLE = 8  # workers without work that are kept, besides one per slot


@dataclass(slots=True)
class News:
    """What has happened to a VM's workers."""

    ended: list[AttemptEnded] = field(default_factory=list)
    back: list[Start] = field(default_factory=list)  # to be given to another worker
    freed: list[int] = field(default_factory=list)  # slots


class Pool:
    def __init__(
        self,
        welcome: Welcome,
        directories: dict[str, str],
        environment: process.Environment,
        mark: str,
    ) -> None:
        self._welcome = welcome
        self._activities = {activity.tag: activity for activity in welcome.activities}
        self._directories = directories
        self._environment = environment
        self._mark = mark  # with what the marks of this VM's processes begin
        self._workers: dict[tuple[int, str], Worker] = {}  # by slot and activity
        self._leaving: set[Worker] = set()  # told to end; what they hold counts as theirs
        self._heard_by: dict[int, Worker] = {}  # by descriptor
        self._recent_s: dict[str, float] = {}  # activity → how long its activations took lately
        self._poll = select.epoll()
        self._look_at = 0.0  # monotonic
        self._unborn = News()  # could not even be started
        self._over = False  # nothing is given to anybody any more

    def fileno(self) -> int:
        """Readable when there is news."""
        return self._poll.fileno()

    # --- looking -------------------------------------------------------------------------------

    def _all(self) -> list[Worker]:
        return [*self._workers.values(), *self._leaving]

    @property
    def empty(self) -> bool:
        """There is nobody to hear from."""
        unborn = self._unborn.ended or self._unborn.freed
        return not (self._workers or self._leaving or unborn)

    @property
    def busy(self) -> bool:
        """Some process is left that holds work, or is about to end."""
        held = any(worker.tasks for worker in self._workers.values())
        return bool(held or self._leaving or self._unborn.ended)

    @property
    def granted(self) -> list[Start]:
        return [task.order for worker in self._all() for task in worker.tasks]

    @property
    def pids(self) -> set[int]:
        return {worker.process.pid for worker in self._all()}

    @property
    def marks(self) -> set[str]:
        return {worker.mark for worker in self._all()}

    def share(self, tag: str) -> int:
        """How many activations of an activity a worker should have in hand."""
        recent_s = self._recent_s.get(tag)
        if recent_s is None:
            return 1  # until one is known
        return max(1, min(MOST_HELD, round(HELD_S / max(recent_s, SHORTEST_S))))

    def room(self, tag: str) -> int:
        """How many more a worker that is at work on the activity should get."""
        worker = self._least_busy(tag)
        share = self.share(tag)
        if worker is None or 2 * len(worker.tasks) > share:
            return 0
        return share - len(worker.tasks)

    def _least_busy(self, tag: str) -> Worker | None:
        workers = [
            worker
            for worker in self._workers.values()
            if worker.activity.tag == tag and worker.tasks
        ]
        return min(workers, key=lambda worker: len(worker.tasks), default=None)

    # --- giving --------------------------------------------------------------------------------

    def lease(self, orders: list[Start], slots: tuple[int, ...]) -> None:
        """Of one activity; the slots are the worker's until it has nothing left to do."""
        tag = orders[0].activity
        tasks = self._prepared(orders)
        worker = self._workers.get((slots[0], tag))
        if worker is None and tasks:
            try:
                worker = self._start(self._activities[tag], slots)
            except (OSError, ValueError) as error:
                for task in tasks:
                    self._fail(task.order, f"the program could not be started: {error}")
        if worker is None or not tasks:
            self._unborn.freed.extend(slots)
            return
        worker.slots = slots
        self._give(worker, tasks)

    def feed(self, orders: list[Start]) -> None:
        """More for a worker that is at work on this activity."""
        worker = self._least_busy(orders[0].activity)
        assert worker is not None
        tasks = self._prepared(orders)
        if tasks:
            self._give(worker, tasks)

    def _give(self, worker: Worker, tasks: list[Task]) -> None:
        waited = worker.unsent
        worker.give(tasks)
        if worker.unsent and not waited:
            self._register(worker, worker.inlet, select.EPOLLOUT)

    def _prepared(self, orders: list[Start]) -> list[Task]:
        activity = self._activities[orders[0].activity]
        if not activity.own_workspaces:
            return [Task(order, order.rows[0]) for order in orders]
        tasks = []
        for order in orders:
            began_at = time.monotonic()
            directory = f"{self._welcome.run_directory}/{order.workspace}"
            try:
                workspace.make(directory)
                staged = stage(directory, activity, order.rows, self._directories)
            except (OSError, ValueError) as error:
                self._fail(order, f"its workspace could not be filled: {error}")
                continue
            took_s = time.monotonic() - began_at
            tasks.append(Task(order, staged.seen[0], directory, staged, took_s))
        return tasks

    def _fail(self, order: Start, why: str) -> None:
        now = time.time()
        command = self._activities[order.activity].command
        self._unborn.ended.append(
            AttemptEnded(
                order.activation,
                order.number,
                Cause.NOT_STARTED,
                now,
                now,
                command=command,
                stderr_tail=f"scicumulus: {why}",
            )
        )

    def _start(self, activity: Activity, slots: tuple[int, ...]) -> Worker:
        name = f"worker-{self._welcome.vm}-{slots[0]}"
        directory = Path(self._welcome.run_directory, activity.tag, name)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark = f"{self._mark}{activity.tag} {slots[0]}"
        environment = process.with_variables(
            self._environment,
            (process.ATTEMPT, mark),
            *((name, substitute(text, self._directories)) for name, text in activity.environment),
        )
        kind = FunctionWorker if activity.function else StdinWorker
        worker = kind(activity, slots, directory, self._directories, environment)
        worker.mark = mark
        self._workers[slots[0], activity.tag] = worker
        self._register(worker, worker.process.pidfd, select.EPOLLIN)
        for outlet in worker.outlets:
            self._register(worker, outlet, select.EPOLLIN)
        return worker

    def _register(self, worker: Worker, descriptor: int, what: int) -> None:
        self._heard_by[descriptor] = worker
        self._poll.register(descriptor, what)

    def _unregister(self, descriptor: int) -> None:
        self._heard_by.pop(descriptor, None)
        with contextlib.suppress(OSError, ValueError):
            self._poll.unregister(descriptor)

    # --- hearing -------------------------------------------------------------------------------

    def collect(self, now: float) -> News:
        """Everything that has happened since the last look."""
        news, self._unborn = self._unborn, News()
        dead: list[Worker] = []
        heard: dict[int, Worker] = {}
        for descriptor, _ in self._poll.poll(0):
            worker = self._heard_by[descriptor]
            if descriptor == worker.process.pidfd:
                dead.append(worker)
            elif descriptor == worker.inlet:
                worker.flush()
                if not worker.unsent:
                    self._unregister(descriptor)
            else:
                heard[id(worker)] = worker
        if now >= self._look_at:
            self._look_at = now + LOOK_S
            heard |= {id(worker): worker for worker in self._workers.values() if worker.tasks}
        for worker in heard.values():
            self._hear(worker, news, now)
        self._be_strict(now, news)
        for worker in dead:
            self._bury(worker, news, now)
        self._retire(now)
        return news

    def _hear(self, worker: Worker, news: News, now: float, *, dead: bool = False) -> None:
        worked = bool(worker.tasks)
        stderr_size = worker.stderr_size()
        ended = worker.answers()
        news.ended.extend(ended)
        if worker.mute_since is not None:  # nothing will come, and it would be heard for ever
            for outlet in worker.outlets:
                self._unregister(outlet)
        if ended:
            tag = worker.activity.tag
            took_s = sum(each.ended_at - each.started_at for each in ended) / len(ended)
            before_s = self._recent_s.get(tag, took_s)
            self._recent_s[tag] = before_s + 0.3 * (took_s - before_s)
            if not dead:
                worker.note_stderr(stderr_size)
        if worker.leaving:
            self._see_off(worker)
        elif worked and not worker.tasks:
            worker.idle_since = now
            news.freed.extend(worker.slots)

    def _be_strict(self, now: float, news: News) -> None:
        for worker in list(self._workers.values()):
            cancelled = bool(worker.tasks) and worker.tasks[0].cancelled
            if not cancelled and not worker.overdue(now):
                continue
            self._hear(worker, news, now)  # it may have gone on without a word
            if worker.leaving or not worker.tasks:
                continue
            if worker.tasks[0].cancelled:
                worker.end(Cause.CANCELLED)
                self._see_off(worker)
            elif worker.overdue(now):
                worker.give_up()
                self._see_off(worker)
        for worker in self._leaving:
            if worker.kill_at is not None and now > worker.kill_at:
                worker.process.signal(signal.SIGKILL)

    def _see_off(self, worker: Worker) -> None:
        """Nothing more is given to it; its slots stay taken until it has ended."""
        self._workers.pop((worker.home, worker.activity.tag), None)
        self._leaving.add(worker)

    def _bury(self, worker: Worker, news: News, now: float) -> None:
        if not worker.leaving:
            self._hear(worker, news, now, dead=True)  # its last words
        holding = bool(worker.tasks) or worker in self._leaving
        self._workers.pop((worker.home, worker.activity.tag), None)
        self._leaving.discard(worker)
        for descriptor in (worker.process.pidfd, worker.inlet, *worker.outlets):
            self._unregister(descriptor)
        worker.process.signal(signal.SIGKILL)  # children of its own
        ended, back = worker.bury()
        news.ended.extend(ended)
        if not self._over:
            news.back.extend(back)
        if holding and worker.slots:
            news.freed.extend(worker.slots)

    def _retire(self, now: float) -> None:
        """Activities come and go, their workers need not stay for ever; and who can no longer
        answer is of no use."""
        idle = [worker for worker in self._workers.values() if not worker.tasks]
        useless = [worker for worker in idle if worker.mute_since is not None]
        if not useless and len(idle) > self._welcome.slots + IDLE:
            useless = [min(idle, key=lambda each: each.idle_since)]
        for worker in useless:
            self._unregister(worker.inlet)
            worker.retire()
            self._see_off(worker)
            worker.slots = ()  # they are not its any more

    # --- ending --------------------------------------------------------------------------------

    def cancel(self, activation: int, number: int) -> bool:
        """Whether it is here; what a worker is at is ended by the next `collect`."""
        for worker in self._all():
            for task in worker.tasks:
                if (task.order.activation, task.order.number) == (activation, number):
                    task.cancelled = True
                    return True
        return False

    def patience_s(self, now: float) -> float:
        """Until the next moment at which `collect` should look."""
        if self._unborn.ended or self._unborn.freed:
            return 0.0
        moments = [worker.kill_at for worker in self._leaving if worker.kill_at is not None]
        for worker in self._workers.values():
            if worker.tasks:
                moments.append(self._look_at)
                if worker.tasks[0].cancelled:
                    return 0.0
                moments.append(worker.due_at)
        return max(0.0, min(moments, default=now + 60.0) - now)

    def kill_all(self) -> None:
        self._over = True
        for worker in self._all():
            worker.process.signal(signal.SIGKILL)
            worker.dismissed = True
            self._see_off(worker)
