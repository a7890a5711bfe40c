"""A bell for each rank, which other ranks of its host can ring: MPI itself wakes nobody up.

A bell carries no word, so one that is rung for nothing costs a look and no more. Ranks of other
hosts do not hear it.
"""

from __future__ import annotations

import contextlib
import os
import socket

NAME_BYTES = 16


class Bell:
    def __init__(self) -> None:
        self.name = os.urandom(NAME_BYTES)  # nobody else's, on any host
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.bind(_address(self.name))

    def fileno(self) -> int:
        """Readable when it has been rung."""
        return self._socket.fileno()

    def ring(self, name: bytes) -> bool:
        """Another one; False: nobody on this host has it."""
        try:
            self._socket.sendto(b"!", _address(name))
        except BlockingIOError:
            return True  # it is ringing all the time
        except OSError:
            return False
        return True

    def silence(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._socket.recv(1):
                pass

    def close(self) -> None:
        self._socket.close()


def _address(name: bytes) -> bytes:
    """Without a file: nothing is left of it when its rank is killed."""
    return b"\x00scicumulus-" + name.hex().encode()
