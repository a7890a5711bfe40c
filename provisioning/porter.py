"""A process beside the keeper of a VM that carries files: python -m provisioning.porter URL RUN

It reads errands from its standard input, which is a socket, and answers each on it; it ends when
its keeper does. A process of its own, so that keepers stay small and never wait.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import msgspec

from provisioning.s3 import Moved, Storage, parse
from scicore.errors import ScicumulusError
from scicore.model.transfer import HEAD_BYTES, Delivery, Errand, Parcel, Transfer, Way

ERRANDS, FILES = 16, 16  # at once


class Porter:
    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._files = ThreadPoolExecutor(FILES)

    def carry(self, errand: Errand) -> Delivery:
        """Never raises: what went wrong is told."""
        began = time.monotonic()
        moved: list[Moved] = []
        error = ""
        for each in self._files.map(lambda parcel: self._move(errand.way, parcel), errand.parcels):
            if isinstance(each, Moved):
                moved.append(each)
            else:
                error = error or each
        transfer = Transfer(
            errand.way,
            files=len(moved),
            cached=sum(each.cached for each in moved),
            size_bytes=sum(each.size_bytes for each in moved),
            seconds=time.monotonic() - began,
            retries=sum(each.retries for each in moved),
        )
        return Delivery(errand.number, transfer, error)

    def _move(self, way: Way, parcel: Parcel) -> Moved | str:
        """Or why not."""
        try:
            move = self._storage.get if way is Way.FETCH else self._storage.put
            return move(Path(parcel.path), parcel.sha256)
        except (ScicumulusError, OSError) as error:
            return str(error)


def _errands(line: socket.socket) -> Iterator[Errand]:
    with line.makefile("rb") as stream:
        while len(head := stream.read(HEAD_BYTES)) == HEAD_BYTES:
            yield msgspec.json.decode(stream.read(int.from_bytes(head)), type=Errand)


def serve(line: socket.socket, porter: Porter) -> None:
    """Until nobody is there to be answered."""
    one_at_a_time = Lock()

    def deliver(errand: Errand) -> None:
        answer = msgspec.json.encode(porter.carry(errand))
        with one_at_a_time:
            line.sendall(len(answer).to_bytes(HEAD_BYTES) + answer)

    pool = ThreadPoolExecutor(ERRANDS)
    for errand in _errands(line):
        pool.submit(deliver, errand)
    pool.shutdown(wait=False, cancel_futures=True)


if __name__ == "__main__":
    import os

    keeper = socket.socket(fileno=0)
    keeper.setblocking(True)
    serve(keeper, Porter(Storage(parse(sys.argv[1]), sys.argv[2])))
    os._exit(0)  # what is under way is nobody's any more
