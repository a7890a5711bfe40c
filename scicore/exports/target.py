"""Where an export goes: it appears there whole or not at all, and replaces nothing unasked."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scicore.errors import ScicumulusError, UsageError
from scicore.exports.formats import Format


def check(target: Path, form: Format, *, force: bool) -> None:
    """Refuse what cannot or must not be written to, before any work is done."""
    parent = target.parent
    if not parent.is_dir():
        problem = "is not a directory" if parent.exists() else "does not exist"
        raise UsageError(
            f"cannot write {target}: the directory {parent} {problem}",
            "make it first, or give another path with -o PATH",
        )
    if not os.path.lexists(target):
        return
    if not force:
        raise UsageError(
            f"{target} is there already", "replace it with --force, or choose another -o PATH"
        )
    if target.is_dir() and not target.is_symlink() and not _ours(target, form):
        raise UsageError(
            f"{target} is a directory that is no earlier export of this format, so --force does "
            "not replace it",
            "remove it yourself, or choose another -o PATH",
        )


def _ours(directory: Path, form: Format) -> bool:
    if not form.makes_directory(directory):
        return False
    return (directory / form.mark).is_file() or not any(directory.iterdir())


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A path beside the target to write to; when all went well it takes the target's place."""
    try:
        staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            (staging / "new").mkdir()
            new, old = staging / "new" / target.name, staging / "old"
            yield new
            _take_place(new, target, old)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ScicumulusError(
            f"the export to {target} failed: {reason}", "nothing was changed"
        ) from error


def _take_place(new: Path, target: Path, old: Path) -> None:
    if os.path.lexists(target):
        target.rename(old)
    try:
        new.rename(target)
    except OSError:
        if os.path.lexists(old):
            old.rename(target)
        raise
