"""What a VM has done, on its disk before anybody is told.

Frames are appended and never changed. Each has its length and checksum in front, so that a frame
that was cut off by a crash is recognised, and forgotten with everything behind it. When most of
them matter no longer, those that do are written to a new file, which takes the place of the old.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from scicore.execution.messages import AttemptEnded

_HEAD = 8  # bytes: length, checksum


class Ended(Struct, frozen=True, tag=True):
    count: int  # results so far, this one included
    name: str
    attempt: AttemptEnded


class Durable(Struct, frozen=True, tag=True):
    """The results up to this one are in the database."""

    count: int


Entry = Ended | Durable
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Entry).decode


class JournalTaken(Exception):
    """Another keeper of the same VM holds the journal."""


class Journal:
    def __init__(self, path: Path) -> None:
        """Open it, and hold it alone for as long as this process lives."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.new = not path.exists()  # nobody has kept this VM before
        self._path = path
        self._file = _held(path)
        self.size_bytes = 0

    def read(self) -> Iterator[Entry]:
        """Every whole frame; then the journal is ready to be written to."""
        with os.fdopen(os.dup(self._file), "rb") as stream:
            stream.seek(0)
            while (frame := _next(stream.read)) is not None:
                self.size_bytes += _HEAD + len(frame)
                yield _decode(frame)
        os.ftruncate(self._file, self.size_bytes)

    def write(self, *entries: Entry) -> bool:
        """False: the disk does not take it. A half-written frame is taken back."""
        data = b"".join(map(_frame, entries))
        try:
            written = os.pwrite(self._file, data, self.size_bytes)
        except OSError:
            written = 0
        if written < len(data):
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self.size_bytes)
            return False
        self.size_bytes += len(data)
        return True

    def begin_anew(self, *entries: Entry) -> None:
        """With these alone. Whoever is killed meanwhile leaves the old file or the new one."""
        fresh = self._path.with_suffix(".fresh")
        data = b"".join(map(_frame, entries))
        with contextlib.suppress(OSError):  # no room: the old one goes on
            file = _held(fresh, os.O_TRUNC)
            if os.write(file, data) < len(data):
                os.close(file)
                return
            fresh.rename(self._path)
            os.close(self._file)
            self._file, self.size_bytes = file, len(data)

    def close(self) -> None:
        os.close(self._file)


def _held(path: Path, flags: int = 0) -> int:
    """The file, locked; it must still be the one of that name when it is."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(file), path.stat()):
            return file
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(file)
    raise JournalTaken(path)


def _frame(entry: Entry) -> bytes:
    data = _encode(entry)
    return len(data).to_bytes(4) + zlib.crc32(data).to_bytes(4) + data


def _next(read: Callable[[int], bytes]) -> bytes | None:
    head = read(_HEAD)
    if len(head) < _HEAD:
        return None
    data = read(int.from_bytes(head[:4]))
    whole = len(data) == int.from_bytes(head[:4]) and zlib.crc32(data) == int.from_bytes(head[4:])
    return data if whole else None
