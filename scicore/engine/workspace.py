"""The directory in which one attempt works: private, made for it, kept after it.

One that stayed empty is not kept but handed on: making a directory costs the disk more than all
else that is done for a short program. Paths are texts here, as a `Path` costs more than a text.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from scicore.algebra.output import BadOutput, MissingOutput, output_rows
from scicore.engine.streams import STDERR
from scicore.model.workflow import Activity, Row

RELATION = "ERelation.txt"
TAIL_BYTES = 4000
_PRIVATE = 0o700
_MODE = stat.S_IFDIR | _PRIVATE
_UNTOUCHED_NS = 10**9  # its last change, as we say: the first entry that is made says better


def make(directory: str, spare: list[str] | None = None) -> None:
    """A fresh workspace; what an interrupted attempt of the same number left is removed."""
    if spare and _hand_on(spare, directory):
        return
    try:
        os.mkdir(directory, _PRIVATE)  # noqa: PTH102
    except FileExistsError:
        shutil.rmtree(directory)
        os.mkdir(directory, _PRIVATE)  # noqa: PTH102
    except FileNotFoundError:
        _make_parent(directory)
        Path(directory).mkdir(mode=_PRIVATE, exist_ok=True)
    if spare is not None:
        os.utime(directory, ns=(_UNTOUCHED_NS, _UNTOUCHED_NS))


def _hand_on(spare: list[str], directory: str) -> bool:
    """One that nobody needs any more, under its new name."""
    while spare:
        try:
            os.rename(spare[-1], directory)  # noqa: PTH104
        except FileNotFoundError:
            if not Path(spare[-1]).exists():
                spare.pop()
            else:
                _make_parent(directory)
        except OSError:  # something is there
            return False
        else:
            spare.pop()
            return True
    return False


def _make_parent(directory: str) -> None:
    Path(directory).parent.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)


def is_untouched(directory: str) -> bool:
    """As it was made: nobody will miss it."""
    try:
        found = os.stat(directory)  # noqa: PTH116
    except OSError:
        return False
    return (
        found.st_mtime_ns == _UNTOUCHED_NS
        and found.st_mode == _MODE
        and found.st_uid == os.geteuid()
    )


def read_output(directory: str, activity: Activity, rows: tuple[Row, ...]) -> tuple[Row, ...]:
    if not activity.output.fields:  # it is run for its effect: there is nothing to write down
        return ((),)
    try:
        text = Path(directory, RELATION).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingOutput(
            f"the program ended well but wrote no {RELATION}; "
            f"expected a header and {activity.operator}'s tuples"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadOutput(f"{RELATION} cannot be read: {error}") from error
    return output_rows(activity, text, rows)


def on_full_disk(directory: str) -> bool:
    """Whether nothing more can be written there; then not even stderr tells of it."""
    try:
        return os.statvfs(directory).f_bavail == 0
    except OSError:
        return False


def stderr_tail(directory: str) -> str:
    """The last lines of stderr, however long the file is."""
    try:
        with Path(directory, STDERR).open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - TAIL_BYTES))
            return stream.read().decode("utf-8", "replace").replace("\x00", "\ufffd").strip()
    except OSError:
        return ""
