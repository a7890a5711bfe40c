"""Pictures among the outputs, inside the report; only as they were when they were recorded."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from scicore.provenance.account import Account

TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif"}
LARGEST_BYTES, ALL_BYTES = 2_000_000, 4_000_000


def pictures(account: Account) -> dict[str, str]:
    """Path → data URI of the outputs' pictures that are here, unchanged and not too large."""
    found: dict[str, str] = {}
    room_bytes = ALL_BYTES
    for file in (file for output in account.outputs for file in output.files):
        path, size_bytes = Path(file["path"]), int(file["size_bytes"])
        kind = TYPES.get(path.suffix.lower())
        if kind is None or size_bytes > min(LARGEST_BYTES, room_bytes) or str(path) in found:
            continue
        content = _content(path, size_bytes)
        if content is not None and hashlib.sha256(content).hexdigest() == file["sha256"]:
            found[file["path"]] = f"data:{kind};base64,{base64.b64encode(content).decode()}"
            room_bytes -= size_bytes
    return found


def _content(path: Path, size_bytes: int) -> bytes | None:
    try:
        with path.open("rb") as stream:
            return stream.read(size_bytes + 1)
    except OSError:  # gone, or on another host
        return None
