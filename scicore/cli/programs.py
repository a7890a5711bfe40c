"""What an activity's program is, as far as files tell: another version has another digest."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from scicore.algebra.template import arguments, substitute
from scicore.model.workflow import QUERIES, Activity, Workflow

WHOLE_BYTES = 8 * 2**20  # a larger file is known by its size and time


def programs(workflow: Workflow) -> dict[str, str]:
    """By tag; queries have no program."""
    return {
        activity.tag: _digest(activity, workflow)
        for activity in workflow.activities
        if activity.operator not in QUERIES
    }


def _digest(activity: Activity, workflow: Workflow) -> str:
    """Of its commands, and of the files that these name: program, scripts, template, module."""
    digest = hashlib.blake2b(digest_size=16)
    places = {"WFDIR": workflow.directory, "EXPDIR": workflow.experiment_directory}
    for text in (activity.command, activity.extractor, *map("=".join, activity.environment)):
        digest.update(text.encode() + b"\x00")
    for path in _files(activity, workflow, places):
        digest.update(path.name.encode() + b"\x00" + _known_by(path, workflow) + b"\x00")
    return digest.hexdigest()


def _files(activity: Activity, workflow: Workflow, places: dict[str, str]) -> list[Path]:
    if activity.function:
        module = Path(workflow.directory, *activity.function.split(".")[:-1])
        return [path for path in (module.with_suffix(".py"), module / "__init__.py") if _is(path)]
    found = []
    for command in (activity.command, activity.extractor):
        for number, word in enumerate(arguments(command, places)):
            named = shutil.which(word) if number == 0 and "/" not in word else word
            path = Path(workflow.directory, named or word)
            if _is(path):
                found.append(path)
    if activity.template:
        template = Path(workflow.directory, substitute(activity.template, places))
        found += sorted(path for path in template.rglob("*") if _is(path))
    return found


def _is(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a word of a command may be anything
        return False


def _known_by(path: Path, workflow: Workflow) -> bytes:
    """Its content where it is the workflow's own; an installed program's size and time."""
    try:
        stat = path.stat()
        own = path.is_relative_to(workflow.directory)
        if own and stat.st_size <= WHOLE_BYTES and os.access(path, os.R_OK):
            return hashlib.blake2b(path.read_bytes(), digest_size=16).digest()
        return f"{path} {stat.st_size} {stat.st_mtime_ns}".encode()
    except OSError:
        return b"?"
