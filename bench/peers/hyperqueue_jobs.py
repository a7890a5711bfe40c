"""HyperQueue's own server and worker, driven from Python: one job of many programs."""

from __future__ import annotations

import os
import tempfile

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig
from work import PROGRAM, asked, timed


def main() -> None:
    _, count, slots = asked()
    with tempfile.TemporaryDirectory() as place, LocalCluster() as cluster:
        os.chdir(place)  # every program leaves two files where its job was submitted
        cluster.start_worker(WorkerConfig(cores=slots))
        client = cluster.client()

        def run(programs: int) -> None:
            job = Job()
            for _ in range(programs):
                job.program([PROGRAM])
            client.wait_for_jobs([client.submit(job)])

        run(10)  # the worker is there
        timed(count, lambda: run(count))


if __name__ == "__main__":
    main()
