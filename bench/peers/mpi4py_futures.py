"""No-op calls through mpi4py.futures: one master, two workers, nothing recorded.

mpirun -n 3 python -m mpi4py.futures bench/peers/mpi4py_futures.py COUNT
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path


def noop(_number: int) -> None:
    return None


def measure(count: int, slots: int) -> float | None:
    """Calls per second; None when it cannot be run here."""
    mpirun = Path(sysconfig.get_path("scripts"), "mpirun")
    options = ("--mca", "pml", "ob1", "--mca", "btl", "self,sm,tcp", "--bind-to", "none")
    words = [str(mpirun), *options, "--map-by", ":OVERSUBSCRIBE", "-n", str(slots + 1)]
    words += [sys.executable, "-m", "mpi4py.futures", __file__, str(count)]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    try:
        done = subprocess.run(
            words, check=True, capture_output=True, timeout=300, env={**os.environ, **root}
        )
        return float(json.loads(done.stdout)["per_s"])
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def main() -> None:
    from mpi4py.futures import MPIPoolExecutor

    count = int(sys.argv[1])
    with MPIPoolExecutor() as pool:
        list(pool.map(noop, range(10)))  # the workers are there
        started = time.perf_counter()
        for _ in pool.map(noop, range(count)):
            pass
        print(json.dumps({"per_s": count / (time.perf_counter() - started)}))


if __name__ == "__main__":
    main()
