"""Where a program's stdout and stderr go: files without a name, until there is something in them.

Most programs say nothing, and making files is the dearest part of starting a short program. So a
file gets its name in the workspace when something was written, or when the program runs for long
enough that somebody may want to look; one that stayed empty serves the next program.
"""

from __future__ import annotations

import contextlib
import os

STDOUT = "stdout.txt"
STDERR = "stderr.txt"
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC


class Stream:
    """One file."""

    def __init__(self, descriptor: int, *, named: bool = False) -> None:
        self.descriptor = descriptor
        self.named = named

    def written(self) -> bool:
        """Its end tells: what `fstat` makes of it takes ten times as long."""
        return os.lseek(self.descriptor, 0, os.SEEK_END) > 0

    def publish(self, path: str) -> None:
        """Give it its name; a workspace that is gone needs none."""
        if not self.named:
            self.named = True
            own = self.descriptor
            with contextlib.suppress(OSError):
                # A directory's descriptor, though not needed, makes Python follow the link.
                os.link(f"/proc/self/fd/{own}", path, src_dir_fd=own, follow_symlinks=True)

    def close(self) -> None:
        os.close(self.descriptor)


def nameless(directory: str) -> Stream | None:
    """None: a file system, or a kernel, without nameless files."""
    try:
        return Stream(os.open(directory, _FLAGS | os.O_TMPFILE, 0o600))
    except (OSError, AttributeError):
        return None


class Streams:
    """The two of one attempt, for its program and its extractor."""

    def __init__(self, directory: str, spare: list[Stream]) -> None:
        self._directory = directory
        self._spare = spare
        self.out = self._take(STDOUT)
        self.err = self._take(STDERR)

    def _take(self, name: str) -> Stream:
        if self._spare:
            return self._spare.pop()
        path = f"{self._directory}/{name}"
        return nameless(self._directory) or Stream(
            os.open(path, _FLAGS | os.O_CREAT, 0o600), named=True
        )

    def publish(self) -> None:
        """The program takes its time: somebody may want to look."""
        self.out.publish(f"{self._directory}/{STDOUT}")
        self.err.publish(f"{self._directory}/{STDERR}")

    def conclude(self, *, reuse: bool) -> None:
        """The program has ended; what stayed empty may serve the next one."""
        for stream, name in ((self.out, STDOUT), (self.err, STDERR)):
            if stream.written():
                stream.publish(f"{self._directory}/{name}")
            if reuse and not stream.named:
                self._spare.append(stream)
            else:
                stream.close()
