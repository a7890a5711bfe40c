"""Which files of a run go into its crate: small ones that are still what was recorded."""

from __future__ import annotations

import hashlib
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from scicore.exports.formats import Options
from scicore.exports.lineage import DataFile
from scicore.exports.snapshot import Head


@dataclass(frozen=True, slots=True)
class Placed:
    """A file as the crate has it: a copy, or a reference."""

    id: str
    source: str  # where the copy is taken from; of a reference, its URL
    destination: str | None = None  # inside the crate
    why_not: str = ""  # the reason for a reference


def place(file: DataFile, head: Head, options: Options) -> Placed:
    reason = _why_not(file, head, options)
    if reason:
        url = f"file://{head.run.host}{quote(file.path)}"
        return Placed(url, url, why_not=reason)
    destination = f"file/{file.tuple_id}/{file.field}/{file.path.rsplit('/', 1)[-1]}"
    return Placed(quote(destination), file.path, destination)


def _why_not(file: DataFile, head: Head, options: Options) -> str:
    """Nothing outside the workflow's directories is ever copied, whatever a tuple says."""
    if file.size_bytes > options.max_file_bytes:
        return f"larger than {options.max_file_bytes / 1e6:g} MB (--max-file-size)"
    path = Path(file.path)
    roots = (head.run.directory, head.workflow.directory, head.workflow.experiment_directory)
    try:
        real = path.resolve(strict=True)
        if not any(real.is_relative_to(Path(root).resolve()) for root in roots if root):
            return "outside of the workflow's directories"
        if not stat.S_ISREG(real.stat().st_mode):
            return "no regular file"
        with real.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        return "no longer there"
    except OSError as error:
        return f"not readable ({error.strerror})"
    return "" if digest == file.sha256 else "changed since the run"
