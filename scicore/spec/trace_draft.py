"""Tasks and edges on their way from a trace's text to a Trace that holds.

Both trace formats end here, so that both are judged alike: an edge needs two tasks, edges form no
cycle, and what is odd but harmless is taken in one documented way and told once, with a count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from scicore.model.trace import Trace, TraceFile, TraceTask
from scicore.spec.reader import Findings

_SHOWN = 20  # defects of one kind: a wrong column would otherwise bury everything else
_NAMED = 3  # tasks named as examples in a warning
_CYCLE_SHOWN = 6
_ONE_WAY = "edges that lead in one direction only"
_LARGEST_FILE = 2**63 - 1  # no file system holds more
_MOST_DERIVED = 2_000_000  # edges; more cannot be meant


@dataclass(slots=True)
class _Told:
    """How often something was met, and where first."""

    line: int
    count: int = 0
    names: dict[str, None] = field(default_factory=dict)  # the first few


Edges = dict[str, dict[str, int]]  # child → parent → line


class TraceDraft:
    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._tasks: dict[str, TraceTask] = {}  # without parents, in the order of the file
        self._lines: dict[str, int] = {}  # where each task stands
        self._edges: Edges = {}
        self._files: dict[tuple[str, float | None], TraceFile] = {}
        self._odd: dict[tuple[str, str], _Told] = {}
        self._defects: dict[str, _Told] = {}
        self._unreadable = False

    def defect(self, line: int, found: str, expected: str) -> None:
        told = self._defects.setdefault(expected, _Told(line))
        told.count += 1
        if told.count <= _SHOWN:
            self._findings.defect(line, found, expected)
        elif told.count == _SHOWN + 1:
            told.line = line

    def unreadable(self, line: int, found: str, expected: str) -> None:
        """A task is lost; edges to it are then no mistakes of their own."""
        self._unreadable = True
        self.defect(line, found, expected)

    def odd(self, line: int, what: str, who: str, taken: str) -> None:
        told = self._odd.setdefault((what, taken), _Told(line))
        told.count += 1
        if len(told.names) < _NAMED:
            told.names[who] = None

    def add(self, task: TraceTask, line: int) -> None:
        if task.id in self._tasks:
            self.defect(line, f"a second task with the id {task.id}", "every id once")
            return
        self._tasks[task.id] = task
        self._lines[task.id] = line

    def edge(self, parent: str, child: str, line: int) -> bool:
        """Whether the edge is new."""
        parents = self._edges.setdefault(child, {})
        if parent in parents:
            return False
        if parent == child:
            self.defect(line, f"task {child} as its own parent", "another task as the parent")
        parents[parent] = line
        return True

    def runtime(self, seconds: float, task: str, line: int) -> float:
        """Seconds that a program can have taken."""
        if not math.isfinite(seconds):
            self.defect(line, f"the runtime {seconds} of task {task}", "a finite number of seconds")
            return 0.0
        if seconds < 0:
            self.odd(line, "a negative runtime", f"task {task}", "taken as 0")
            return 0.0
        if seconds == 0:
            self.odd(line, "a runtime of 0 s", f"task {task}", "left as it is")
        return float(seconds)

    def file(self, name: str, size: float | None, who: str, line: int) -> TraceFile:
        """The file, one object for all tasks that use it alike; oddities are told once each."""
        known = self._files.get((name, size))
        if known is not None:
            return known
        if size is None:
            self.odd(line, "a file without a size", who, "taken as empty")
        elif not abs(size) <= _LARGEST_FILE:
            expected = "a size in bytes that a file can have"
            self.defect(line, f"the size {size} of file {name} in {who}", expected)
        elif size < 0:
            self.odd(line, "a negative file size", who, "taken as 0")
        bytes_ = int(size) if size and 0 < size <= _LARGEST_FILE else 0
        known = self._files[name, size] = TraceFile(name, bytes_)
        return known

    def finish(self, name: str) -> Trace:
        """The trace, parents before their children; raises SpecificationError with all defects."""
        if not self._tasks and not self._unreadable:
            self.defect(0, "a trace without tasks", "at least one task")
        if not self._edges:
            self._derive_edges()
        edges = self._known_edges()
        ordered = self._ordered(edges)
        for expected, told in self._defects.items():
            if told.count > _SHOWN:
                more = told.count - _SHOWN
                self._findings.defect(told.line, f"{more} more problems of this kind", expected)
        self._findings.raise_defects()
        for (what, taken), told in self._odd.items():
            self._findings.warn(told.line, f"{what} in {_who(told)}: {taken}")
        tasks = tuple(self._with_parents(id, edges.get(id, {})) for id in ordered)
        return Trace(name, tasks, self._findings.warnings)

    def _with_parents(self, id: str, parents: Iterable[str]) -> TraceTask:
        task = self._tasks[id]
        return TraceTask(
            task.id,
            task.activity,
            task.runtime_s,
            tuple(self._tasks[parent].id for parent in parents),
            task.reads,
            task.writes,
            task.cpus,
            task.memory_mb,
        )

    def _derive_edges(self) -> None:
        """Without a single explicit edge, whoever reads a file follows those who write it."""
        writers: dict[str, list[str]] = {}
        for task in self._tasks.values():
            for file in task.writes:
                writers.setdefault(file.name, []).append(task.id)
        count = 0
        for task in self._tasks.values():
            own = {file.name for file in task.writes}
            for file in task.reads:
                if file.name in own:  # changed in place: nobody else has to come first
                    continue
                for writer in writers.get(file.name, ()):
                    self.edge(writer, task.id, self._lines[task.id])
                    count += 1
                if count > _MOST_DERIVED:
                    found = f"no explicit edges, and more than {_MOST_DERIVED} that files suggest"
                    self.defect(0, found, "explicit edges")
                    self._edges.clear()
                    return
        if count:
            told = "there are no explicit edges: a task follows those that write what it reads"
            self._findings.warn(1, told)

    def _known_edges(self) -> Mapping[str, Mapping[str, int]]:
        """The edges that connect two different tasks; the others are defects."""
        if self._unreadable:  # which ones are wrong cannot be told
            return {}
        known: Edges = {}
        expected = "the id of a task of this file"
        for child, parents in self._edges.items():
            if child not in self._tasks:
                line = next(iter(parents.values()))
                self.defect(line, f"an edge to {child}, which is no task", expected)
                continue
            for parent, line in parents.items():
                if parent not in self._tasks:
                    self.defect(line, f"an edge from {parent}, which is no task", expected)
                elif parent != child:
                    known.setdefault(child, {})[parent] = line
        return known

    def _ordered(self, edges: Mapping[str, Mapping[str, int]]) -> list[str]:
        """Depth first, parents first: a file that is in order already keeps its order."""
        ordered: list[str] = []
        done: set[str] = set()
        for start in self._tasks:
            if start in done:
                continue
            path: dict[str, Iterator[str]] = {start: iter(edges.get(start, ()))}
            while path:
                child, parents = next(reversed(path.items()))
                parent = next((each for each in parents if each not in done), None)
                if parent is None:
                    del path[child]
                    done.add(child)
                    ordered.append(child)
                elif parent in path:
                    line, cycles = edges[child][parent], self._defects.get(_ONE_WAY)
                    if cycles is None or cycles.count < _SHOWN:
                        self._tell_cycle(list(path), parent, line)
                    else:  # the others are counted: to list them all would be quadratic
                        self.defect(line, "a cycle", _ONE_WAY)
                else:
                    path[parent] = iter(edges.get(parent, ()))
        return ordered

    def _tell_cycle(self, path: list[str], entry: str, line: int) -> None:
        members = path[path.index(entry) :][::-1]  # the path leads from child to parent
        shown = " → ".join([*members, members[0]])
        if len(members) > _CYCLE_SHOWN:
            shown = f"{' → '.join(members[:_CYCLE_SHOWN])} → … ({len(members)} tasks)"
        self.defect(line, f"the cycle {shown}", _ONE_WAY)


def _who(told: _Told) -> str:
    named = ", ".join(told.names)
    if told.count == 1:
        return named
    more = ", …" if told.count > len(told.names) else ""
    return f"{told.count} places ({named}{more})"
