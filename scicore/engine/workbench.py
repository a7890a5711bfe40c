"""Where attempts are made ready: workspace, data, words, variables, files for what they say."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path

from scicore.algebra.template import arguments, substitute
from scicore.engine import limits, process, workspace
from scicore.engine.process import Environment
from scicore.engine.program import Prepared, Program
from scicore.engine.staging import Staged, is_staged, stage
from scicore.engine.streams import Stream, Streams
from scicore.engine.wire import Welcome
from scicore.execution.messages import Start
from scicore.model.workflow import Activity


class Workbench:
    """What nothing was left in serves the next attempt."""

    def __init__(self, welcome: Welcome) -> None:
        self.activities = {activity.tag: activity for activity in welcome.activities}
        self.directories = {
            "WFDIR": welcome.workflow_directory,
            "EXPDIR": welcome.experiment_directory,
            "RUNDIR": welcome.run_directory,
        }
        self.environment = process.program_environment()
        self._place = welcome.run_directory
        self._mark = mark(welcome)
        self._telling = {each.tag for each in welcome.activities if limits.is_told(each)}
        self._plain = {each.tag for each in welcome.activities if _is_plain(each)}
        self._early = {each.tag for each in welcome.activities if _leaves_nothing(each)}
        self._ready: dict[tuple[int, int], Prepared] = {}  # of those that wait, by attempt
        self._streams: list[Stream] = []
        self._workspaces: list[str] = []

    def make_ready(self, orders: Iterable[Start]) -> None:
        """What comes next, while others run."""
        ready, early = self._ready, self._early
        with contextlib.suppress(OSError, ValueError):  # it will fail again in its turn
            for order in orders:
                key = order.activation, order.number
                if key not in ready and order.activity in early:
                    ready[key] = self._prepare(order)

    def ready(self, order: Start) -> Prepared:
        """It can be started now."""
        ready = self._ready.pop((order.activation, order.number), None)
        return self._prepare(order) if ready is None else ready

    def _prepare(self, order: Start) -> Prepared:
        began_at = time.time()
        activity = self.activities[order.activity]
        directory = self.place(order)
        workspace.make(directory, self._workspaces)
        if order.activity in self._plain:
            staged, words = Staged(order.rows, order.rows), arguments(activity.command, {})
            environment = self._variables(order)
        else:
            told = self._told(order)
            staged = stage(directory, activity, order.rows, self.directories, told)
            values = self._values(activity, staged, told)
            words = arguments(activity.command, values)
            environment = self._variables(order, *_set(activity, values))
        streams = Streams(directory, self._streams)
        call = process.call(
            words, directory, environment, streams.out.descriptor, streams.err.descriptor
        )
        return Prepared(staged, streams, call, time.time() - began_at)

    def extractor(self, program: Program) -> process.Call:
        """Its second command, in the same place."""
        activity, ready = program.activity, program.ready
        told = self._told(program.order)
        words = arguments(activity.extractor, self._values(activity, ready.staged, told))
        first, streams = ready.call, ready.streams
        out, err = streams.out.descriptor, streams.err.descriptor
        return process.call(words, first.directory, first.environment, out, err)

    def place(self, order: Start) -> str:
        return f"{self._place}/{order.workspace}"

    def mark(self, order: Start) -> str:
        return f"{self._mark}{order.activation}.{order.number}"

    def take_back(self, activation: int, number: int) -> None:
        """The attempt will not be started."""
        ready = self._ready.pop((activation, number), None)
        if ready is not None:
            ready.streams.conclude(reuse=True)
            self.reuse(ready.directory)

    def reuse(self, directory: str) -> None:
        """For another attempt, if nobody will miss what is in it."""
        if workspace.is_untouched(directory):
            self._workspaces.append(directory)

    def clear(self) -> None:
        """There will be no other."""
        for attempt in list(self._ready):
            self.take_back(*attempt)
        for directory in self._workspaces:
            with contextlib.suppress(OSError):
                Path(directory).rmdir()
        self._workspaces.clear()
        for stream in self._streams:
            stream.close()
        self._streams.clear()

    def _told(self, order: Start) -> dict[str, str]:
        """What the program gets, where its texts ask for it."""
        if order.activity not in self._telling:
            return {}
        return limits.told(order, self.activities[order.activity])

    def _values(self, activity: Activity, staged: Staged, told: dict[str, str]) -> dict[str, str]:
        """What the tags of the activity's texts stand for; its fields come before what it gets."""
        return {**told, **activity.input.as_mapping(staged.seen[0]), **self.directories}

    def _variables(self, order: Start, *more: tuple[str, str]) -> Environment:
        given = limits.variables(order) if order.sized else ()
        mark = (process.ATTEMPT, self.mark(order))
        return process.with_variables(self.environment, mark, *given, *more)


def _set(activity: Activity, values: dict[str, str]) -> list[tuple[str, str]]:
    """The variables that the activity asks for."""
    return [(name, substitute(text, values)) for name, text in activity.environment]


def _leaves_nothing(activity: Activity) -> bool:
    """Whoever makes an attempt of it ready would have nothing to undo."""
    return not (activity.staging or activity.template or activity.warm)


def _is_plain(activity: Activity) -> bool:
    """All of its attempts find the same words and variables, and nothing in their workspaces."""
    return not (is_staged(activity) or activity.environment or "%=" in activity.command)


def mark(welcome: Welcome) -> str:
    """With what the marks of all attempts of a VM in a run begin."""
    return f"{welcome.run_directory} {welcome.vm} "
