"""WfCommons WfFormat 1.4 and 1.5: what a workflow run elsewhere did, as JSON.

Published traces leave things out and differ in units; what is made of that stands here. Newer
versions that still have the shape of 1.5 are read with a warning.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Raw

from scicore.model.trace import Trace, TraceFile, TraceTask
from scicore.spec.reader import Findings
from scicore.spec.trace_draft import TraceDraft
from scicore.spec.wfformat_json import (
    DOCUMENT,
    Execution,
    File,
    Glance,
    Measured,
    OldTask,
    Run,
    Specification,
    Task,
    Text,
    Workflow,
    glance,
    is_given,
)

_NUMBERED = re.compile(r"[_.-]+(?:ID)?\d+$")  # how names of tasks end

# memoryInBytes of some published traces is in kilobytes. As bytes these would be absurd:
_LEAST_RSS = 2**20  # more than half of the programs below it; even /bin/true needs a megabyte
_LEAST_PER_CORE = 64 * 2**20  # a machine with less memory for each of its cores


def read_wfformat(path: Path) -> Trace:
    """Read a trace; raises SpecificationError with all its defects at once."""
    findings = Findings(str(path))
    try:
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        findings.stop(0, f"no readable file ({error.strerror})", DOCUMENT)
    draft = TraceDraft(findings)
    _Reader(Text(data, draft), draft, findings).read()
    return draft.finish(path.stem)


class _Reader:
    def __init__(self, text: Text, draft: TraceDraft, findings: Findings) -> None:
        self._text = text
        self._draft = draft
        self._findings = findings
        self._kilobytes = False
        self._to_children: list[tuple[str, str, int]] = []  # edges, as parents tell them

    def read(self) -> None:
        document = self._text.document()
        if document is None:
            return
        workflow = self._text.piece(document.workflow, Workflow, ".workflow")
        if workflow is None:
            return
        shape = "1.5" if workflow.tasks is None else "1.4"
        if document.schema_version != shape:
            told = f"schemaVersion {document.schema_version}: read as {shape}, whose shape it has"
            self._findings.warn(1, told)
        if workflow.tasks is not None:
            self._read_old(workflow.tasks, workflow.machines or [])
        elif is_given(workflow.specification):
            self._read_new(workflow)
        else:
            self._draft.unreadable(1, "a workflow without tasks", DOCUMENT)
        for parent, child, line in self._to_children:
            if self._draft.edge(parent, child, line):
                what = "an edge that only the parent tells"
                self._draft.odd(line, what, f"task {parent}", "taken as well")

    def _read_new(self, workflow: Workflow) -> None:
        where = ".workflow.specification"
        specification = self._text.piece(workflow.specification, Specification, where)
        if specification is None:
            return
        recorded = is_given(workflow.execution)
        runs = self._runs(workflow.execution) if recorded else {}
        if not recorded:
            self._findings.warn(1, "there is no execution: all runtimes are taken as 0")
        files = self._files(specification.files or [])
        for line, task in self._text.each(specification.tasks, Task, f"{where}.tasks"):
            run = runs.pop(task.id, None)
            if run is None and recorded:
                what = "no record of the execution"
                self._draft.odd(line, what, f"task {task.id}", "its runtime is 0")
            reads, writes = (
                [
                    files.get(name) or self._draft.file(name, None, f"task {task.id}", line)
                    for name in dict.fromkeys(names or ())
                ]
                for names in (task.input_files, task.output_files)
            )
            self._add(task.id, _activity(task.name, run), run, reads, writes, line)
            self._link(task.id, task.parents or (), task.children or (), line)
        for id in runs:
            self._draft.odd(1, "the execution of an unknown task", f"task {id}", "left out")

    def _files(self, pieces: Sequence[Raw]) -> dict[str, TraceFile]:
        files: dict[str, TraceFile] = {}
        for line, file in self._text.each(pieces, File, ".workflow.specification.files"):
            who = f"file {file.id}"
            known = self._draft.file(file.id, file.size_in_bytes, who, line)
            if files.setdefault(file.id, known) != known:
                self._draft.odd(line, "a second size", who, "the first one counts")
        return files

    def _runs(self, piece: Raw) -> dict[str, Run]:
        """Executions by task: of several, the last one is the one that went well."""
        where = ".workflow.execution"
        execution = self._text.piece(piece, Execution, where) or Execution()
        tasks = execution.tasks or []
        self._kilobytes = self._in_kilobytes(map(glance, tasks), execution.machines or [])
        runs: dict[str, Run] = {}
        for line, run in self._text.each(tasks, Run, f"{where}.tasks"):
            if run.id in runs:
                what = "a second execution"
                self._draft.odd(line, what, f"task {run.id}", "the last one counts")
            runs[run.id] = run
        return runs

    def _read_old(self, pieces: Sequence[Raw], machines: Sequence[Raw]) -> None:
        """Tasks are referred to by name; where names repeat, and in some traces anyway, by id."""
        glances = [glance(piece) for piece in pieces]
        self._kilobytes = self._in_kilobytes(glances, machines)
        names = Counter(str(each.name) for each in glances)
        by_id = {str(each.id): str(each.name) for each in glances if names[str(each.name)] == 1}

        def identities(references: Iterable[str] | None) -> list[str]:
            return [each if each in names else by_id.get(each, each) for each in references or ()]

        for line, task in self._text.each(pieces, OldTask, ".workflow.tasks"):
            id = task.id if task.id and names[task.name] > 1 else task.name
            who = f"task {id}"
            files: dict[str, dict[str, TraceFile]] = {"input": {}, "output": {}}
            for use in task.files or ():
                if use.link in files:
                    file = self._draft.file(use.name, use.size_in_bytes, who, line)
                    files[use.link].setdefault(file.name, file)
                else:
                    self._draft.odd(line, f"a file with link {use.link}", who, "left out")
            activity = task.category or _activity(task.name, task)
            reads, writes = files["input"].values(), files["output"].values()
            self._add(id, activity, task, reads, writes, line)
            self._link(id, identities(task.parents), identities(task.children), line)

    def _link(self, id: str, parents: Iterable[str], children: Iterable[str], line: int) -> None:
        for parent in parents:
            self._draft.edge(parent, id, line)
        self._to_children.extend((id, child, line) for child in children)

    def _add(
        self,
        id: str,
        activity: str,
        measured: Measured | None,
        reads: Iterable[TraceFile],
        writes: Iterable[TraceFile],
        line: int,
    ) -> None:
        runtime_s, cpus, memory = 0.0, 1.0, 0.0
        if measured is not None:
            cpus = measured.core_count or measured.cores or 1.0
            memory = max(0.0, measured.memory_in_bytes or 0.0)
            if measured.runtime_in_seconds is None:
                self._draft.odd(line, "no runtime", f"task {id}", "taken as 0")
            else:
                runtime_s = self._draft.runtime(measured.runtime_in_seconds, id, line)
        task = TraceTask(
            id,
            activity,
            runtime_s,
            reads=tuple(reads),
            writes=tuple(writes),
            cpus=max(1, math.ceil(cpus)),
            memory_mb=math.ceil(memory / (2**10 if self._kilobytes else 2**20)),
        )
        self._draft.add(task, line)

    def _in_kilobytes(self, tasks: Iterable[Glance], machines: Iterable[Raw]) -> bool:
        """Whether what is called bytes cannot be bytes, going by the tasks or the machines."""
        figures = [each.memory_in_bytes for each in tasks]
        positive = [each for each in figures if isinstance(each, int | float) and each > 0]
        if not positive:
            return False
        median = statistics.median(positive)
        if median >= _LEAST_RSS and not any(_is_tiny(glance(machine)) for machine in machines):
            return False
        told = "memoryInBytes is too small to be in bytes: it is taken as kilobytes"
        self._findings.warn(1, told)
        return True


def _is_tiny(machine: Glance) -> bool:
    cpu = machine.cpu if isinstance(machine.cpu, dict) else {}
    cores, memory = cpu.get("coreCount", cpu.get("count")), machine.memory_in_bytes
    if not isinstance(cores, int | float) or not isinstance(memory, int | float):
        return False
    return 0 < memory < cores * _LEAST_PER_CORE


def _activity(name: str, measured: Measured | None) -> str:
    """What a task is a run of: its program, if its name begins with that, else the bare name.

    Other programs are whole scripts, or interpreters that all tasks share.
    """
    command = measured.command if measured else None
    program = (command.program or "" if command else "").rpartition("/")[2]
    if program and name.startswith(program):
        return program
    return _NUMBERED.sub("", name) or name
