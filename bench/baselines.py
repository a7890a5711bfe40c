"""What a few lines of Python reach without dispatch, provenance, retries or a way back."""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor

from bench.workloads import PROGRAM


def spawn_loop(count: int, slots: int) -> float:
    """Programs per second of a plain posix_spawn loop that keeps `slots` of them going."""
    null = os.open(os.devnull, os.O_RDWR)
    files = [(os.POSIX_SPAWN_DUP2, null, target) for target in range(3)]
    started = time.perf_counter()
    running = 0
    for _ in range(count):
        if running == slots:
            os.wait()
            running -= 1
        os.posix_spawn(PROGRAM, [PROGRAM], os.environ, file_actions=files)
        running += 1
    while running:
        os.wait()
        running -= 1
    seconds = time.perf_counter() - started
    os.close(null)
    return count / seconds


def noop(_number: int) -> None:
    return None


def process_pool(count: int, slots: int) -> float:
    """Calls per second of concurrent.futures, one by one as ours are."""
    with ProcessPoolExecutor(slots) as pool:
        list(pool.map(noop, range(10)))  # the workers are there
        started = time.perf_counter()
        for _ in pool.map(noop, range(count)):
            pass
        return count / (time.perf_counter() - started)
