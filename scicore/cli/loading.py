"""From a file to a workflow: quick, so that a wrong one is told at once."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from scicore.cli.output import say
from scicore.engine import burn
from scicore.errors import UsageError
from scicore.model.workflow import Workflow
from scicore.spec import load_workflow
from scicore.spec.trace import kind_of, load_trace, trace_workflow

WARNINGS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Specification:
    """A workflow that loaded without defects, with the text it came from."""

    workflow: Workflow
    source: str


@dataclass(frozen=True, slots=True)
class Replay:
    """How a trace is played again."""

    time_scale: float = 1.0
    size_scale: float = 1.0
    sleep: bool = False  # instead of using the CPU


def load(path: Path, replay: Replay | None = None) -> Specification:
    """Everything that can be wrong with the text is found here, before anything is touched."""
    if kind_of(path) != "scicumulus":
        return load_replay(path, replay or Replay(), Path.cwd())
    if replay is not None:
        raise UsageError(f"{path} is no trace: --replay is for DAX and WfFormat files")
    loaded = load_workflow(path)
    for warning in loaded.warnings:
        say(f"warning: {warning}")
    return Specification(loaded.workflow, loaded.source)


def load_replay(path: Path, replay: Replay, directory: Path) -> Specification:
    """A trace as a workflow whose programs only take the time and make the files."""
    trace = load_trace(path)
    for warning in trace.warnings[:WARNINGS_SHOWN]:
        say(f"warning: {warning}")
    if len(trace.warnings) > WARNINGS_SHOWN:
        say(f"warning: and {len(trace.warnings) - WARNINGS_SHOWN} more like these")
    mode = "sleep" if replay.sleep else "cpu"
    program = shlex.join([sys.executable, "-S", str(Path(burn.__file__)), mode])
    command = f"{program} %=RUNDIR%/files"
    workflow = trace_workflow(trace, directory, command, replay.time_scale, replay.size_scale)
    return Specification(workflow, f"imported from {path.absolute()}")


def default_fleet() -> str:
    """One slave per core of this machine."""
    return f"{len(os.sched_getaffinity(0))}xlocal"
