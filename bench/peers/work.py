"""The no-ops that the peers are given, and how they are timed."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

PROGRAM = "/bin/true"


def call(_number: int) -> None:
    return None


def program(_number: int) -> int:
    pid = os.posix_spawn(PROGRAM, [PROGRAM], os.environ)
    return os.waitpid(pid, 0)[1]


WORK: dict[str, Callable[[int], Any]] = {"programs": program, "calls": call}


def asked() -> tuple[str, int, int]:
    """Kind, count and slots, as the command line says."""
    kind, count, slots = sys.argv[1:4]
    return kind, int(count), int(slots)


def timed(count: int, do_all: Callable[[], Iterable[Any] | None]) -> None:
    started = time.perf_counter()
    for _ in do_all() or ():
        pass
    print(json.dumps({"per_s": count / (time.perf_counter() - started)}), flush=True)
