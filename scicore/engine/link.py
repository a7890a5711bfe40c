"""Messages over a stream socket between a slave and its keeper, on one host.

Each message has its length in front; an empty one says goodbye. Nothing here ever blocks: what
the socket does not take waits for the next flush.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator

_HEAD = 4
_CHUNK = 1 << 16  # more would be memory that is mapped and unmapped each time
_GOODBYE_S = 5.0


class Link:
    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._inbox = bytearray()
        self._outbox = bytearray()
        self.closed = False  # the other side is gone

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def unsent(self) -> bool:
        return bool(self._outbox)

    def send(self, data: bytes) -> None:
        """To somebody who is gone: nothing happens."""
        self._outbox += len(data).to_bytes(_HEAD) + data
        self.flush()

    def flush(self) -> None:
        while self._outbox and not self.closed:
            try:
                sent = self._socket.send(self._outbox)
            except BlockingIOError:
                return
            except OSError:
                self.closed = True
                return
            del self._outbox[:sent]

    def receive(self) -> Iterator[bytes]:
        """The whole messages that have arrived."""
        while not self.closed:
            try:
                chunk = self._socket.recv(_CHUNK)
            except BlockingIOError:
                break
            except OSError:
                chunk = b""
            if not chunk:
                self.closed = True
            self._inbox += chunk
            if len(chunk) < _CHUNK:
                break
        while len(self._inbox) >= _HEAD:
            end = _HEAD + int.from_bytes(self._inbox[:_HEAD])
            if len(self._inbox) < end:
                return
            message = bytes(self._inbox[_HEAD:end])
            del self._inbox[:end]
            yield message

    def say_goodbye(self) -> None:
        """What is still unsent gets a moment."""
        self.send(b"")
        deadline = time.monotonic() + _GOODBYE_S
        while self._outbox and not self.closed and time.monotonic() < deadline:
            select.select([], [self], [], _GOODBYE_S)
            self.flush()
        self.close()

    def close(self) -> None:
        self._socket.close()
        self.closed = True
