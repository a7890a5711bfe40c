"""mpi4py.futures: one master, a worker per slot, over the mpirun of this Python."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from work import WORK, asked, timed


def main() -> None:
    kind, count, slots = asked()
    if "OMPI_COMM_WORLD_RANK" not in os.environ:
        mpirun = str(Path(sysconfig.get_path("scripts"), "mpirun"))
        options = ("--mca", "pml", "ob1", "--mca", "btl", "self,sm,tcp", "--bind-to", "none")
        ranks = ("--map-by", ":OVERSUBSCRIBE", "-n", str(slots + 1))
        words = [mpirun, *options, *ranks, sys.executable, "-m", "mpi4py.futures", *sys.argv]
        os.execv(mpirun, words)
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as pool:
        list(pool.map(WORK["calls"], range(10)))  # the workers are there
        timed(count, lambda: pool.map(WORK[kind], range(count)))


if __name__ == "__main__":
    main()
