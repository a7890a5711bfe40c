"""Dask: a scheduler and a process per slot on this machine."""

from __future__ import annotations

from dask.distributed import Client, LocalCluster
from work import WORK, asked, timed


def main() -> None:
    kind, count, slots = asked()
    with (
        LocalCluster(
            n_workers=slots, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        Client(cluster) as client,
    ):
        client.gather(client.map(WORK["calls"], range(10), pure=False))
        timed(count, lambda: client.gather(client.map(WORK[kind], range(count), pure=False)))


if __name__ == "__main__":
    main()
