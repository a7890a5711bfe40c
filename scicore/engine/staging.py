"""Getting an activation's data into its workspace, and telling what came out of it.

A MOVE takes the original away only when the activation has finished, so that a second attempt
still finds it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from scicore.algebra.instrument import instrument
from scicore.algebra.output import BadOutput, MissingOutput
from scicore.algebra.relation_text import write_relation
from scicore.algebra.template import substitute
from scicore.execution.messages import FileFound
from scicore.model.workflow import Activity, FieldType, FileOperation, Operator, Row, Staging

_DELETED_AT_END = (FileOperation.COPY_DELETE, FileOperation.MOVE_DELETE)
_MOVED = (FileOperation.MOVE, FileOperation.MOVE_DELETE)


class StagingError(ValueError):
    """The data is not as the activity expects it; the program was not started."""


class Staged(NamedTuple):
    """An activation's input as its program sees it."""

    seen: tuple[Row, ...]  # file fields that were staged name the file in the workspace
    kept: tuple[Row, ...]  # what an output may take over: absolute paths
    delete_at_end: tuple[Path, ...] = ()
    delete_when_finished: tuple[Path, ...] = ()  # the originals of what was moved

    def clean(self, *, finished: bool) -> None:
        """As far as it can be done: a file that is gone already is what we wanted."""
        for path in (*self.delete_at_end, *(self.delete_when_finished if finished else ())):
            with contextlib.suppress(OSError):
                path.unlink()


def stage(
    directory: str,
    activity: Activity,
    rows: tuple[Row, ...],
    directories: Mapping[str, str],
    told: Mapping[str, str] | None = None,
) -> Staged:
    """Fill a new workspace: the template's files, the input's files, the group's tuples.

    `told` is what the files' tags may stand for besides fields and directories."""
    if not is_staged(activity):
        return Staged(rows, rows)
    workspace = Path(directory)
    staged = _stage_files(workspace, activity, rows, directories)
    values = {**(told or {}), **_values(activity, staged.seen), **directories}
    if activity.template:
        template = Path(directories["WFDIR"], substitute(activity.template, directories))
        shutil.copytree(template, workspace, dirs_exist_ok=True)
        for file in sorted(template.rglob("*")):
            if file.is_file():
                _fill_in(workspace / file.relative_to(template), values)
    for staging in activity.staging:
        if staging.instrumented:
            for row in staged.seen:
                _fill_in(workspace / activity.input.as_mapping(row)[staging.field], values)
    if _has_group_file(activity):
        text = write_relation(activity.input.field_names, staged.seen)
        (workspace / group_file(activity)).write_text(text, encoding="utf-8")
    return staged


def is_staged(activity: Activity) -> bool:
    """Whether its programs find anything in their workspaces."""
    return bool(activity.staging or activity.template) or _has_group_file(activity)


def _has_group_file(activity: Activity) -> bool:
    return activity.operator is Operator.REDUCE or group_file(activity) in activity.command


def group_file(activity: Activity) -> str:
    """The file in which a program finds its tuples: for REDUCE, those of its group; any other
    program that names it finds its own one there."""
    return f"{activity.alias or activity.input.name}.hfrag"


def _values(activity: Activity, rows: tuple[Row, ...]) -> dict[str, str]:
    return activity.input.as_mapping(rows[0])


def _fill_in(file: Path, values: Mapping[str, str]) -> None:
    """Binary files have no tags."""
    try:
        text = file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return
    if "%=" in text:
        executable = os.access(file, os.X_OK)
        filled = instrument(file.name, text, values, executable=executable)
        file.write_bytes(filled.encode("utf-8"))


def _stage_files(
    workspace: Path, activity: Activity, rows: tuple[Row, ...], directories: Mapping[str, str]
) -> Staged:
    wishes = {staging.field.upper(): staging for staging in activity.staging}
    seen, kept = [], []
    delete_at_end: list[Path] = []
    delete_when_finished: list[Path] = []
    for number, row in enumerate(rows, start=1):
        seen_row, kept_row = list(row), list(row)
        for position, field in enumerate(activity.input.fields):
            staging = wishes.get(field.name.upper())
            if staging is None or not row[position]:
                continue
            origin = inside(row[position], directories)
            folder = f"{number}/" if activity.operator is Operator.REDUCE else ""
            seen_row[position] = folder + origin.name
            target = workspace / seen_row[position]
            _place(origin, target, staging)
            if staging.operation in _DELETED_AT_END:
                delete_at_end.append(target)
            if staging.operation in _MOVED:
                delete_when_finished.append(origin)
            if staging.operation is not FileOperation.COPY_DELETE:
                kept_row[position] = str(target)
        seen.append(tuple(seen_row))
        kept.append(tuple(kept_row))
    return Staged(tuple(seen), tuple(kept), tuple(delete_at_end), tuple(delete_when_finished))


def _place(origin: Path, target: Path, staging: Staging) -> None:
    if target.exists():
        raise StagingError(f"two input files are called {target.name}: rename one of them")
    target.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        if staging.operation in _MOVED and not staging.instrumented:
            with contextlib.suppress(OSError):  # another file system: copy instead
                os.link(origin, target)
                return
        shutil.copy2(origin, target)
    except OSError as error:
        raise StagingError(
            f"the file of field {staging.field} cannot be staged: {error}"
        ) from error


def inside(value: str, directories: Mapping[str, str], base: Path | None = None) -> Path:
    """The path that a file field names; it must lie in one of the workflow's directories.

    Links inside them are the user's own choice and may lead elsewhere, so nothing is resolved.
    """
    roots = [Path(os.path.normpath(directory)) for directory in directories.values()]
    path = Path(os.path.normpath(Path(base or directories["EXPDIR"], value)))
    if any(path.is_relative_to(root) for root in roots):
        return path
    raise StagingError(
        f"the file {value!r} is outside of the workflow's directories "
        f"({', '.join(map(str, roots))}): move or link it there"
    )


def output_files(
    directory: str, activity: Activity, rows: tuple[Row, ...], directories: Mapping[str, str]
) -> tuple[tuple[Row, ...], tuple[FileFound, ...]]:
    """Output rows with absolute paths in their file fields, and those files' sizes and digests."""
    fields = [
        (position, field)
        for position, field in enumerate(activity.output.fields)
        if field.type is FieldType.FILE
    ]
    if not fields:
        return rows, ()
    absolute, files = [], []
    for number, row in enumerate(rows):
        values = list(row)
        for position, field in fields:
            if not values[position]:
                continue
            path = _output_file(Path(directory), field.name, values[position], directories)
            values[position] = str(path)
            files.append(FileFound(number, field.name, str(path), *size_and_digest(path)))
        absolute.append(tuple(values))
    return tuple(absolute), tuple(files)


def size_and_digest(path: Path) -> tuple[int, str]:
    with path.open("rb") as stream:
        return path.stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest()


def _output_file(workspace: Path, field: str, value: str, directories: Mapping[str, str]) -> Path:
    try:
        path = inside(value, directories, base=workspace)
    except StagingError as error:
        raise BadOutput(f"output field {field!r}: {error}") from error
    if not path.is_file():
        raise MissingOutput(
            f"output field {field!r} names the file {value!r}, which the program did not leave"
        )
    return path
