"""Where the sockets of one user's processes on this host are: nobody else gets there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from scicore.errors import LaunchError


def private_place() -> Path:
    """Of the user, on this host."""
    place = Path(tempfile.gettempdir(), f"scicumulus-{os.getuid()}")
    place.mkdir(mode=0o700, exist_ok=True)
    status = place.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise LaunchError(
            f"{place} belongs to somebody else or is open to others", "remove it, or set TMPDIR"
        )
    return place
